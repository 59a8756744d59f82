/* Records of one experiment and scheme over several seeds, as one. */
#ifndef PE_JOBS_STACK_H
#define PE_JOBS_STACK_H

#include "base/record.h"

/* One part: *out is a copy of it. Several: the tensors that all measured parts have, of equal shape, get a first axis
 * `seed`; others are those of the first measured part; attributes are the first part's, without `seed`; numbers that
 * differ by seed stand in <name>_by_seed too. A part that failed makes its slice NaN (0 for integers); the status is
 * the worst of the measured ones, failed where none was. No part: RECORD_NOT_RUN. 0 or ERROR_MEMORY. */
int record_stack(const struct record *const *parts, size_t count, struct record *out, struct error *err);

/* Back again: the part of the `index`-th seed, which is `seed`; single: there was one part alone, whose axis `seed`, if
 * it has one, is its own (experiments that train). What stacking dropped (a tensor of other shape, a text
 * that differs by seed) is not in it: compare record_digest. Its numbers stay those of `stacked`, which must live
 * longer. 0 or ERROR_MEMORY; *out is to be released either way. */
int record_unstack(const struct record *stacked, size_t index, uint64_t seed, bool single, struct record *out,
                   struct error *err);

#endif
