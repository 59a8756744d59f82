/* From parts to the output: all records read, concluded, written as one file, read again, put in place. */
#ifndef PE_JOBS_JOIN_H
#define PE_JOBS_JOIN_H

#include "base/hash.h"
#include "config/plan.h"
#include "jobs/packet.h"
#include "results/show_table.h"

enum job_state {
  JOB_MISSING, /* not run: the file says so and is partial */
  JOB_IN_PART, /* its part holds the record */
  JOB_LOST     /* it came to an end with its process: `failure` says how */
};

struct join_job {
  enum job_state state;
  char key[HASH_TEXT];
  const struct error *failure; /* JOB_LOST */
};

struct join_request {
  const char *parts;           /* folder */
  const char *output;          /* where to */
  const struct join_job *jobs; /* [plan->n_jobs] */
  bool tables;                 /* make `text` */
  struct table_style style;    /* for it */
};

struct join_answer {
  char *text;   /* the tables, to be printed; freed with join_answer_free */
  bool *needed; /* [plan->n_jobs] parts that the output cannot give back: several seeds in one record may drop
                   something; they have to stay */
  size_t n_jobs;
  size_t n_broken; /* expectations that do not hold */
};

/* 0; ERROR_FILE_READ, ERROR_FILE_CONTENT where a part cannot be read any more; ERROR_FILE_WRITE, ERROR_MEMORY. */
int join_parts(const struct plan *plan, const struct join_request *request, struct join_answer *answer,
               struct error *err);
void join_answer_free(struct join_answer *answer);

/* Both in messages. The request's texts live as long as the packet; `jobs` is to be freed. False: not whole. */
void packet_put_join(struct packet *packet, const struct join_request *request, size_t n_jobs);
bool packet_join(struct packet *packet, struct join_request *request, size_t n_jobs);
void packet_put_join_answer(struct packet *packet, const struct join_answer *answer);
bool packet_join_answer(struct packet *packet, struct join_answer *answer, size_t n_jobs);

#endif
