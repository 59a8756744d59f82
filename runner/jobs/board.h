/* Where each job of a run stands. The parent keeps it; records stay in their parts. */
#ifndef PE_JOBS_BOARD_H
#define PE_JOBS_BOARD_H

#include "base/hash.h"
#include "jobs/join.h"
#include "jobs/parts_folder.h"
#include "jobs/progress.h"
#include "jobs/workshop.h"

enum board_state {
  BOARD_WAITING,
  BOARD_RUNNING,
  BOARD_DONE, /* its part is there */
  BOARD_LOST, /* it ended with its process, more often than it may: `why` */
  BOARD_LEFT  /* not wanted */
};

struct board_job {
  char key[HASH_TEXT];
  enum board_state state;
  enum job_wish wish;
  unsigned tries;            /* that failed */
  bool alone;                /* to be done by a process that has done nothing else */
  bool kept;                 /* found finished */
  enum record_status status; /* of BOARD_DONE */
  struct error *why;         /* it failed or is undefined; else NULL */
};

struct board {
  const struct plan *plan;
  struct board_job *jobs; /* [plan->n_jobs] */
  size_t first;           /* none before it waits */
  size_t n_waiting, n_running;
  size_t n_wanted;                     /* jobs that somebody wants to see done */
  size_t n_kept, n_computed, n_failed; /* of them; n_failed also counts those that were lost */
  bool stopped;                        /* hand out no more */
  unsigned retries;                    /* of a job that failed */
  bool fail_fast;                      /* the first failure stops the run */
  struct progress *progress;
};

/* 0 or ERROR_MEMORY. */
int board_open(const struct plan *plan, struct board *board, struct error *err);
void board_close(struct board *board);

/* After the keys are known: what waits. `compute`: jobs may be computed, else only found; fresh: kept ones do not
 * count. Jobs that are not selected are taken where they are finished and, but for shards, wanted by nobody. */
void board_fill(struct board *board, const struct parts_folder *folder, const bool *selected, bool others, bool compute,
                bool fresh);

/* A job is handed out; came to an end; or its process did. `again`: once more, without counting it. 0 or ERROR_MEMORY.
 */
void board_start(struct board *board, size_t job);
int board_done(struct board *board, size_t job, const struct job_outcome *outcome, struct error *err);
int board_lost(struct board *board, size_t job, const struct error *failure, struct error *err);
void board_again(struct board *board, size_t job, enum job_wish wish);

/* jobs [n_jobs] for a join of what is there now; they point into the board. */
void board_join_jobs(const struct board *board, struct join_job *jobs);

/* Jobs that were wanted and are neither done nor lost. */
size_t board_missing(const struct board *board);

#endif
