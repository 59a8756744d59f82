/* The experiment `claims`: what textbooks state of encodings, each statement with the number that settles it.
 *
 *     claims.c           settings, which statements speak of a scheme
 *     claims_measure.c   the numbers
 *     claims_conclude.c  one printed line for each
 */
#ifndef PE_EXPERIMENTS_CLAIMS_H
#define PE_EXPERIMENTS_CLAIMS_H

#include "experiments/common.h"

struct claims_job {
  const struct experiment_context *context;
  double train_length; /* L */
  size_t length;       /* positions 0 .. length - 1 */
};

/* Each adds its numbers where the statement speaks of the scheme, else nothing: 0 or an error code. */

/* "Attention without positions does not see order; with them it does": permutation_deviation, permutation_bound. */
int claims_permutations(const struct claims_job *job, struct record *record, struct error *err);

/* "Distances d1 and d2 share a bias": distances [pair, end], bias_difference [pair]; "the slopes are 2^(-8h/H)":
 * slope [head], slope_deviation. */
int claims_biases(const struct claims_job *job, struct record *record, struct error *err);

/* "Position 0 is left alone", "norms are kept": origin_deviation, norm_deviation, rotation_bound. */
int claims_rotations(const struct claims_job *job, struct record *record, struct error *err);

/* "A shift is a linear map": shift_residual [shift], shift_bound. */
int claims_shifts(const struct claims_job *job, struct record *record, struct error *err);

/* "Beyond L it says so": beyond_defined, beyond_trained, beyond_repeated, numbers of positions L .. length - 1. */
int claims_beyond(const struct claims_job *job, struct record *record, struct error *err);

int claims_conclude(const struct plan *plan, const struct plan_experiment *entry, const struct record *const *records,
                    struct conclusion *conclusion, struct error *err);

#endif
