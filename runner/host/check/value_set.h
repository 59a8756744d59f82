/* Values for a scheme's parameters, as the host would pass them. */
#ifndef PE_HOST_CHECK_VALUE_SET_H
#define PE_HOST_CHECK_VALUE_SET_H

#include "base/error.h"
#include "base/rng.h"
#include "pe/plugin.h"

#include <stdbool.h>

struct value_set {
  const pe_scheme *table;
  pe_value *values; /* [n_params] */
  double *numbers;  /* of lists */
};

/* 0 or ERROR_MEMORY; filled with the defaults. */
int value_set_new(const pe_scheme *table, struct value_set *out, struct error *err);
void value_set_free(struct value_set *set);

/* All defaults; optional ones absent; required ones at a bound. */
void value_set_defaults(struct value_set *set);

/* Parameter `which` at its variant-th notable value (each bound that is finite, each choice, shortest and longest list,
 * absent), the others as they are; false where there are no more. */
bool value_set_variant(struct value_set *set, size_t which, size_t variant);

/* Every parameter at random: mostly near its default, sometimes anywhere in its range. */
void value_set_random(struct value_set *set, const struct rng *rng, uint64_t draw);

/* "base=10000, layout=half": what differs from the defaults. */
void value_set_describe(const struct value_set *set, char *text, size_t size);

#endif
