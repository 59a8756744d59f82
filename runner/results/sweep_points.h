/* Which schemes and experiments of a results file are points of one sweep, by its plan: entries of one name whose
 * labels end as a sweep makes them, in "_key_value" for keys and values that they have.
 */
#ifndef PE_RESULTS_SWEEP_POINTS_H
#define PE_RESULTS_SWEEP_POINTS_H

#include "base/record.h"
#include "results/results.h"

enum { SWEEP_MAX_KEYS = 4 };

struct swept_value {
  char key[RECORD_NAME];      /* "base", "positions_divide" */
  char text[2 * RECORD_NAME]; /* the value as the plan has it; of a path the file's name */
  bool is_number;
  double number;
};

struct sweep_point {
  char name[RECORD_NAME];  /* id of the scheme or experiment */
  char label[RECORD_NAME]; /* of the point */
  char base[RECORD_NAME];  /* what the label is without keys and values */
  struct swept_value keys[SWEEP_MAX_KEYS];
  size_t n_keys; /* > 0 */
  size_t family; /* points of one sweep have the same number: 0, 1, 2, ... */
};

struct sweep_points {
  struct sweep_point *points; /* in the plan's order */
  size_t count, n_families;
};

enum sweep_of { SWEEP_OF_SCHEMES, SWEEP_OF_EXPERIMENTS };

/* Points of sweeps that have two or more. A file without a plan that can be read has none. 0 or ERROR_MEMORY; to be
 * freed with sweep_points_free. */
int sweep_points_read(const struct results_file *file, enum sweep_of of, struct sweep_points *out, struct error *err);

void sweep_points_free(struct sweep_points *points);

#endif
