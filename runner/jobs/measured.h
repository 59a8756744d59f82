/* One number out of a tensor, as `expect:` and `decision:` name it: places on its axes, the rest reduced. */
#ifndef PE_JOBS_MEASURED_H
#define PE_JOBS_MEASURED_H

#include "base/record.h"
#include "config/plan.h"

enum { MEASURED_REASON = 160 };

/* at [rank]: the chosen place on each axis, axis->length where all count. False, with the reason, where the tensor has
 * no such axis or value. Masks are named by their words. */
bool measured_choose(const struct plan_expectation *e, const struct tensor *tensor, size_t at[],
                     char reason[MEASURED_REASON]);

/* Whether element `index` (row-major) lies at the chosen places. */
bool measured_is_chosen(const struct tensor *tensor, const size_t at[], size_t index);

/* values [n >= 1] to one number; NaN where any is, but for first and last. Sorts in place for the median. */
double measured_reduce(double *values, size_t n, enum expect_reduction reduction);

#endif
