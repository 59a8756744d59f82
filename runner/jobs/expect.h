/* What the config expects of its results (`expect:`), held against the records. */
#ifndef PE_JOBS_EXPECT_H
#define PE_JOBS_EXPECT_H

#include "jobs/conclude.h"

/* Evaluate every expectation of the plan on the stacked records of run->experiments and add a table of them to the
 * experiments they speak of. run->n_broken counts those that do not hold: for some seed, where a value is undefined, or
 * where there is no such measure, axis or value. 0 or ERROR_MEMORY. */
int run_expect(const struct plan *plan, struct run *run, struct error *err);

#endif
