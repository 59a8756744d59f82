/* The worker processes of a run: started, given jobs, watched, replaced when one dies. */
#ifndef PE_JOBS_CREW_H
#define PE_JOBS_CREW_H

#include "jobs/board.h"
#include "jobs/signals.h"
#include "jobs/take.h"
#include "jobs/worker.h"

/* What a function returns, besides error codes, where a signal asked to stop. */
enum { CREW_INTERRUPTED = -1 };

struct crew_setting {
  const struct process_setting *process;
  struct worker_brief brief;
  unsigned workers;    /* >= 1 */
  unsigned threads;    /* of all workers together, where they are as many; at least one each */
  double timeout;      /* seconds that a job may take; 0: no limit */
  double stall;        /* seconds that it may go without progress; 0: no limit */
  double grace;        /* seconds that running jobs get to end after the first signal */
  double checkpoint;   /* seconds between partial outputs; 0: none */
  const char *partial; /* where these go */
  struct signals *signals;
  struct progress *progress;
};

struct crew;

/* Start the workers. 0 or ERROR_MEMORY, ERROR_INTERNAL. The setting's pointers are kept. */
int crew_open(const struct crew_setting *setting, struct crew **out, struct error *err);
void crew_close(struct crew *crew);

/* As workshop_keys, workshop_estimates, take_finished and join_parts, done by a worker. A worker that dies of an input
 * costs ERROR_FILE_CONTENT; of an earlier output, what could be had from it; of the joining, ERROR_FILE_WRITE. */
int crew_keys(struct crew *crew, char (*keys)[HASH_TEXT], struct error *err);
int crew_estimates(struct crew *crew, struct estimate *estimates, struct error *err);
int crew_take(struct crew *crew, const struct take_setting *setting, struct taken *taken, struct error *err);
int crew_join(struct crew *crew, const struct join_request *request, struct join_answer *answer, struct error *err);

/* Have every job done that waits on the board. 0 when none waits and none runs, or none may be handed out any more
 * (board->stopped); CREW_INTERRUPTED; or what keeps the run from going on, after the running jobs have ended. */
int crew_jobs(struct crew *crew, struct board *board, struct error *err);

#endif
