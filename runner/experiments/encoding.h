/* The experiment `encoding`: the scheme itself, before any question is asked of it.
 *
 *     encoding.c           settings, the longest defined length, order of work
 *     encoding_measure.c   logits of equal tokens, rows added to the input, kernels, frequencies, derived values
 *     encoding_conclude.c  the table and the comparisons
 */
#ifndef PE_EXPERIMENTS_ENCODING_H
#define PE_EXPERIMENTS_ENCODING_H

#include "experiments/common.h"

struct encoding_job {
  const struct experiment_context *context;
  size_t length;       /* positions 0 .. length - 1 are looked at */
  size_t defined;      /* of these the scheme has a value for so many, from 0 */
  double train_length; /* 0: not known */
  double *positions;   /* [length] 0, 1, 2, ... */
  size_t *probes;      /* [n_probes] tokens that are repeated */
  size_t n_probes;
};

/* Logits [n_heads][n][n] (scaled, with bias, no mask) of one token at positions 0 .. n - 1; `bias_alone`: of a token
 * whose query and key are 0, so that the bias is left. *bound: what float32 rounding may have moved them by. To be
 * freed; NULL with ERROR_UNDEFINED or another error. */
float *encoding_logits(const struct encoding_job *job, size_t token, size_t n, bool bias_alone, double *bound,
                       struct error *err);

/* Each adds its tensors to the record: 0 or an error code. */

/* expected_logit, profile, profile_deviation, bias, rounding_bound. */
int encoding_measure_logits(const struct encoding_job *job, struct record *record, struct error *err);

/* position_encoding, position_gram (additive schemes); kernel and what follows from it (these and rotations). */
int encoding_measure_kernel(const struct encoding_job *job, struct record *record, struct error *err);

/* inv_freq, wavelength, turns; derived_<name>. */
int encoding_measure_derived(const struct encoding_job *job, struct record *record, struct error *err);

int encoding_conclude(const struct plan *plan, const struct plan_experiment *entry, const struct record *const *records,
                      struct conclusion *conclusion, struct error *err);

#endif
