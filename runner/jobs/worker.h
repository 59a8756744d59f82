/* The worker's side of a worker process: `pe-run __worker PARENT`. It answers what the parent asks over its socket
 * until that is closed. Here plugins are loaded and run; what they do to it costs the parent one job. */
#ifndef PE_JOBS_WORKER_H
#define PE_JOBS_WORKER_H

#include "config/plan.h"
#include "jobs/catalogue.h"

/* Exit status of a worker that cannot talk to its parent any more, such as when a plugin closed its files. */
enum { WORKER_CUT_OFF = 99 };

/* What a worker needs to make the same plan and work on it. */
struct worker_brief {
  const struct plan *plan; /* of the parent */
  const char *const *overrides;
  size_t n_overrides;
  const struct catalogue *catalogue;
  unsigned threads; /* that a job may be given */
  bool reference;
  const char *parts; /* absolute */
  size_t memory;     /* bytes that a job may take; 0: no limit */
};

/* The bodies of ASK_PLUGINS and ASK_PLAN. *err of the plan's text: 0 or ERROR_MEMORY. */
int worker_brief_put(const struct worker_brief *brief, struct packet *plan, struct error *err);

/* Run as the worker of process `parent`; returns the exit status. */
int worker_main(long parent);

#endif
