/* Jobs in this very process, one after the other: for the debugger. A plugin that crashes takes pe-run with it. */
#ifndef PE_JOBS_LOCAL_H
#define PE_JOBS_LOCAL_H

#include "jobs/board.h"
#include "jobs/signals.h"

/* As crew_jobs, without limits of time and memory. */
int local_jobs(struct workshop *workshop, struct board *board, struct signals *signals, struct error *err);

#endif
