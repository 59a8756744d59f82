#include "jobs/process.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Products are cut into tiles that are worked off by our own threads: threads of the library would only cost a start.
 */
static const char one_thread[] = "OPENBLAS_NUM_THREADS=1";

static const char *const *worker_environment(const char *const *environment, struct error *err) {
  size_t count = 0;
  while (environment[count]) {
    count++;
  }
  const char **out = memory_new(count + 2, sizeof *out, "the environment", err);
  size_t n = 0;
  for (size_t i = 0; out && i < count; i++) {
    if (strncmp(environment[i], "OPENBLAS_NUM_THREADS=", 21) != 0) {
      out[n++] = environment[i];
    }
  }
  if (out) {
    out[n] = one_thread;
  }
  return out;
}

static int cannot_start(int number, struct error *err) {
  return error_set(err, ERROR_INTERNAL, "a process of pe-run cannot be started: %s", strerror(number));
}

static int fill_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  int number =
      posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  number = number ? number : posix_spawnattr_setpgroup(attributes, 0);
  number = number ? number : posix_spawnattr_setsigmask(attributes, &none);
  return number ? number : posix_spawnattr_setsigdefault(attributes, &defaults);
}

static int fill_actions(posix_spawn_file_actions_t *actions, bool worker, int socket) {
  int number = posix_spawn_file_actions_adddup2(actions, socket, PROCESS_SOCKET);
  if (worker && !number) {
    number = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    number = number ? number : posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
  }
  return number;
}

static int spawn(const struct process_setting *setting, const char *const *environment, int socket, pid_t *id,
                 struct error *err) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  char name[] = "pe-run", command[] = PROCESS_COMMAND, parent[24];
  char *arguments[] = {name, command, parent, NULL};
  bool worker = !setting->arguments;
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  int number = posix_spawnattr_init(&attributes);
  if (number) {
    return cannot_start(number, err);
  }
  number = posix_spawn_file_actions_init(&actions);
  if (!number) {
    number = worker ? fill_attributes(&attributes) : 0;
    number = number ? number : fill_actions(&actions, worker, socket);
    /* posix_spawn does not write to the texts, though its type does not say so. */
    number = number ? number
                    : posix_spawn(id, setting->program, &actions, &attributes, worker ? arguments : setting->arguments,
                                  (char *const *)(uintptr_t)environment);
    posix_spawn_file_actions_destroy(&actions);
  }
  posix_spawnattr_destroy(&attributes);
  return number ? cannot_start(number, err) : 0;
}

/* The worker's end must not be its socket's number already: dup2 onto itself would leave it closed on exec. */
static int make_sockets(int sockets[2], struct error *err) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
    return cannot_start(errno, err);
  }
  int moved = fcntl(sockets[1], F_DUPFD_CLOEXEC, PROCESS_SOCKET + 1);
  int number = errno;
  close(sockets[1]);
  sockets[1] = moved;
  /* A worker that a plugin keeps from reading must not keep us from going on. */
  struct timeval patience = {.tv_sec = 30};
  if (moved < 0 || setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience)) {
    number = moved < 0 ? number : errno;
    close(sockets[0]);
    if (moved >= 0) {
      close(moved);
    }
    return cannot_start(number, err);
  }
  return 0;
}

int process_start(const struct process_setting *setting, struct process *out, struct error *err) {
  int sockets[2];
  *out = (struct process){.channel = {.socket = -1}};
  const char *const *environment = worker_environment(setting->environment, err);
  if (!environment || make_sockets(sockets, err)) {
    free((void *)(uintptr_t)environment);
    return err->code;
  }
  int status = spawn(setting, environment, sockets[1], &out->id, err);
  close(sockets[1]);
  if (status) {
    close(sockets[0]);
    out->id = 0;
  } else {
    out->channel.socket = sockets[0];
  }
  free((void *)(uintptr_t)environment);
  return status;
}

static void describe_status(int status, struct process_end *end) {
  end->by_signal = WIFSIGNALED(status);
  end->number = end->by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* The group goes before its leader is forgotten: afterwards the number could be another's. */
static void reap(struct process *process, struct process_end *end) {
  int status = 0;
  kill(-process->id, SIGKILL);
  while (waitpid(process->id, &status, 0) < 0 && errno == EINTR) {
  }
  describe_status(status, end);
  process->id = 0;
}

bool process_has_ended(struct process *process, struct process_end *end) {
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)process->id, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0) {
    return false;
  }
  reap(process, end);
  return true;
}

void process_kill(struct process *process, struct process_end *end) {
  /* The leader may not have made its group yet. */
  kill(process->id, SIGKILL);
  reap(process, end);
}

void process_close(struct process *process) {
  struct process_end end;
  if (process->id) {
    process_kill(process, &end);
  }
  channel_close(&process->channel);
}

void process_end_describe(const struct process_end *end, char *text, size_t size) {
  if (!end->by_signal) {
    snprintf(text, size, "ended the process by exit(%d)", end->number);
    return;
  }
  const char *name = sigabbrev_np(end->number), *words = sigdescr_np(end->number);
  snprintf(text, size, "crashed: %s (SIG%s)", words ? words : "unknown signal", name ? name : "?");
}

bool process_settle(pid_t parent) {
  static const int theirs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
  for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
    signal(theirs[i], SIG_IGN);
  }
  /* Should memory run out on the whole machine, a worker is the one to go. */
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t ignored = write(file, "500", 3);
    (void)ignored;
    close(file);
  }
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}
