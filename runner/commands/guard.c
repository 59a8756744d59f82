#include "commands/guard.h"

#include "base/memory.h"
#include "base/text.h"
#include "commands/commands.h"
#include "jobs/messages.h"
#include "jobs/process.h"

#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { LOAD_LIMIT = 10, TICK_MS = 100, BY_SIGNAL = 128, AGAIN = -1 };

/* A plugin that could not be loaded. */
struct deadly {
  char *path;
  struct error reason;
};

struct guard {
  struct process_setting setting;
  const char *command;
  struct deadly *deadly;
  size_t n_deadly, capacity;
  struct process process;
  char loading[PATH_MAX]; /* the file that is being loaded; "": none is */
  char *uses;             /* whose code runs now; NULL: nobody's */
  bool touched;           /* code of plugins has run */
  bool done;              /* the command is over */
  int code;               /* its exit code */
  double deadline;
};

bool guard_wanted(const char *command) {
  static const char *const commands[] = {"list", "describe", "apply", "compare", "vectors", "schema"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (!strcmp(command, commands[i])) {
      return true;
    }
  }
  return false;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- what the process says ---- */

static void take_use(struct guard *guard, struct packet *body) {
  const char *path = packet_text(body);
  bool alone = packet_number(body) != 0;
  struct text all = {0};
  struct error ignored;
  guard->loading[0] = '\0';
  guard->deadline = INFINITY;
  if (!alone && guard->uses && path && strstr(guard->uses, path)) {
    return;
  }
  if (!alone && guard->uses && *guard->uses) {
    text_printf(&all, "%s or ", guard->uses);
  }
  text_printf(&all, "%s", path ? path : "");
  free(guard->uses);
  guard->uses = text_take(&all, &ignored);
}

static void take_message(struct guard *guard, struct message *message) {
  const char *path;
  switch (message->type) {
  case TELL_LOADING:
    path = packet_text(&message->body);
    snprintf(guard->loading, sizeof guard->loading, "%s", path ? path : "");
    guard->touched = true;
    guard->deadline = now() + LOAD_LIMIT;
    break;
  case TELL_STARTED:
    take_use(guard, &message->body);
    break;
  case TELL_DONE:
    guard->done = true;
    guard->code = (int)packet_number(&message->body);
    guard->deadline = INFINITY;
    break;
  default:
    break;
  }
}

static enum channel_news take_all(struct guard *guard) {
  enum channel_news news;
  struct message message;
  while ((news = channel_receive(&guard->process.channel, false, &message)) == CHANNEL_MESSAGE) {
    take_message(guard, &message);
    packet_free(&message.body);
  }
  return news;
}

/* Look on until it has ended; true where that was for being late. */
static bool watch(struct guard *guard, struct process_end *end) {
  for (;;) {
    enum channel_news news = take_all(guard);
    if (process_has_ended(&guard->process, end)) {
      take_all(guard);
      return false;
    }
    if (now() > guard->deadline) {
      process_kill(&guard->process, end);
      return true;
    }
    /* A socket that was closed would end every sleep at once; its process ends in a moment. */
    struct pollfd file = {.fd = guard->process.channel.socket, .events = POLLIN};
    bool open = news == CHANNEL_NOTHING;
    poll(&file, open, open ? TICK_MS : 1);
  }
}

/* ---- what follows from how it ended ---- */

static int refuse(struct guard *guard, const struct process_end *end, bool late, struct error *err) {
  char how[160];
  struct deadly *grown =
      memory_grow(guard->deadly, &guard->capacity, guard->n_deadly + 1, sizeof *grown, "refused plugins", err);
  char *path = grown ? memory_copy_text(guard->loading, err) : NULL;
  guard->deadly = grown ? grown : guard->deadly;
  if (!path) {
    return err->code;
  }
  struct deadly *deadly = &grown[guard->n_deadly++];
  deadly->path = path;
  process_end_describe(end, how, sizeof how);
  if (late) {
    error_set(&deadly->reason, ERROR_PLUGIN_HUNG, "%s: was not loaded within %d seconds", path, LOAD_LIMIT);
  } else {
    error_set(&deadly->reason, ERROR_PLUGIN_CRASHED, "%s: %s while it was loaded%s", path, how,
              end->by_signal && end->number == SIGBUS ? ": the file is damaged" : "");
  }
  return 0;
}

static bool by_people(const struct process_end *end) {
  return end->by_signal && (end->number == SIGINT || end->number == SIGTERM || end->number == SIGHUP ||
                            end->number == SIGPIPE || end->number == SIGQUIT);
}

/* The command's exit code, AGAIN, or 70 and the like with *err. */
static int judge(struct guard *guard, const struct process_end *end, bool late, struct error *err) {
  char how[160];
  if (guard->done) {
    return guard->code;
  }
  if (by_people(end) || !guard->touched) {
    return end->by_signal ? BY_SIGNAL + end->number : end->number;
  }
  if (guard->loading[0]) {
    return refuse(guard, end, late, err) ? command_fail(err) : AGAIN;
  }
  process_end_describe(end, how, sizeof how);
  error_set(err, ERROR_PLUGIN_CRASHED, "%s: %s while `pe-run %s` ran it",
            guard->uses && *guard->uses ? guard->uses : "a plugin", how, guard->command);
  return command_fail(err);
}

static int start(struct guard *guard, struct error *err) {
  struct packet packet = {0};
  packet_put_number(&packet, guard->n_deadly);
  for (size_t i = 0; i < guard->n_deadly; i++) {
    packet_put_text(&packet, guard->deadly[i].path);
    packet_put_error(&packet, &guard->deadly[i].reason);
  }
  guard->loading[0] = '\0';
  guard->touched = false;
  guard->deadline = INFINITY;
  free(guard->uses);
  guard->uses = NULL;
  int status = process_start(&guard->setting, &guard->process, err);
  if (!status) {
    /* One that only had to print its --help may be gone already: how it ended says the rest. */
    status = channel_send(&guard->process.channel, ASK_PLUGINS, &packet, err);
    status = status == ERROR_INTERNAL ? 0 : status;
  }
  packet_free(&packet);
  return status;
}

static int run(struct guard *guard) {
  struct error err = {0};
  int code = AGAIN;
  while (code == AGAIN) {
    struct process_end end = {0};
    bool late = false;
    int status = start(guard, &err);
    if (!status) {
      late = watch(guard, &end);
    }
    code = status ? command_fail(&err) : judge(guard, &end, late, &err);
    process_close(&guard->process);
  }
  return code;
}

int guard_run(int argc, char **argv) {
  struct error err = {0};
  char parent[24], name[] = "pe-run", guarded[] = GUARDED_COMMAND;
  char **arguments = memory_new((size_t)argc + 3, sizeof *arguments, "arguments", &err);
  if (!arguments) {
    return command_fail(&err);
  }
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  arguments[0] = name;
  arguments[1] = guarded;
  arguments[2] = parent;
  for (int i = 1; i < argc; i++) {
    arguments[i + 2] = argv[i];
  }
  struct guard guard = {
      .setting = {.program = "/proc/self/exe", .environment = command_environment.variables, .arguments = arguments},
      .command = argv[1],
      .process = {.channel = {.socket = -1}}};
  int code = run(&guard);
  for (size_t i = 0; i < guard.n_deadly; i++) {
    free(guard.deadly[i].path);
  }
  free(guard.deadly);
  free(guard.uses);
  free(arguments);
  return code;
}

/* ---- in that process ---- */

bool guard_enter(const char *parent) {
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == (pid_t)strtol(parent, NULL, 10);
}

int guard_take(struct host *host, struct error *err) {
  struct channel channel = {.socket = PROCESS_SOCKET};
  struct message message;
  if (channel_receive(&channel, true, &message) != CHANNEL_MESSAGE) {
    return error_set(err, ERROR_INTERNAL, "the process that looks on is gone");
  }
  size_t count = packet_count(&message.body);
  int status = 0;
  for (size_t i = 0; !status && i < count; i++) {
    struct error reason;
    const char *path = packet_text(&message.body);
    packet_error(&message.body, &reason);
    status = path ? host_refuse(host, path, &reason, err)
                  : error_set(err, ERROR_INTERNAL, "a message between pe-run's processes is not whole");
  }
  packet_free(&message.body);
  packet_free(&channel.in);
  return status;
}

/* Who does not hear it sees how this process ends. */
static void tell(uint32_t type, struct packet *body) {
  struct error ignored;
  struct channel channel = {.socket = PROCESS_SOCKET};
  (void)channel_send(&channel, type, body, &ignored);
  packet_free(body);
}

void guard_loading(void *context, const char *path) {
  struct packet body = {0};
  (void)context;
  packet_put_text(&body, path);
  tell(TELL_LOADING, &body);
}

void guard_uses(const char *path, bool alone) {
  struct packet body = {0};
  if (command_environment.guarded) {
    packet_put_text(&body, path);
    packet_put_number(&body, alone);
    tell(TELL_STARTED, &body);
  }
}

void guard_done(int code) {
  struct packet body = {0};
  packet_put_number(&body, (uint64_t)code);
  tell(TELL_DONE, &body);
}
