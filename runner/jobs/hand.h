/* A worker process as its parent sees it: what it was asked and has not answered yet, and what it is at. */
#ifndef PE_JOBS_HAND_H
#define PE_JOBS_HAND_H

#include "jobs/messages.h"
#include "jobs/process.h"

enum { MOST_PENDING = 4 };

struct hand {
  struct process process; /* id 0: none */
  enum ask pending[MOST_PENDING];
  size_t n_pending;
  /* its job, while ASK_JOB is pending */
  size_t job;
  unsigned threads;  /* that it was told to use */
  bool started;      /* the job's own work has begun */
  double deadline;   /* seconds; INFINITY: none */
  double stalls_at;  /* seconds; it is then without progress for too long; INFINITY: never */
  double progressed; /* share of the job that moved this last */
  char loading[256]; /* the plugin that it is loading or has loaded last */
  /* its past */
  size_t jobs_done;
  bool has_seed;
  uint64_t seed;       /* of the last job */
  const char *foreign; /* path of a plugin that is not pe-run's own, whose code ran here; NULL: none */
  /* what a question that is not a job was answered: */
  bool answered;
  struct packet answer;
  struct error failure; /* code 0: none */
};

/* Start the process and tell it where plugins are and what the plan is. 0, or an error and no process. */
int hand_start(struct hand *hand, const struct process_setting *setting, const struct packet *plugins,
               const struct packet *plan, struct error *err);

/* Ask. 0 or ERROR_INTERNAL, ERROR_MEMORY. */
int hand_ask(struct hand *hand, enum ask type, const struct packet *body, struct error *err);

bool hand_is_busy(const struct hand *hand);

/* The question that the next answer is for; 0: none is pending. */
enum ask hand_answers(struct hand *hand);

/* End the process, if any, and forget its past. */
void hand_dismiss(struct hand *hand);

#endif
