/* A plan, carried out: what is finished is found, the rest is done, and all of it becomes the output. */
#ifndef PE_JOBS_EXECUTE_H
#define PE_JOBS_EXECUTE_H

#include "experiments/estimate.h"
#include "jobs/catalogue.h"
#include "jobs/progress.h"
#include "jobs/selection.h"
#include "results/show_table.h"

struct execute_setting {
  struct catalogue *catalogue;           /* that the plan was made with */
  const struct process_setting *process; /* how to start workers; NULL: everything in this process */
  const char *const *overrides;          /* that the plan was made with */
  size_t n_overrides;
  unsigned workers; /* 0: as many as there are threads or jobs to use */
  unsigned threads; /* of all workers together; 0: as many as there are cores */
  bool reference;   /* float64 attention */
  bool fresh;       /* take nothing that was finished before */
  bool only_join;   /* compute nothing */
  bool partial;     /* only_join: even where jobs are missing */
  bool fail_fast;
  unsigned retries;
  double timeout;    /* seconds for a job; 0: no limit */
  double stall;      /* seconds that a job may go without progress; 0: no limit */
  size_t memory;     /* bytes for a job; 0: no limit */
  double checkpoint; /* seconds between partial outputs; 0: none */
  struct selection selection;
  struct table_style style; /* of the tables */
  struct progress *progress;
};

/* A job that gave no numbers. */
struct execute_failure {
  char *job;
  enum record_status status; /* RECORD_FAILED or RECORD_UNDEFINED */
  struct error why;
};

struct execute_summary {
  char *tables; /* as text; NULL: no output was written */
  char *parts;  /* the folder of what is finished and not in the output yet */
  size_t n_wanted, n_kept, n_computed, n_failed, n_missing;
  struct execute_failure *failures;
  size_t n_failures;
  size_t n_broken; /* expectations that do not hold */
  int signal;      /* that stopped the run; 0: none */
  bool partial;    /* the output was written, and lacks jobs */
  bool withheld;   /* the output was not written, since what is there is complete, and this would not be */
};

/* Carry out the plan. 0 where the run came to an end, be it by a signal or with failed jobs: *summary says so. Else
 * what kept it from that: ERROR_NOTHING_SELECTED, ERROR_BUSY, ERROR_FILE_*, ERROR_TOKENS, ERROR_MEMORY, ERROR_INTERNAL.
 * What is finished is kept in any case. The summary is to be released either way. */
int execute_plan(const struct plan *plan, const struct execute_setting *setting, struct execute_summary *summary,
                 struct error *err);
void execute_summary_free(struct execute_summary *summary);

/* A job before it is done. */
struct job_outlook {
  bool selected;
  bool held; /* it is finished already */
  struct estimate estimate;
};

/* What a run would do, for a dry run: outlook [n_jobs]. The same errors. */
int execute_look(const struct plan *plan, const struct execute_setting *setting, struct job_outlook *outlook,
                 struct error *err);

#endif
