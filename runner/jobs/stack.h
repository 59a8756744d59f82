/* Records of one experiment and scheme over several seeds, as one. */
#ifndef PE_JOBS_STACK_H
#define PE_JOBS_STACK_H

#include "base/record.h"

/* One part: *out is a copy of it. Several: the tensors that all measured parts have, of equal shape, get a first axis
 * `seed`; others are those of the first measured part; attributes are the first part's, without `seed`. A part that
 * failed makes its slice NaN (0 for integers); the status is the worst of the measured ones, failed where none was. No
 * part: RECORD_NOT_RUN. 0 or ERROR_MEMORY. */
int record_stack(const struct record *const *parts, size_t count, struct record *out, struct error *err);

#endif
