/* Which jobs of a plan are meant: by patterns on experiment/label/seed, and by dealing them out to shards. */
#ifndef PE_JOBS_SELECTION_H
#define PE_JOBS_SELECTION_H

#include "config/plan.h"
#include "jobs/parts_folder.h"

struct selection {
  const char *const *only; /* a job must match one of them, where there are any */
  size_t n_only;
  const char *const *exclude; /* and none of these */
  size_t n_exclude;
  struct shard shard; /* count 0: all */
};

/* selected [n_jobs]. A pattern (*, ?, [abc]) is held against experiment/label/seed; one with a single slash against
 * experiment/label, one with none against either of these two names. Of the jobs so selected, shard I of N has those
 * with number I, I + N, I + 2 N, ..., which may be none. 0; ERROR_NOTHING_SELECTED with the names there are, or
 * ERROR_MEMORY. */
int selection_apply(const struct plan *plan, const struct selection *selection, bool *selected, struct error *err);

/* Read "I/N" with 0 <= I < N <= 1000000. False where it is something else. */
bool shard_read(const char *text, struct shard *shard);

#endif
