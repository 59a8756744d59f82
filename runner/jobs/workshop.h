/* The place where jobs are done: a plan, the plugins, and a folder for finished parts. The same functions serve a
 * worker process and, with --in-process, pe-run's own. One thread at a time. */
#ifndef PE_JOBS_WORKSHOP_H
#define PE_JOBS_WORKSHOP_H

#include "base/hash.h"
#include "experiments/estimate.h"
#include "jobs/job_run.h"

struct workshop_setting {
  const struct plan *plan;
  struct host *host;
  unsigned threads;  /* >= 1, at most */
  bool reference;    /* float64 attention */
  const char *parts; /* folder; "" : none yet */
  size_t memory;     /* bytes that a job may take; 0: no limit. For worker processes alone */
};

struct workshop;

/* 0 or ERROR_MEMORY. The setting's plan, host and texts are kept, not copied. */
int workshop_open(const struct workshop_setting *setting, struct workshop **out, struct error *err);
void workshop_close(struct workshop *workshop);

/* What made the numbers: JSON; lives as long as the workshop. NULL with ERROR_MEMORY. */
const char *workshop_environment(struct workshop *workshop, struct error *err);

/* keys [n_jobs] of the plan's jobs. Opens the model. 0, ERROR_FILE_*, ERROR_TOKENS, ERROR_MEMORY. */
int workshop_keys(struct workshop *workshop, char (*keys)[HASH_TEXT], struct error *err);

/* estimates [n_jobs]. Opens the model. As workshop_keys. */
int workshop_estimates(struct workshop *workshop, struct estimate *estimates, struct error *err);

/* Told while a job runs; each may be NULL. */
struct job_report {
  void (*started)(void *context); /* the part that was there, if any, has been looked at; the work begins */
  void (*progress)(void *context, double done, const char *words); /* as in experiment.h */
  void (*note)(void *context, const char *text);
  void *context;
};

enum job_wish {
  JOB_ANEW,        /* whatever is there */
  JOB_UNLESS_KEPT, /* take a sound part where there is one */
  JOB_ONLY_IF_KEPT /* the same, and else nothing */
};

struct job_outcome {
  bool kept;                 /* taken from a part */
  enum record_status status; /* RECORD_NOT_RUN: JOB_ONLY_IF_KEPT, and there was none */
  struct error error;        /* why it failed or is undefined */
  bool spent;                /* the job changed the process, or left much memory behind: do no more jobs in here */
};

/* How many threads work from now on, 1 to the setting's; one at the beginning. A job that runs may be given more or
 * fewer where it reports progress. The results do not depend on it. Where a thread cannot be started nothing changes.
 */
void workshop_use(struct workshop *workshop, unsigned threads);

/* Do job `index`, whose key is `key`: its part is in the folder afterwards, one that failed included. A part that is
 * damaged is noted and replaced; one of a job that failed is not taken. 0, or what keeps the run from going on:
 * ERROR_FILE_* (the part cannot be written, an input cannot be read), ERROR_TOKENS, ERROR_MEMORY. */
int workshop_job(struct workshop *workshop, size_t index, const char *key, enum job_wish wish,
                 const struct job_report *report, struct job_outcome *outcome, struct error *err);

#endif
