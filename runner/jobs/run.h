/* All jobs of a plan, one after the other in this process, and what follows from their records. */
#ifndef PE_JOBS_RUN_H
#define PE_JOBS_RUN_H

#include "jobs/job_run.h"
#include "jobs/progress.h"

struct run_setting {
  struct host *host;
  unsigned threads; /* >= 1 */
  bool reference;
  struct job_messages messages;
  struct progress *progress; /* may be NULL */
};

/* One experiment's records and what compares them. */
struct run_experiment {
  struct record *schemes; /* [plan->n_schemes], seeds stacked; RECORD_NOT_RUN where there was no job */
  struct conclusion conclusion;
};

struct run {
  struct record *records;             /* [plan->n_jobs] */
  struct run_experiment *experiments; /* [plan->n_experiments]; filled by run_conclude */
  size_t n_failed;
  size_t n_broken; /* expectations that do not hold; set by run_conclude */
};

/* Run every job. A job that fails costs itself. 0, or what keeps all jobs from running: an input that cannot be read
 * (ERROR_FILE_*, ERROR_TOKENS), or ERROR_MEMORY. */
int run_jobs(const struct plan *plan, const struct run_setting *setting, struct run *run, struct error *err);

/* From all records, the same way after a run, a resumed run and a join. */
int run_conclude(const struct plan *plan, struct run *run, struct error *err);

void run_free(const struct plan *plan, struct run *run);

#endif
