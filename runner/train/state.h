/* The state of a training in a file: enough to go on with the same bits. Put in place whole, judged by a digest. */
#ifndef PE_TRAIN_STATE_H
#define PE_TRAIN_STATE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct training_state {
  size_t step;                        /* how many are done */
  size_t count;                       /* floats of a block */
  float *parameters, *first, *second; /* blocks; the moments count while there are steps to come */
  double *losses;                     /* [step] */
};

/* Write; `key` names what decides the result; finished: no step is to come, and the moments are left out. 0,
 * ERROR_FILE_WRITE or ERROR_MEMORY. */
int state_write(const char *path, const char *key, const struct training_state *state, bool finished,
                struct error *err);

/* Read what state_write left for this key and count into the caller's memory (losses: room for `steps`, which are all
 * that are made; the moments stay as they are where these are done). *found false, and nothing is changed, where there
 * is no such file, or one of another key, or one that is not whole. 0 or ERROR_MEMORY. */
int state_read(const char *path, const char *key, size_t steps, struct training_state *state, bool *found,
               struct error *err);

#endif
