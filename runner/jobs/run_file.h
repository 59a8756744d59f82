/* A run's records and conclusions as one results file. */
#ifndef PE_JOBS_RUN_FILE_H
#define PE_JOBS_RUN_FILE_H

#include "jobs/conclude.h"

/* What was kept of a job: by it the job is found again in the file. */
struct run_job {
  const char *key;    /* "" : nothing can be taken from the file */
  const char *digest; /* of its record */
};

struct run_file {
  const char *path;
  bool whole;                 /* every job of the plan is in it */
  const char *environment;    /* JSON: what made the numbers */
  const struct run_job *jobs; /* [plan->n_jobs] */
};

/* Write the results of a concluded run: as results_write_checked. */
int run_file_write(const struct plan *plan, const struct run *run, const struct run_file *file, struct error *err);

#endif
