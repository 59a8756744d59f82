/* Progress on stderr: one line that is rewritten on a terminal, plain lines in a log, nothing with --quiet. */
#ifndef PE_JOBS_PROGRESS_H
#define PE_JOBS_PROGRESS_H

#include "base/record.h"

#include <stdio.h>

struct progress;

enum progress_style {
  PROGRESS_BAR,   /* one line that is rewritten */
  PROGRESS_LINES, /* a line per job, and now and then one of where a long job stands */
  PROGRESS_QUIET  /* only what is said */
};

/* NULL with ERROR_MEMORY. */
struct progress *progress_new(FILE *stream, enum progress_style style, struct error *err);

/* How many jobs there are. */
void progress_total(struct progress *progress, size_t jobs);

/* Job `id` is begun by worker `worker`; and is done to a share of 0 to 1, another one being taken for 0. words: where
 * it stands, such as "step 20 of 100, loss 1.5", of any origin: what is not printable ASCII is replaced, what is long
 * cut; NULL: nothing to say. */
void progress_start(struct progress *progress, unsigned worker, const char *id);
void progress_part(struct progress *progress, unsigned worker, double done, const char *words);

/* A worker has nothing to do. */
void progress_rest(struct progress *progress, unsigned worker);

/* A job came to an end: found finished (kept), or computed. */
void progress_end(struct progress *progress, const char *id, bool kept, enum record_status status,
                  const struct error *failure);

/* A line of its own, above the bar. The same one is not said twice. */
void progress_say(struct progress *progress, const char *text);

/* Take the bar away. NULL is allowed. */
void progress_free(struct progress *progress);

#endif
