/* The output of a run never takes the place of what the run is made from. */
#ifndef PE_JOBS_SPARE_INPUTS_H
#define PE_JOBS_SPARE_INPUTS_H

#include "config/plan.h"

/* 0 where the plan's output is neither its config nor a file that the plan names (weights, texts, tensors, plugins,
 * trained models), by whatever name or link; ERROR_FILE_REFUSED naming both; ERROR_MEMORY. */
int spare_inputs(const struct plan *plan, struct error *err);

#endif
