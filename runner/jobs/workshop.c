#include "jobs/workshop.h"

#include "base/blas.h"
#include "base/memory.h"
#include "experiments/projections.h"
#include "jobs/evidence.h"
#include "jobs/habitat.h"
#include "jobs/job_key.h"
#include "jobs/part.h"
#include "jobs/parts_folder.h"
#include "jobs/provenance.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct workshop {
  struct workshop_setting setting;
  struct pool *pool;
  struct model *model; /* of the last job */
  uint64_t seed;
  const char *weights;            /* an experiment's own, in the plan; NULL: the model's */
  struct key_value *values;       /* of the section that the model with such weights was made from */
  struct projections projections; /* of the model */
  char *environment;
  struct habitat habitat;
};

/* Left behind by one job after the other, this much memory is a leak. */
static const size_t MOST_LEFT = (size_t)256 << 20;
/* Of the model's projections this much is kept for the next job. */
static const size_t MOST_KEPT = (size_t)64 << 20;

static void close_model(struct workshop *workshop) {
  projections_free(&workshop->projections);
  model_close(workshop->model);
  free(workshop->values);
  workshop->model = NULL;
  workshop->values = NULL;
}

int workshop_open(const struct workshop_setting *setting, struct workshop **out, struct error *err) {
  struct workshop *workshop = memory_new(1, sizeof *workshop, "jobs", err);
  if (!workshop) {
    return err->code;
  }
  memory_keep_freed();
  workshop->setting = *setting;
  workshop->pool = pool_new_for(setting->threads, 1, err);
  if (!workshop->pool || habitat_take(&workshop->habitat, err)) {
    workshop_close(workshop);
    return err->code;
  }
  *out = workshop;
  return 0;
}

void workshop_close(struct workshop *workshop) {
  if (workshop) {
    close_model(workshop);
    pool_free(workshop->pool);
    habitat_free(&workshop->habitat);
    free(workshop->environment);
    free(workshop);
  }
}

const char *workshop_environment(struct workshop *workshop, struct error *err) {
  if (!workshop->environment) {
    workshop->environment = provenance_environment(err);
  }
  return workshop->environment;
}

/* The values of the section `model` with an experiment's weights in the place of its own. NULL with ERROR_MEMORY. */
static struct key_value *with_weights(const struct section *model, char *weights, struct error *err) {
  struct key_value *values = memory_new(model->table->count, sizeof *values, "model", err);
  for (size_t i = 0; values && i < model->table->count; i++) {
    values[i] = model->values[i];
    if (!strcmp(model->table->keys[i].key, "weights")) {
      values[i].text = weights;
    }
  }
  return values;
}

/* The model of an experiment and a seed; several jobs after each other have the same one. */
static int open_model(struct workshop *workshop, size_t experiment, uint64_t seed, struct error *err) {
  const struct plan *plan = workshop->setting.plan;
  char *weights = plan->experiments[experiment].weights;
  if (workshop->model && workshop->seed == seed && workshop->weights == weights) {
    return 0;
  }
  close_model(workshop);
  workshop->values = weights ? with_weights(plan->model, weights, err) : NULL;
  if (weights && !workshop->values) {
    return err->code;
  }
  struct section section = {.table = weights ? plan->model->table : NULL, .values = workshop->values};
  workshop->model = model_open(weights ? &section : plan->model, seed, err);
  workshop->projections.model = workshop->model;
  workshop->seed = seed;
  workshop->weights = weights;
  return workshop->model ? 0 : (int)err->code;
}

/* Digest of the plugin with a scheme that is named by its id alone; lives as long as the host. */
static int digest_of(struct workshop *workshop, const char *id, const char **digest, struct error *err) {
  const struct scheme *scheme = host_find(workshop->setting.host, id, NULL, err);
  *digest = scheme ? scheme->info.sha256 : "";
  return scheme ? 0 : (int)err->code;
}

/* What a decision rests on beside the run is looked at before the first job, so that nobody waits for a refusal. */
static int check_evidence(const struct plan *plan, struct error *err) {
  struct evidence evidence;
  if (!plan->decision || !plan->decision->trained) {
    return 0;
  }
  int status = evidence_open(plan, &evidence, err);
  if (!status) {
    evidence_close(&evidence);
  }
  return status;
}

/* Digest of the plugin that an experiment's weights were trained with; "": none. */
static int find_trained(struct workshop *workshop, size_t experiment, const char **digest, struct error *err) {
  const struct plan *plan = workshop->setting.plan;
  *digest = "";
  if (plan->experiments[experiment].info->trains) {
    return 0;
  }
  int status = open_model(workshop, experiment, plan->seed, err);
  const char *scheme = status ? NULL : workshop->model->trained.scheme;
  return scheme && *scheme ? digest_of(workshop, scheme, digest, err) : status;
}

int workshop_keys(struct workshop *workshop, char (*keys)[HASH_TEXT], struct error *err) {
  const struct plan *plan = workshop->setting.plan;
  struct job_key_setting setting = {.reference = workshop->setting.reference};
  int status = check_evidence(plan, err);
  const char **others = status ? NULL : memory_new(plan->n_schemes, sizeof *others, "schemes", err);
  const char **trained = others ? memory_new(plan->n_experiments, sizeof *trained, "experiments", err) : NULL;
  status = status ? status : trained ? 0 : (int)err->code;
  for (size_t e = 0; !status && e < plan->n_experiments; e++) {
    status = find_trained(workshop, e, &trained[e], err);
  }
  for (size_t i = 0; !status && i < plan->n_schemes; i++) {
    if (plan->schemes[i].other_scheme) {
      status = digest_of(workshop, plan->schemes[i].other_scheme, &others[i], err);
    }
  }
  setting.others = others;
  setting.trained = trained;
  status = status ? status : job_keys(plan, &setting, keys, err);
  free(trained);
  free(others);
  return status;
}

int workshop_estimates(struct workshop *workshop, struct estimate *estimates, struct error *err) {
  const struct plan *plan = workshop->setting.plan;
  for (size_t i = 0; i < plan->n_jobs; i++) {
    const struct plan_experiment *experiment = &plan->experiments[plan->jobs[i].experiment];
    bool trains = experiment->info->trains;
    if (!trains && open_model(workshop, plan->jobs[i].experiment, plan->seed, err)) {
      return err->code;
    }
    estimates[i] = experiment_estimate(experiment, trains ? NULL : workshop->model);
  }
  return 0;
}

/* From here on the process may take `memory` bytes more than it has. A limit on addresses sees every kind of memory;
 * sanitizers, which reserve terabytes, go without. */
static void limit_memory(size_t memory, unsigned threads) {
  enum { SLACK = 1 << 26 }; /* of addresses that each thread's heap reserves and does not use */
  if (!memory || SANITIZED) {
    return;
  }
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  bool known = file && fscanf(file, "%lu", &pages) == 1;
  if (file) {
    fclose(file);
  }
  struct rlimit limit;
  if (known && !getrlimit(RLIMIT_AS, &limit)) {
    rlim_t wanted = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + memory + (rlim_t)SLACK * threads;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
  }
}

static void lift_limit(size_t memory) {
  struct rlimit limit;
  if (memory && !SANITIZED && !getrlimit(RLIMIT_AS, &limit)) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
  }
}

void workshop_use(struct workshop *workshop, unsigned threads) {
  struct error ignored;
  unsigned most = workshop->setting.threads;
  pool_use(workshop->pool, threads < 1 ? 1 : threads < most ? threads : most, &ignored);
}

/* Whether a sound part is there: what it says goes to *outcome. A part that is not sound is noted. */
static bool take_part(struct workshop *workshop, const char *key, const struct job_report *report,
                      struct job_outcome *outcome) {
  struct error err;
  struct record record;
  char *path = part_path(workshop->setting.parts, key, &err);
  bool there = path && access(path, F_OK) == 0;
  free(path);
  if (!there) {
    return false;
  }
  if (part_read(workshop->setting.parts, key, &record, NULL, NULL, &err)) {
    char note[sizeof err.text + 80];
    snprintf(note, sizeof note, "%s: this job is computed again", err.text);
    if (report->note) {
      report->note(report->context, note);
    }
    return false;
  }
  bool finished = record.status == RECORD_MEASURED || record.status == RECORD_UNDEFINED;
  if (finished) {
    *outcome = (struct job_outcome){.kept = true, .status = record.status, .error = record.error};
  }
  record_free(&record);
  return finished;
}

/* Whether the job left the process as it was; what it changed is put back and noted. */
static bool leaves_no_trace(const struct workshop *workshop, const struct record *record, size_t before,
                            const struct job_report *report) {
  const char *changed = habitat_restore(&workshop->habitat);
  char note[3 * RECORD_NAME + 80];
  if (changed && report->note) {
    snprintf(note, sizeof note, "%s/%s: the plugin changed %s of the process; put back", record->experiment,
             record->label, changed);
    report->note(report->context, note);
  }
  if (habitat_resident() >= before + MOST_LEFT / 4) {
    memory_give_back(); /* what is still there is not free */
  }
  return !changed && habitat_resident() < before + MOST_LEFT;
}

static int compute(struct workshop *workshop, size_t index, const char *key, const struct job_report *report,
                   struct job_outcome *outcome, struct error *err) {
  const struct workshop_setting *setting = &workshop->setting;
  char state_path[PATH_MAX];
  snprintf(state_path, sizeof state_path, "%s/%s.state", setting->parts, key);
  const struct job_setting job = {.plan = setting->plan,
                                  .host = setting->host,
                                  .pool = workshop->pool,
                                  .reference = setting->reference,
                                  .projections = &workshop->projections,
                                  .state_path = state_path,
                                  .messages = {report->note, report->context},
                                  .progress = report->progress,
                                  .progress_context = report->context};
  struct record record = {0};
  /* The job's memory is what comes on top of it. */
  if (setting->memory ? blas_open_whole(err) : blas_open(err)) {
    return err->code;
  }
  size_t before = habitat_resident();
  limit_memory(setting->memory, setting->threads);
  int status = job_run(&job, &setting->plan->jobs[index], workshop->model, &record, err);
  lift_limit(setting->memory);
  if (projections_bytes(&workshop->projections) > MOST_KEPT) {
    projections_free(&workshop->projections);
  }
  bool spent = !leaves_no_trace(workshop, &record, before, report);
  const char *environment = status ? NULL : workshop_environment(workshop, err);
  status = status ? status : (environment ? 0 : (int)err->code);
  status = status ? status : part_write(setting->parts, key, &record, environment, workshop->pool, err);
  *outcome = (struct job_outcome){.status = record.status, .error = record.error, .spent = spent};
  bool trains = setting->plan->experiments[setting->plan->jobs[index].experiment].info->trains;
  if (!status && trains && record.status != RECORD_FAILED) {
    parts_forget_states(setting->parts, key);
  }
  record_free(&record);
  return status;
}

int workshop_job(struct workshop *workshop, size_t index, const char *key, enum job_wish wish,
                 const struct job_report *report, struct job_outcome *outcome, struct error *err) {
  *outcome = (struct job_outcome){.status = RECORD_NOT_RUN};
  if ((wish != JOB_ANEW && take_part(workshop, key, report, outcome)) || wish == JOB_ONLY_IF_KEPT) {
    return 0;
  }
  if (report->started) {
    report->started(report->context);
  }
  const struct plan *plan = workshop->setting.plan;
  bool trains = plan->experiments[plan->jobs[index].experiment].info->trains;
  int status = trains ? 0 : open_model(workshop, plan->jobs[index].experiment, plan->jobs[index].seed, err);
  return status ? status : compute(workshop, index, key, report, outcome, err);
}
