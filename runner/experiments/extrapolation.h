/* The parts of the experiment extrapolation: windows of tokens moved along, lengths beyond training, and what follows.
 */
#ifndef PE_EXPERIMENTS_EXTRAPOLATION_H
#define PE_EXPERIMENTS_EXTRAPOLATION_H

#include "experiments/common.h"

enum { EXTRAPOLATION_MIN_WINDOWS = 20, EXTRAPOLATION_MIN_TEXTS = 2 };

/* The settings of one job, resolved. */
struct extrapolation {
  const struct experiment_context *context;
  size_t train_length; /* L */
  size_t window;       /* W */
  size_t queries;
  bool causal;
  double *offsets; /* [n_offsets], ascending as given */
  size_t n_offsets;
  double *lengths; /* [n_lengths] whole numbers */
  size_t n_lengths;
};

/* window_jsd, window_jsd_by_window, swapped_in, position_signal: the same window of tokens at positions 0 .. and
 * further on. */
int extrapolation_windows(const struct extrapolation *e, struct record *record, struct error *err);

/* defined, trained, repeated, truncation_jsd, jsd_to_trained, mass_beyond, tail_distance, normalised_entropy,
 * mean_distance, mass_by_distance: the whole sequence at each length. */
int extrapolation_lengths(const struct extrapolation *e, struct record *record, struct error *err);

int extrapolation_conclude(const struct plan *plan, const struct plan_experiment *entry,
                           const struct record *const *records, struct conclusion *conclusion, struct error *err);

#endif
