/* What a job will take, before it is run: for people who plan a night or a cluster. */
#ifndef PE_EXPERIMENTS_ESTIMATE_H
#define PE_EXPERIMENTS_ESTIMATE_H

#include "config/plan.h"
#include "input/model.h"

struct estimate {
  double operations; /* floating-point operations of projections, attention and training; NAN: not known */
  double bytes;      /* of the tensors that it holds at once; NAN: not known */
};

/* The estimate of one job of an experiment, the same for every scheme, whose own work is left out. `model` NULL: the
 * experiment trains its own. [any] */
struct estimate experiment_estimate(const struct plan_experiment *entry, const struct model *model);

#endif
