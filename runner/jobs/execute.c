#include "jobs/execute.h"

#include "base/memory.h"
#include "jobs/board.h"
#include "jobs/crew.h"
#include "jobs/local.h"
#include "jobs/spare_inputs.h"
#include "results/results.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds that running jobs get after the first signal: less than what schedulers give between SIGTERM and SIGKILL. */
static const double GRACE = 10;

struct execution {
  const struct plan *plan;
  const struct execute_setting *setting;
  struct parts_folder folder;
  char parts[PATH_MAX]; /* the folder, absolute: a plugin may change the current one */
  struct signals signals;
  struct board board;
  bool *selected;
  char (*keys)[HASH_TEXT];
  bool output_complete; /* what is there now */
  /* one of: */
  struct crew *crew;
  struct workshop *workshop;
};

/* ---- who does the work ---- */

static unsigned cores(void) {
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 && count < INT_MAX ? (unsigned)count : 1;
}

static unsigned workers_of(const struct execution *e, unsigned threads) {
  size_t jobs = 0;
  for (size_t i = 0; i < e->plan->n_jobs; i++) {
    jobs += e->selected[i];
  }
  unsigned most = jobs < UINT_MAX ? (unsigned)jobs : UINT_MAX;
  unsigned workers = e->setting->workers ? e->setting->workers : threads;
  workers = workers < most ? workers : most;
  return workers ? workers : 1;
}

static int open_crew(struct execution *e, struct error *err) {
  const struct execute_setting *setting = e->setting;
  unsigned threads = setting->threads ? setting->threads : cores();
  unsigned workers = workers_of(e, threads);
  const struct crew_setting crew = {
      .process = setting->process,
      .brief = {.plan = e->plan,
                .overrides = setting->overrides,
                .n_overrides = setting->n_overrides,
                .catalogue = setting->catalogue,
                .threads = threads,
                .reference = setting->reference,
                .parts = e->parts,
                .memory = setting->memory},
      .workers = workers,
      .threads = threads,
      .timeout = setting->timeout,
      .stall = setting->stall,
      .grace = GRACE,
      /* Checkpoints are for the one who writes the output, and never replace a complete one. */
      .checkpoint = setting->selection.shard.count ? 0 : setting->checkpoint,
      .partial = e->folder.output,
      .signals = &e->signals,
      .progress = setting->progress,
  };
  catalogue_rest(setting->catalogue);
  return crew_open(&crew, &e->crew, err);
}

static int open_workshop(struct execution *e, struct error *err) {
  const struct execute_setting *setting = e->setting;
  const struct workshop_setting workshop = {.plan = e->plan,
                                            .host = catalogue_host(setting->catalogue),
                                            .threads = setting->threads ? setting->threads : cores(),
                                            .reference = setting->reference,
                                            .parts = e->parts};
  int status = workshop_open(&workshop, &e->workshop, err);
  if (!status) {
    workshop_use(e->workshop, workshop.threads);
  }
  return status ? status : signals_watch(&e->signals, err);
}

static int find_keys(struct execution *e, struct error *err) {
  e->keys = memory_new(e->plan->n_jobs, sizeof *e->keys, "keys", err);
  int status = e->keys ? 0 : (int)err->code;
  if (!status) {
    status = e->crew ? crew_keys(e->crew, e->keys, err) : workshop_keys(e->workshop, e->keys, err);
  }
  for (size_t i = 0; !status && i < e->plan->n_jobs; i++) {
    memcpy(e->board.jobs[i].key, e->keys[i], sizeof e->keys[i]);
  }
  return status;
}

/* Finished jobs of an earlier output. `held` [n_jobs]; `into` NULL: only look. */
static int take(struct execution *e, const char *into, bool *held, struct error *err) {
  struct take_setting setting = {.output = e->folder.output, .parts = into, .keys = e->keys};
  struct taken taken = {.held = held};
  if (e->setting->fresh || !parts_has_output(&e->folder)) {
    memset(held, 0, e->plan->n_jobs * sizeof *held);
    return 0;
  }
  int status = e->crew ? crew_take(e->crew, &setting, &taken, err) : take_finished(e->plan, &setting, &taken, err);
  e->output_complete = !status && taken.complete;
  if (!status && taken.damage.code) {
    char note[sizeof taken.damage.text + 80];
    snprintf(note, sizeof note, "%s: nothing is taken from it", taken.damage.text);
    progress_say(e->setting->progress, note);
  }
  return status;
}

static int take_all(struct execution *e, struct error *err) {
  bool *held = memory_new(e->plan->n_jobs, sizeof *held, "jobs", err);
  int status = held ? take(e, e->parts, held, err) : (int)err->code;
  free(held);
  return status;
}

/* ---- before the work ---- */

static int open_folder(struct execution *e, struct error *err) {
  int status = results_prepare(e->plan->output, err);
  status = status ? status : parts_open(e->plan->output, e->setting->selection.shard, &e->folder, err);
  if (!status && !realpath(e->folder.path, e->parts)) {
    status = error_set(err, ERROR_FILE_WRITE, "the folder '%s' cannot be used", e->folder.path);
  }
  if (!status && e->folder.unlocked) {
    char note[PATH_MAX + 120];
    snprintf(note, sizeof note, "%s: this file system has no locks: see to it that only one pe-run writes there",
             e->plan->output);
    progress_say(e->setting->progress, note);
  }
  return status;
}

static int prepare(struct execution *e, struct error *err) {
  e->selected = memory_new(e->plan->n_jobs, sizeof *e->selected, "jobs", err);
  int status = e->selected ? selection_apply(e->plan, &e->setting->selection, e->selected, err) : (int)err->code;
  status = status ? status : board_open(e->plan, &e->board, err);
  status = status ? status : spare_inputs(e->plan, err);
  status = status ? status : open_folder(e, err);
  status = status ? status : signals_open(&e->signals, err);
  status = status ? status : e->setting->process ? open_crew(e, err) : open_workshop(e, err);
  return status ? status : find_keys(e, err);
}

/* ---- the work ---- */

static void fill_board(struct execution *e) {
  const struct execute_setting *setting = e->setting;
  e->board.retries = setting->retries;
  e->board.fail_fast = setting->fail_fast;
  e->board.progress = setting->progress;
  bool shard = setting->selection.shard.count > 0;
  board_fill(&e->board, &e->folder, e->selected, !shard, !setting->only_join, setting->fresh);
  progress_total(setting->progress, e->board.n_waiting);
}

/* Nothing that was done before counts: not even a part of a job. */
static void forget_states(const struct execution *e) {
  for (size_t i = 0; i < e->plan->n_jobs; i++) {
    if (e->selected[i] && e->plan->experiments[e->plan->jobs[i].experiment].info->trains) {
      parts_forget_states(e->parts, e->keys[i]);
    }
  }
}

static int do_jobs(struct execution *e, struct error *err) {
  fill_board(e);
  if (e->setting->fresh && !e->setting->only_join) {
    forget_states(e);
  }
  return e->crew ? crew_jobs(e->crew, &e->board, err) : local_jobs(e->workshop, &e->board, &e->signals, err);
}

static int make_output(struct execution *e, struct execute_summary *summary, struct error *err) {
  const struct plan *plan = e->plan;
  struct join_job *jobs = memory_new(plan->n_jobs, sizeof *jobs, "jobs", err);
  struct join_answer answer = {0};
  if (!jobs) {
    return err->code;
  }
  board_join_jobs(&e->board, jobs);
  const struct join_request request = {
      .parts = e->parts, .output = e->folder.output, .jobs = jobs, .tables = true, .style = e->setting->style};
  int status = e->crew ? crew_join(e->crew, &request, &answer, err) : join_parts(plan, &request, &answer, err);
  if (!status) {
    size_t n_needed = 0, n_missing = 0;
    const char **needed = memory_new(plan->n_jobs, sizeof *needed, "jobs", err);
    for (size_t i = 0; needed && i < plan->n_jobs; i++) {
      n_missing += jobs[i].state == JOB_MISSING;
      if (answer.needed[i]) {
        needed[n_needed++] = jobs[i].key;
      }
    }
    summary->partial = n_missing > 0;
    /* Only a complete output has everything; next to another one, parts may be of a run that is not over. */
    if (needed && !summary->partial) {
      parts_remove(&e->folder, needed, n_needed);
    }
    free(needed);
    summary->n_broken = answer.n_broken;
    summary->tables = answer.text;
    answer.text = NULL;
  }
  join_answer_free(&answer);
  free(jobs);
  return status;
}

/* Whether there is to be an output now: not of a shard; not of a join that lacks jobs, unless that was asked for; and
 * an interrupted run does not put less in the place of a complete one. */
static bool may_make_output(const struct execution *e, struct execute_summary *summary) {
  const struct execute_setting *setting = e->setting;
  if (setting->selection.shard.count || (setting->only_join && summary->n_missing && !setting->partial)) {
    return false;
  }
  summary->withheld = summary->signal && summary->n_missing && e->output_complete;
  return !summary->withheld && e->board.n_kept + e->board.n_computed + e->board.n_failed > 0;
}

/* ---- after it ---- */

static int collect_failures(const struct execution *e, struct execute_summary *summary, struct error *err) {
  size_t count = 0;
  for (size_t i = 0; i < e->plan->n_jobs; i++) {
    count += e->board.jobs[i].why != NULL;
  }
  summary->failures = memory_new(count, sizeof *summary->failures, "failures", err);
  for (size_t i = 0; summary->failures && i < e->plan->n_jobs; i++) {
    const struct board_job *job = &e->board.jobs[i];
    if (job->why && (job->state == BOARD_DONE || job->state == BOARD_LOST)) {
      char *name = plan_job_id(e->plan, &e->plan->jobs[i], err);
      if (!name) {
        return err->code;
      }
      enum record_status status = job->state == BOARD_LOST ? RECORD_FAILED : job->status;
      summary->failures[summary->n_failures++] = (struct execute_failure){name, status, *job->why};
    }
  }
  return summary->failures ? 0 : (int)err->code;
}

static int summarise(const struct execution *e, struct execute_summary *summary, struct error *err) {
  summary->n_wanted = e->board.n_wanted;
  summary->n_kept = e->board.n_kept;
  summary->n_computed = e->board.n_computed;
  summary->n_failed = e->board.n_failed;
  summary->n_missing = board_missing(&e->board);
  summary->signal = atomic_load(&e->signals.first);
  summary->parts = memory_copy_text(e->folder.path, err);
  return summary->parts ? collect_failures(e, summary, err) : (int)err->code;
}

static int execute(struct execution *e, struct execute_summary *summary, struct error *err) {
  int status = prepare(e, err);
  status = status ? status : take_all(e, err);
  status = status ? status : do_jobs(e, err);
  if (status && status != CREW_INTERRUPTED) {
    return status;
  }
  status = summarise(e, summary, err);
  if (!status && may_make_output(e, summary)) {
    status = make_output(e, summary, err);
  }
  return status;
}

static void close_all(struct execution *e) {
  crew_close(e->crew);
  workshop_close(e->workshop);
  signals_close(&e->signals);
  board_close(&e->board);
  if (e->folder.path) {
    parts_close(&e->folder);
  }
  free(e->keys);
  free(e->selected);
}

int execute_plan(const struct plan *plan, const struct execute_setting *setting, struct execute_summary *summary,
                 struct error *err) {
  struct execution e = {.plan = plan, .setting = setting, .signals = {.file = -1}};
  *summary = (struct execute_summary){0};
  int status = execute(&e, summary, err);
  if (status == CREW_INTERRUPTED) { /* before the first job */
    summary->signal = atomic_load(&e.signals.first);
    status = 0;
  }
  close_all(&e);
  return status;
}

void execute_summary_free(struct execute_summary *summary) {
  for (size_t i = 0; i < summary->n_failures; i++) {
    free(summary->failures[i].job);
  }
  free(summary->failures);
  free(summary->tables);
  free(summary->parts);
  *summary = (struct execute_summary){0};
}

static int look(struct execution *e, struct job_outlook *outlook, struct error *err) {
  size_t n = e->plan->n_jobs;
  bool *held = memory_new(n, sizeof *held, "jobs", err);
  struct estimate *estimates = held ? memory_new(n, sizeof *estimates, "estimates", err) : NULL;
  int status = estimates ? take(e, NULL, held, err) : (int)err->code;
  if (!status) {
    status = e->crew ? crew_estimates(e->crew, estimates, err) : workshop_estimates(e->workshop, estimates, err);
  }
  for (size_t i = 0; !status && i < n; i++) {
    bool there = !e->setting->fresh && (held[i] || parts_has(&e->folder, e->keys[i]));
    outlook[i] = (struct job_outlook){e->selected[i], there, estimates[i]};
  }
  free(estimates);
  free(held);
  return status;
}

int execute_look(const struct plan *plan, const struct execute_setting *setting, struct job_outlook *outlook,
                 struct error *err) {
  struct execution e = {.plan = plan, .setting = setting, .signals = {.file = -1}};
  int status = prepare(&e, err);
  status = status ? status : look(&e, outlook, err);
  close_all(&e);
  return status == CREW_INTERRUPTED ? error_set(err, ERROR_INTERNAL, "stopped by a signal") : status;
}
