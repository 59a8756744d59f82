#include "jobs/crew_parts.h"

#include "base/memory.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening and closing ---- */

static struct hand *joiner(struct crew *crew) {
  return &crew->hands[crew->setting.workers];
}

static int find_own_plugins(struct crew *crew, struct error *err) {
  char *folders[HOST_DEFAULT_DIRECTORIES];
  int status = host_default_directories(folders, err);
  for (size_t i = 0; !status && i < HOST_DEFAULT_DIRECTORIES; i++) {
    if (!realpath(folders[i], crew->own[i])) {
      crew->own[i][0] = '\0';
    }
    free(folders[i]);
  }
  return status;
}

static int start(struct crew *crew, struct hand *hand, struct error *err) {
  return hand_start(hand, crew->setting.process, &crew->plugins, &crew->plan, err);
}

int crew_open(const struct crew_setting *setting, struct crew **out, struct error *err) {
  struct crew *crew = memory_new(1, sizeof *crew, "workers", err);
  if (!crew) {
    return err->code;
  }
  crew->setting = *setting;
  crew->ended_by = INFINITY;
  crew->hands = memory_new(setting->workers + 1, sizeof *crew->hands, "workers", err);
  int status = crew->hands ? find_own_plugins(crew, err) : (int)err->code;
  for (size_t i = 0; crew->hands && i <= setting->workers; i++) {
    crew->hands[i] = (struct hand){.process = {.channel = {.socket = -1}}};
  }
  if (!status) {
    catalogue_put(setting->brief.catalogue, &crew->plugins);
    status = worker_brief_put(&setting->brief, &crew->plan, err);
  }
  for (size_t i = 0; !status && i < setting->workers; i++) {
    status = start(crew, &crew->hands[i], err);
  }
  if (status) {
    crew_close(crew);
    return status;
  }
  *out = crew;
  return 0;
}

void crew_close(struct crew *crew) {
  if (!crew) {
    return;
  }
  for (size_t i = 0; crew->hands && i <= crew->setting.workers; i++) {
    hand_dismiss(&crew->hands[i]);
  }
  packet_free(&crew->plugins);
  packet_free(&crew->plan);
  free(crew->hands);
  free(crew);
}

/* Sleep until something happens, and look at it. */
static int wait_for_news(struct crew *crew, struct error *err) {
  size_t count = 0, most = crew->setting.workers + 2;
  struct pollfd *files = memory_new(most, sizeof *files, "workers", err);
  if (!files) {
    return err->code;
  }
  files[count++] = (struct pollfd){.fd = crew->setting.signals->file, .events = POLLIN};
  for (size_t i = 0; i <= crew->setting.workers; i++) {
    if (crew->hands[i].process.id) {
      files[count++] = (struct pollfd){.fd = crew->hands[i].process.channel.socket, .events = POLLIN};
    }
  }
  poll(files, (nfds_t)count, TICK_MS);
  free(files);
  for (size_t i = 0; i <= crew->setting.workers; i++) {
    if (crew->hands[i].process.id) {
      crew_look_at(crew, &crew->hands[i]);
    }
  }
  signals_look(crew->setting.signals);
  return 0;
}

/* ---- questions other than jobs ---- */

/* Ask one worker and wait. 0 and *answer, the caller's; the worker's error in *err; *died: it did not live to answer,
 * and *err says how. A signal gives up, unless `finish`: then the second one does. */
static int ask_one(struct crew *crew, struct hand *hand, enum ask type, const struct packet *body, bool finish,
                   struct packet *answer, bool *died, struct error *err) {
  *died = false;
  unsigned enough = finish ? atomic_load(&crew->setting.signals->count) + 1 : 0;
  int status = hand->process.id ? 0 : start(crew, hand, err);
  hand->deadline = hand->stalls_at = INFINITY;
  status = status ? status : hand_ask(hand, type, body, err);
  while (!status && !hand->answered) {
    status = wait_for_news(crew, err);
    if (!status && crew->failure.code) {
      *err = crew->failure;
      status = (int)err->code;
    }
    if (!status && atomic_load(&crew->setting.signals->count) > enough) {
      return CREW_INTERRUPTED;
    }
  }
  if (!status && hand->failure.code) {
    *err = hand->failure;
    *died = !hand->process.id;
    status = (int)err->code;
  }
  if (!status) {
    *answer = hand->answer;
    hand->answer = (struct packet){0};
  }
  hand->answered = false;
  return status;
}

static int not_whole(struct error *err) {
  return error_set(err, ERROR_INTERNAL, "a worker's answer is not whole");
}

/* What needs the config's inputs to be read and nothing else. */
static int ask_about_inputs(struct crew *crew, enum ask type, struct packet *answer, struct error *err) {
  bool died;
  int status = ask_one(crew, &crew->hands[0], type, NULL, false, answer, &died, err);
  if (status > 0 && died) {
    struct error how = *err;
    return error_set(err, ERROR_FILE_CONTENT,
                     "the process that reads the config's inputs %.200s: one of the files is "
                     "damaged",
                     how.text);
  }
  return status;
}

int crew_estimates(struct crew *crew, struct estimate *estimates, struct error *err) {
  struct packet answer;
  int status = ask_about_inputs(crew, ASK_ESTIMATES, &answer, err);
  if (status) {
    return status;
  }
  for (size_t i = 0; i < crew->setting.brief.plan->n_jobs; i++) {
    estimates[i].operations = packet_real(&answer);
    estimates[i].bytes = packet_real(&answer);
  }
  bool whole = !answer.failed;
  packet_free(&answer);
  return whole ? 0 : not_whole(err);
}

int crew_keys(struct crew *crew, char (*keys)[HASH_TEXT], struct error *err) {
  struct packet answer;
  size_t bytes = crew->setting.brief.plan->n_jobs * sizeof *keys;
  int status = ask_about_inputs(crew, ASK_KEYS, &answer, err);
  if (status) {
    return status;
  }
  const void *found = packet_bytes(&answer, bytes);
  if (found) {
    memcpy(keys, found, bytes);
    for (size_t i = 0; i < crew->setting.brief.plan->n_jobs; i++) {
      keys[i][HASH_TEXT - 1] = '\0';
    }
  }
  packet_free(&answer);
  return found ? 0 : not_whole(err);
}

int crew_take(struct crew *crew, const struct take_setting *setting, struct taken *taken, struct error *err) {
  struct packet question = {0}, answer;
  bool died;
  size_t n = crew->setting.brief.plan->n_jobs;
  packet_put_text(&question, setting->output);
  packet_put_text(&question, setting->parts);
  packet_put_bytes(&question, setting->keys, n * sizeof *setting->keys);
  int status = ask_one(crew, &crew->hands[0], ASK_TAKE, &question, false, &answer, &died, err);
  packet_free(&question);
  if (status > 0 && died) {
    *taken = (struct taken){.held = taken->held, .damage = *err};
    memset(taken->held, 0, n * sizeof *taken->held);
    return 0;
  }
  if (status) {
    return status;
  }
  const unsigned char *held = packet_bytes(&answer, n);
  for (size_t i = 0; held && i < n; i++) {
    taken->held[i] = held[i] != 0;
  }
  taken->complete = packet_number(&answer) != 0;
  packet_error(&answer, &taken->damage);
  bool whole = !answer.failed;
  packet_free(&answer);
  return whole ? 0 : not_whole(err);
}

int crew_join(struct crew *crew, const struct join_request *request, struct join_answer *answer, struct error *err) {
  struct packet question = {0}, body;
  bool died;
  packet_put_join(&question, request, crew->setting.brief.plan->n_jobs);
  /* A checkpoint may still be on its way. */
  while (hand_is_busy(joiner(crew))) {
    if (wait_for_news(crew, err)) {
      packet_free(&question);
      return err->code;
    }
  }
  crew->failure = (struct error){0};
  int status = ask_one(crew, joiner(crew), ASK_JOIN, &question, true, &body, &died, err);
  packet_free(&question);
  if (status > 0 && died) {
    struct error how = *err;
    return error_set(err, ERROR_FILE_WRITE,
                     "'%s' cannot be written: the process that joins the parts %.200s; they are "
                     "kept, run again to go on",
                     request->output, how.text);
  }
  if (status) {
    return status;
  }
  bool whole = packet_join_answer(&body, answer, crew->setting.brief.plan->n_jobs);
  packet_free(&body);
  return whole ? 0 : not_whole(err);
}

/* ---- jobs ---- */

/* The path of a job's plugin, where it is not one of pe-run's own; else NULL. */
static const char *foreign_plugin(const struct crew *crew, size_t job) {
  const struct plan *plan = crew->board->plan;
  const char *path = plan->schemes[plan->jobs[job].scheme].info->path;
  bool own = !path[0];
  for (size_t i = 0; i < HOST_DEFAULT_DIRECTORIES; i++) {
    size_t length = strlen(crew->own[i]);
    own = own || (length && !strncmp(path, crew->own[i], length) && path[length] == '/');
  }
  return own ? NULL : path;
}

/* Whether a worker may do a job: a stranger's code can spoil a process without killing it, so a process that ran it
 * does that plugin's jobs alone. */
static bool may_do(const struct crew *crew, const struct hand *hand, size_t job) {
  if (!hand->process.id) {
    return true;
  }
  const char *foreign = foreign_plugin(crew, job);
  bool fresh = hand->jobs_done == 0 && !hand->foreign;
  return fresh || (!crew->board->jobs[job].alone && (!hand->foreign || (foreign && !strcmp(foreign, hand->foreign))));
}

/* The first of the next jobs that suits the worker: the same seed needs no new model. */
static size_t choose(const struct crew *crew, const struct hand *hand) {
  const struct board *board = crew->board;
  size_t best = board->plan->n_jobs, seen = 0;
  int best_score = -1;
  for (size_t i = board->first; i < board->plan->n_jobs && seen < WINDOW; i++) {
    if (board->jobs[i].state != BOARD_WAITING) {
      continue;
    }
    bool same_seed = !hand->has_seed || hand->seed == board->plan->jobs[i].seed;
    int score = may_do(crew, hand, i) ? 1 + same_seed : 0;
    if (score > best_score) {
      best = i;
      best_score = score;
    }
    seen++;
  }
  return best;
}

/* ---- threads ----
 * They belong to the jobs that run: when none waits any more, those that still run get the cores of those that have
 * ended. */

/* Threads of the i-th worker that is busy. */
static unsigned share_of(const struct crew *crew, unsigned i) {
  const struct board *board = crew->board;
  size_t jobs = board->n_running + (board->stopped ? 0 : board->n_waiting);
  unsigned workers = jobs < crew->setting.workers ? (unsigned)jobs : crew->setting.workers;
  unsigned threads = crew->setting.threads;
  unsigned share = workers ? threads / workers + (i < threads % workers) : threads;
  return share ? share : 1;
}

static int share_threads(struct crew *crew, struct error *err) {
  int status = 0;
  unsigned busy = 0;
  for (size_t i = 0; !status && i < crew->setting.workers; i++) {
    struct hand *hand = &crew->hands[i];
    if (!hand_is_busy(hand)) {
      continue;
    }
    unsigned share = share_of(crew, busy++);
    if (hand->threads != share) {
      struct packet packet = {0};
      packet_put_number(&packet, share);
      hand->threads = share;
      status = channel_send(&hand->process.channel, ASK_THREADS, &packet, err);
      status = status == ERROR_INTERNAL ? 0 : status; /* it is gone, as will be seen */
      packet_free(&packet);
    }
  }
  return status;
}

/* ---- handing out ---- */

static int hand_out(struct crew *crew, struct hand *hand, struct error *err) {
  struct board *board = crew->board;
  size_t i = choose(crew, hand);
  if (!may_do(crew, hand, i)) {
    hand_dismiss(hand);
  }
  int status = hand->process.id ? 0 : start(crew, hand, err);
  if (status) {
    return status;
  }
  struct packet question = {0};
  packet_put_number(&question, i);
  packet_put_text(&question, board->jobs[i].key);
  packet_put_number(&question, board->jobs[i].wish);
  hand->threads = share_of(crew, crew->setting.workers - 1);
  packet_put_number(&question, hand->threads);
  hand->job = i;
  hand->started = false;
  hand->deadline = crew_now() + START_LIMIT + fmax(crew->setting.timeout, crew->setting.stall);
  hand->stalls_at = INFINITY;
  hand->seed = board->plan->jobs[i].seed;
  hand->has_seed = true;
  hand->foreign = hand->foreign ? hand->foreign : foreign_plugin(crew, i);
  board_start(board, i);
  char *name = plan_job_id(board->plan, &board->plan->jobs[i], err);
  if (name) {
    progress_start(crew->setting.progress, crew_number_of(crew, hand), name);
  }
  free(name);
  status = hand_ask(hand, ASK_JOB, &question, err);
  packet_free(&question);
  return status == ERROR_INTERNAL ? 0 : status; /* it is gone, as will be seen */
}

static int hand_out_all(struct crew *crew, struct error *err) {
  int status = 0;
  for (size_t i = 0; !status && i < crew->setting.workers && crew->board->n_waiting; i++) {
    if (!hand_is_busy(&crew->hands[i])) {
      status = hand_out(crew, &crew->hands[i], err);
    }
  }
  return status;
}

/* A partial output, made by a process of its own while jobs run. */
static int start_checkpoint(struct crew *crew, struct error *err) {
  const struct board *board = crew->board;
  struct hand *hand = joiner(crew);
  struct join_job *jobs = memory_new(board->plan->n_jobs, sizeof *jobs, "jobs", err);
  struct packet question = {0};
  if (!jobs) {
    return err->code;
  }
  board_join_jobs(board, jobs);
  const struct join_request request = {
      .parts = crew->setting.brief.parts, .output = crew->setting.partial, .jobs = jobs};
  packet_put_join(&question, &request, board->plan->n_jobs);
  int status = hand->process.id ? 0 : start(crew, hand, err);
  hand->deadline = hand->stalls_at = INFINITY;
  status = status ? status : hand_ask(hand, ASK_JOIN, &question, err);
  packet_free(&question);
  free(jobs);
  return status;
}

static int checkpoint(struct crew *crew, struct error *err) {
  struct hand *hand = joiner(crew);
  size_t done = crew->board->n_kept + crew->board->n_computed;
  if (hand->answered) {
    if (hand->failure.code) {
      crew_say(crew, hand->failure.text);
    }
    hand->answered = false;
    packet_free(&hand->answer);
  }
  if (crew->setting.checkpoint <= 0 || hand_is_busy(hand) || crew_now() < crew->next_checkpoint ||
      done == crew->checkpointed) {
    return 0;
  }
  crew->next_checkpoint = crew_now() + crew->setting.checkpoint;
  crew->checkpointed = done;
  return start_checkpoint(crew, err);
}

/* After the first signal nothing new is begun, and what runs gets some time; after the second it does not. */
static bool must_end_now(struct crew *crew) {
  unsigned count = atomic_load(&crew->setting.signals->count);
  if (count && isinf(crew->ended_by)) {
    char text[160];
    crew->board->stopped = true;
    crew->ended_by = crew_now() + crew->setting.grace;
    if (crew->board->n_running) {
      snprintf(text, sizeof text,
               "pe-run: stopping; %zu running %s up to %g seconds to end (a second signal ends at once)",
               crew->board->n_running, crew->board->n_running == 1 ? "job gets" : "jobs get", crew->setting.grace);
      crew_say(crew, text);
    }
  }
  return count > 1 || crew_now() > crew->ended_by;
}

int crew_jobs(struct crew *crew, struct board *board, struct error *err) {
  int status = 0;
  bool given_up = false;
  crew->board = board;
  crew->next_checkpoint = crew_now() + crew->setting.checkpoint;
  signals_look(crew->setting.signals);
  while (!status && !given_up && (board->n_running || (board->n_waiting && !board->stopped))) {
    given_up = must_end_now(crew);
    if (!board->stopped) {
      status = hand_out_all(crew, err);
    }
    status = status ? status : share_threads(crew, err);
    if (!status && !given_up && board->n_running) {
      status = wait_for_news(crew, err);
      status = status ? status : checkpoint(crew, err);
    }
  }
  for (size_t i = 0; i < crew->setting.workers; i++) {
    if (hand_is_busy(&crew->hands[i])) {
      hand_dismiss(&crew->hands[i]);
    }
  }
  if (!status && crew->failure.code) {
    *err = crew->failure;
    status = (int)err->code;
  }
  crew->board = status ? NULL : crew->board;
  return !status && atomic_load(&crew->setting.signals->count) ? CREW_INTERRUPTED : status;
}
