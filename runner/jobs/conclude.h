/* What follows from the records of a plan's jobs, the same way after a run, a resumed run and a join. */
#ifndef PE_JOBS_CONCLUDE_H
#define PE_JOBS_CONCLUDE_H

#include "base/hash.h"
#include "experiments/experiment.h"

/* One experiment's records and what compares them. */
struct run_experiment {
  struct record *schemes; /* [plan->n_schemes], seeds stacked; RECORD_NOT_RUN where there was no job */
  struct conclusion conclusion;
};

struct run {
  struct record *records; /* [plan->n_jobs]; RECORD_NOT_RUN where a job was not run; run_conclude takes their tensors */
  char (*digests)[HASH_TEXT];         /* [plan->n_jobs] of the records (record_digest), before that */
  struct run_experiment *experiments; /* [plan->n_experiments]; filled by run_conclude */
  struct run_experiment decision;     /* judged from all the others where the plan decides; filled by run_conclude */
  struct conclusion grid;             /* of experiments on several models; filled by run_conclude */
  size_t n_broken; /* expectations that do not hold, conditions that cannot be judged; set by run_conclude */
};

/* 0 or ERROR_MEMORY. */
int run_conclude(const struct plan *plan, struct run *run, struct error *err);

void run_free(const struct plan *plan, struct run *run);

#endif
