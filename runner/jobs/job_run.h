/* A job goes in, a record comes out. */
#ifndef PE_JOBS_JOB_RUN_H
#define PE_JOBS_JOB_RUN_H

#include "base/pool.h"
#include "jobs/instances.h"

struct job_setting {
  const struct plan *plan;
  struct host *host;
  struct pool *pool;               /* may be NULL */
  bool reference;                  /* float64 attention */
  struct projections *projections; /* what is kept of the model's tokens from job to job; may be NULL */
  const char *state_path;          /* beginning of names of files where a long job keeps its progress; NULL: nowhere */
  struct job_messages messages;
  void (*progress)(void *context, double done, const char *words); /* as in experiment.h; may be NULL */
  void *progress_context;
};

/* A record that says which job it is of, and that it was not run: names, seed and the attributes that all records of
 * the scheme have. 0 or ERROR_MEMORY; to be released with record_free either way. */
int job_record_name(const struct plan *plan, const struct job *job, struct record *record, struct error *err);

/* How the scheme's entry changes positions ("divide: auto") and layers ("every 4: none"), as the records say it in the
 * attributes `positions` and `layers`; "": not at all. */
enum { JOB_VARIANT = RECORD_NAME + 40 };
void job_positions_text(const struct plan_scheme *scheme, char out[JOB_VARIANT]);
void job_layers_text(const struct plan_scheme *scheme, char out[JOB_VARIANT]);

/* Say of such a record that its job failed. 0 or ERROR_MEMORY. */
int job_record_fail(struct record *record, const struct error *failure, struct error *err);

/* Run one job on an opened model. *record is always filled in: its names, attributes and status; what goes wrong in the
 * job is in it (RECORD_FAILED or RECORD_UNDEFINED with the error), not returned. Returns only ERROR_MEMORY of the frame
 * itself. */
int job_run(const struct job_setting *setting, const struct job *job, const struct model *model, struct record *record,
            struct error *err);

#endif
