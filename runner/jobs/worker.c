#include "jobs/worker.h"

#include "base/memory.h"
#include "experiments/experiment.h"
#include "jobs/join.h"
#include "jobs/messages.h"
#include "jobs/scheme_packet.h"
#include "jobs/take.h"
#include "jobs/workshop.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROGRESS_MS = 50 };

/* A scheme that the parent knows: the planner of this process finds it without loading it. */
struct told {
  const char *id, *plugin;
  struct scheme_info info;
};

struct worker {
  struct channel channel;
  pthread_mutex_t sending; /* plugins may have something to say on any thread */
  struct host *host;
  struct packet brief; /* what the texts of the plan point to */
  struct told *told;
  size_t n_told;
  const char **ids;
  struct plan *plan;
  struct workshop *workshop;
  struct timespec told_progress;
};

/* ---- telling ---- */

static void tell(struct worker *worker, uint32_t type, const struct packet *body) {
  struct error err;
  pthread_mutex_lock(&worker->sending);
  int status = channel_send(&worker->channel, type, body, &err);
  pthread_mutex_unlock(&worker->sending);
  if (status == ERROR_INTERNAL) {
    _Exit(WORKER_CUT_OFF);
  }
  if (status && type != TELL_ERROR) {
    struct packet packet = {0};
    packet_put_error(&packet, &err);
    tell(worker, TELL_ERROR, &packet);
    packet_free(&packet);
  } else if (status) {
    _Exit(WORKER_CUT_OFF); /* no memory even for that */
  }
}

static void tell_text(struct worker *worker, uint32_t type, const char *text) {
  struct packet packet = {0};
  packet_put_text(&packet, text);
  tell(worker, type, &packet);
  packet_free(&packet);
}

static void tell_error(struct worker *worker, const struct error *err) {
  struct packet packet = {0};
  packet_put_error(&packet, err);
  tell(worker, TELL_ERROR, &packet);
  packet_free(&packet);
}

static void tell_loading(void *context, const char *path) {
  tell_text(context, TELL_LOADING, path);
}

static void tell_note(void *context, const char *text) {
  tell_text(context, TELL_NOTE, text);
}

static void tell_started(void *context) {
  tell(context, TELL_STARTED, NULL);
}

/* Between two steps of a job its share of the cores can change. */
static void hear_of_threads(struct worker *worker) {
  struct message message;
  while (channel_receive(&worker->channel, false, &message) == CHANNEL_MESSAGE) {
    if (message.type == ASK_THREADS) {
      workshop_use(worker->workshop, (unsigned)packet_number(&message.body));
    }
    packet_free(&message.body);
  }
}

static void tell_progress(void *context, double done, const char *words) {
  struct worker *worker = context;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  long ms =
      (now.tv_sec - worker->told_progress.tv_sec) * 1000 + (now.tv_nsec - worker->told_progress.tv_nsec) / 1000000;
  if (ms >= PROGRESS_MS) {
    struct packet packet = {0};
    worker->told_progress = now;
    packet_put_real(&packet, done);
    packet_put_text(&packet, words);
    tell(worker, TELL_PROGRESS, &packet);
    packet_free(&packet);
    hear_of_threads(worker);
  }
}

static int not_whole(struct error *err) {
  return error_set(err, ERROR_INTERNAL, "a message between pe-run's processes is not whole");
}

/* ---- plugins ---- */

static int open_plugins(struct worker *worker, struct packet *body, struct error *err) {
  struct host_options options = {.loading = tell_loading, .loading_context = worker};
  options.trust_directories = packet_number(body) != 0;
  const char **directories = packet_texts(body, &options.n_directories);
  options.directories = directories;
  int status = directories ? host_open(&options, &worker->host, err) : not_whole(err);
  free(directories);
  size_t n_refused = status ? 0 : packet_count(body);
  for (size_t i = 0; !status && i < n_refused; i++) {
    struct error reason;
    const char *path = packet_text(body);
    packet_error(body, &reason);
    status = path ? host_refuse(worker->host, path, &reason, err) : not_whole(err);
  }
  return status;
}

static int list(struct worker *worker, struct packet *answer, struct error *err) {
  const struct scheme *const *schemes;
  const char *const *refused;
  size_t count, n_refused = 0;
  if (host_list(worker->host, &schemes, &count, &refused, err)) {
    return err->code;
  }
  packet_put_number(answer, count - 1); /* the first is `none`, which every process has */
  for (size_t i = 1; i < count; i++) {
    packet_put_scheme(answer, &schemes[i]->info);
  }
  while (refused[n_refused]) {
    n_refused++;
  }
  packet_put_texts(answer, refused, n_refused);
  return 0;
}

static int find(struct worker *worker, struct packet *body, struct packet *answer, struct error *err) {
  const char *id = packet_text(body), *plugin = packet_text(body);
  if (!id) {
    return not_whole(err);
  }
  const struct scheme *scheme = host_find(worker->host, id, plugin, err);
  if (!scheme) {
    return err->code;
  }
  packet_put_scheme(answer, &scheme->info);
  return 0;
}

/* ---- the plan ---- */

int worker_brief_put(const struct worker_brief *brief, struct packet *plan, struct error *err) {
  char digest[HASH_TEXT], *text = plan_print(brief->plan, true, err);
  if (!text || hash_bytes(text, strlen(text), digest, err)) {
    free(text);
    return err->code;
  }
  free(text);
  packet_put_text(plan, brief->plan->config_path);
  packet_put_text(plan, brief->plan->config_text);
  packet_put_texts(plan, brief->overrides, brief->n_overrides);
  catalogue_put_schemes(brief->catalogue, plan);
  packet_put_number(plan, brief->threads);
  packet_put_number(plan, brief->reference);
  packet_put_text(plan, brief->parts);
  packet_put_number(plan, brief->memory);
  packet_put_text(plan, digest);
  return plan->failed ? error_set(err, ERROR_MEMORY, "the plan for a worker: memory is not to be had") : 0;
}

static const struct scheme_info *find_told(void *context, const char *id, const char *plugin, struct error *err) {
  struct worker *worker = context;
  for (size_t i = 0; i < worker->n_told; i++) {
    const struct told *told = &worker->told[i];
    if (!strcmp(told->id, id) && (plugin ? told->plugin && !strcmp(told->plugin, plugin) : !told->plugin)) {
      return &told->info;
    }
  }
  if (!plugin && !strcmp(id, host_none()->info.id)) {
    return &host_none()->info;
  }
  error_set(err, ERROR_CONFIG_NAME, "no scheme is called %s", id);
  return NULL;
}

static int take_told(struct worker *worker, struct packet *body, struct error *err) {
  size_t count = packet_count(body), n_ids = 0;
  worker->told = memory_new(count, sizeof *worker->told, "schemes", err);
  worker->ids = worker->told ? memory_new(count + 2, sizeof *worker->ids, "schemes", err) : NULL;
  if (!worker->ids) {
    return err->code;
  }
  worker->ids[n_ids++] = host_none()->info.id;
  for (size_t i = 0; i < count; i++) {
    struct told *told = &worker->told[i];
    told->id = packet_text(body);
    told->plugin = packet_text(body);
    if (packet_scheme(body, &told->info, err)) {
      return err->code;
    }
    worker->n_told = i + 1;
    if (!told->id) {
      return not_whole(err);
    }
    if (!told->plugin) {
      worker->ids[n_ids++] = told->id;
    }
  }
  return 0;
}

/* The same plan as the parent's, or an error. */
static int load_plan(struct worker *worker, const struct plan_request *request, struct error *err) {
  struct diagnostics diagnostics = {0};
  worker->plan = plan_load(request, &diagnostics);
  if (!worker->plan) {
    error_set(err, ERROR_INTERNAL, "a worker cannot make the plan: %.900s",
              diagnostics.count ? diagnostics.items[0].text : "memory is not to be had");
  }
  diagnostics_free(&diagnostics);
  return worker->plan ? 0 : (int)err->code;
}

static int check_plan(const struct plan *plan, const char *expected, struct error *err) {
  char digest[HASH_TEXT], *text = plan_print(plan, true, err);
  int status = text ? hash_bytes(text, strlen(text), digest, err) : (int)err->code;
  free(text);
  if (!status && strcmp(digest, expected) != 0) {
    status = error_set(err, ERROR_INTERNAL, "a worker made another plan than its parent");
  }
  return status;
}

static int open_plan(struct worker *worker, struct packet *body, struct error *err) {
  size_t n_overrides;
  const char *path = packet_text(body), *text = packet_text(body);
  const char **overrides = packet_texts(body, &n_overrides);
  int status = path && text && overrides ? take_told(worker, body, err) : not_whole(err);
  struct workshop_setting setting = {.host = worker->host};
  setting.threads = (unsigned)packet_number(body);
  setting.reference = packet_number(body) != 0;
  setting.parts = packet_text(body);
  setting.memory = (size_t)packet_number(body);
  const char *digest = packet_text(body);
  if (!status && (body->failed || !digest || !setting.parts || !setting.threads)) {
    status = not_whole(err);
  }
  if (!status) {
    struct plan_request request = {.path = path[0] ? path : NULL,
                                   .text = text,
                                   .overrides = overrides,
                                   .n_overrides = n_overrides,
                                   .schemes = {find_told, worker->ids, worker},
                                   .experiments = experiment_infos(),
                                   .default_seeds = experiment_default_seeds,
                                   .scheme_defaults = experiment_scheme_defaults,
                                   .experiment_check = experiment_check};
    status = load_plan(worker, &request, err);
    status = status ? status : check_plan(worker->plan, digest, err);
  }
  setting.plan = worker->plan;
  free(overrides);
  return status ? status : workshop_open(&setting, &worker->workshop, err);
}

/* ---- work on it ---- */

static int make_keys(struct worker *worker, struct packet *answer, struct error *err) {
  char(*keys)[HASH_TEXT] = memory_new(worker->plan->n_jobs, sizeof *keys, "keys", err);
  int status = keys ? workshop_keys(worker->workshop, keys, err) : (int)err->code;
  if (!status) {
    packet_put_bytes(answer, keys, worker->plan->n_jobs * sizeof *keys);
  }
  free(keys);
  return status;
}

static int make_estimates(struct worker *worker, struct packet *answer, struct error *err) {
  size_t n = worker->plan->n_jobs;
  struct estimate *estimates = memory_new(n, sizeof *estimates, "estimates", err);
  int status = estimates ? workshop_estimates(worker->workshop, estimates, err) : (int)err->code;
  for (size_t i = 0; !status && i < n; i++) {
    packet_put_real(answer, estimates[i].operations);
    packet_put_real(answer, estimates[i].bytes);
  }
  free(estimates);
  return status;
}

static int take(struct worker *worker, struct packet *body, struct packet *answer, struct error *err) {
  size_t n = worker->plan->n_jobs;
  const char *output = packet_text(body), *parts = packet_text(body);
  char(*keys)[HASH_TEXT] = memory_new(n, sizeof *keys, "keys", err);
  struct taken taken = {.held = keys ? memory_new(n, sizeof *taken.held, "jobs", err) : NULL};
  const void *bytes = packet_bytes(body, n * sizeof *keys);
  int status = !taken.held ? (int)err->code : output && bytes ? 0 : not_whole(err);
  if (!status) {
    memcpy(keys, bytes, n * sizeof *keys);
    struct take_setting setting = {.output = output, .parts = parts, .keys = keys};
    status = take_finished(worker->plan, &setting, &taken, err);
  }
  if (!status) {
    packet_put_bytes(answer, taken.held, n * sizeof *taken.held);
    packet_put_number(answer, taken.complete);
    packet_put_error(answer, &taken.damage);
  }
  free(taken.held);
  free(keys);
  return status;
}

static int do_job(struct worker *worker, struct packet *body, struct packet *answer, struct error *err) {
  size_t index = (size_t)packet_number(body);
  const char *key = packet_text(body);
  enum job_wish wish = (enum job_wish)packet_number(body);
  unsigned threads = (unsigned)packet_number(body);
  if (!key || body->failed || index >= worker->plan->n_jobs) {
    return not_whole(err);
  }
  workshop_use(worker->workshop, threads);
  const struct job_report report = {tell_started, tell_progress, tell_note, worker};
  struct job_outcome outcome;
  int status = workshop_job(worker->workshop, index, key, wish, &report, &outcome, err);
  packet_put_number(answer, outcome.kept);
  packet_put_number(answer, outcome.status);
  packet_put_error(answer, &outcome.error);
  packet_put_number(answer, outcome.spent);
  return status;
}

static int join(struct worker *worker, struct packet *body, struct packet *answer, struct error *err) {
  struct join_request request;
  struct join_answer joined;
  if (!packet_join(body, &request, worker->plan->n_jobs)) {
    return not_whole(err);
  }
  int status = join_parts(worker->plan, &request, &joined, err);
  if (!status) {
    packet_put_join_answer(answer, &joined);
    join_answer_free(&joined);
  }
  free((void *)(uintptr_t)request.jobs);
  return status;
}

/* What needs a plan is not asked before there is one. */
static int answer_one(struct worker *worker, struct message *message, struct packet *answer, struct error *err) {
  bool needs_plan = message->type > ASK_PLAN;
  if (message->type == ASK_PLUGINS ? worker->host != NULL : !worker->host || (needs_plan && !worker->workshop)) {
    return not_whole(err);
  }
  switch (message->type) {
  case ASK_PLUGINS:
    return open_plugins(worker, &message->body, err);
  case ASK_LIST:
    return list(worker, answer, err);
  case ASK_FIND:
    return find(worker, &message->body, answer, err);
  case ASK_PLAN:
    worker->brief = message->body; /* texts point into it */
    message->body = (struct packet){0};
    return open_plan(worker, &worker->brief, err);
  case ASK_KEYS:
    return make_keys(worker, answer, err);
  case ASK_ESTIMATES:
    return make_estimates(worker, answer, err);
  case ASK_TAKE:
    return take(worker, &message->body, answer, err);
  case ASK_JOB:
    return do_job(worker, &message->body, answer, err);
  case ASK_JOIN:
    return join(worker, &message->body, answer, err);
  default:
    return not_whole(err);
  }
}

static void worker_free(struct worker *worker) {
  workshop_close(worker->workshop);
  plan_free(worker->plan);
  for (size_t i = 0; i < worker->n_told; i++) {
    scheme_info_clear(&worker->told[i].info);
  }
  free(worker->told);
  free(worker->ids);
  host_close(worker->host);
  packet_free(&worker->brief);
  channel_close(&worker->channel);
  pthread_mutex_destroy(&worker->sending);
}

int worker_main(long parent) {
  struct worker worker = {.channel = {.socket = PROCESS_SOCKET}};
  struct message message;
  if (!process_settle((pid_t)parent) || pthread_mutex_init(&worker.sending, NULL)) {
    return WORKER_CUT_OFF;
  }
  while (channel_receive(&worker.channel, true, &message) == CHANNEL_MESSAGE) {
    struct error err = {0};
    struct packet answer = {0};
    if (message.type == ASK_THREADS) { /* it came too late for its job */
      packet_free(&message.body);
      continue;
    }
    if (answer_one(&worker, &message, &answer, &err)) {
      tell_error(&worker, &err);
    } else {
      tell(&worker, TELL_DONE, &answer);
    }
    packet_free(&answer);
    packet_free(&message.body);
  }
  worker_free(&worker);
  return 0;
}
