/* The grid trained with x applied: experiments that were run on several models, each with `weights:` of its own, side
 * by side. */
#ifndef PE_JOBS_GRID_H
#define PE_JOBS_GRID_H

#include "jobs/conclude.h"

/* From the concluded experiments of `run` into `out`: for each kind of experiment that is run on several models a
 * record of its name, with a tensor [axis, trained_with, applied] for each of its comparisons, NaN where there is no
 * number, and tables for each of them but bounds and quantiles, at the axis's ends. trained_with and applied are
 * the indices of the attributes trained_with_names and applied_names, separated by blanks. 0 or ERROR_MEMORY. */
int grid_conclude(const struct plan *plan, const struct run *run, struct conclusion *out, struct error *err);

#endif
