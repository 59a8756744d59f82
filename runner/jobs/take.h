/* Finished jobs out of an earlier output, so that the same command, or a larger config, does not compute them again. */
#ifndef PE_JOBS_TAKE_H
#define PE_JOBS_TAKE_H

#include "base/hash.h"
#include "config/plan.h"

#include <stdbool.h>

struct take_setting {
  const char *output;      /* an earlier results file */
  const char *parts;       /* folder that parts go to; NULL: only look */
  char (*keys)[HASH_TEXT]; /* [plan->n_jobs] */
};

struct taken {
  bool *held;    /* [n_jobs], the caller's: the output has the job of this key, whole; with `parts`, its part is in
                    the folder now. Jobs whose part was there already are passed over */
  bool complete; /* the output is complete: nothing less may take its place */
  struct error damage; /* why nothing, or not all, could be taken from a results file that is not sound */
};

/* What there is to be had from `output`; an empty file is like none. 0; ERROR_FILE_REFUSED where it is something that
 * pe-run did not write and must not overwrite; ERROR_FILE_WRITE, ERROR_MEMORY. */
int take_finished(const struct plan *plan, const struct take_setting *setting, struct taken *taken, struct error *err);

#endif
