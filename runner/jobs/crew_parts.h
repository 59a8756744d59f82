/* A crew from the inside: private to crew.c (who does what) and crew_news.c (what comes of it). */
#ifndef PE_JOBS_CREW_PARTS_H
#define PE_JOBS_CREW_PARTS_H

#include "host/host.h"
#include "jobs/crew.h"
#include "jobs/hand.h"

#include <limits.h>

/* The longest sleep: a process whose socket a plugin's child holds open is noticed by looking. START_LIMIT: seconds for
 * what precedes a job's own work: starting, planning, looking at a part. */
enum { TICK_MS = 100, START_LIMIT = 120, WINDOW = 256 };

/* A job's share that counts as progress: what claims to progress without end is ended, too. */
#define LEAST_PROGRESS 1e-4

struct crew {
  struct crew_setting setting;
  struct packet plugins, plan;
  struct hand *hands;                           /* [setting.workers + 1]: the last one joins */
  char own[HOST_DEFAULT_DIRECTORIES][PATH_MAX]; /* folders of pe-run's own plugins, links followed */
  struct board *board;
  double ended_by; /* running jobs are given up then; INFINITY: never */
  double next_checkpoint;
  size_t checkpointed;  /* jobs that were done at the last one */
  struct error failure; /* what keeps the run from going on; code 0: nothing */
};

/* Seconds of a clock that nobody sets. */
double crew_now(void);

/* For people, above the bar. */
void crew_say(const struct crew *crew, const char *text);

/* Take what a worker has told; see whether it has ended or is late, and what that means for its job. */
void crew_look_at(struct crew *crew, struct hand *hand);

unsigned crew_number_of(const struct crew *crew, const struct hand *hand);

#endif
