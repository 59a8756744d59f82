/* A plan of shipped schemes, and its jobs run one by one in the test's process. */
#ifndef PE_TESTS_REAL_PLAN_H
#define PE_TESTS_REAL_PLAN_H

#include "config/plan.h"
#include "host/host.h"
#include "input/model.h"

struct real_plan {
  struct host *host;
  struct plan *plan;
  struct model *model; /* of the plan's first seed */
};

/* Loads `text`; paths in it are relative to the current folder. `overrides`: `n_overrides` texts KEY=VALUE. Fails the
 * calling test where anything is wrong. */
void real_plan_open(struct real_plan *real, const char *text, const char *const *overrides, size_t n_overrides);

/* The record of job `index`, to be released with record_free. */
void real_plan_run(const struct real_plan *real, size_t index, struct record *record);

void real_plan_close(struct real_plan *real);

#endif
