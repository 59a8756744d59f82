/* The parts of the experiment extrapolation: stretches of tokens beyond the training length, windows moved along,
 * frequencies, controls, and what follows.
 */
#ifndef PE_EXPERIMENTS_EXTRAPOLATION_H
#define PE_EXPERIMENTS_EXTRAPOLATION_H

#include "experiments/common.h"

enum {
  EXTRAPOLATION_MIN_WINDOWS = 20, /* what a verdict needs, of the stretches beyond L and of those inside */
  EXTRAPOLATION_MIN_UNITS = 2,    /* texts, or seeds where the model is random */
  EXTRAPOLATION_MAX_WINDOWS = 48, /* windows that are moved along */
};

/* The settings of one job, resolved. */
struct extrapolation {
  const struct experiment_context *context;
  size_t train_length; /* L */
  size_t window;       /* W */
  size_t queries;
  size_t spans; /* stretches per length, at least */
  bool causal;
  double *offsets; /* [n_offsets], ascending as given */
  size_t n_offsets;
  double *lengths; /* [n_lengths] whole numbers */
  size_t n_lengths;
};

/* Stretches of tokens cut from the texts. */
struct span {
  size_t text, first;
};
struct spans {
  struct span *items;
  size_t count;
  bool repeated; /* no text is long enough: each is read once from its start, over and over */
};

/* At least `wanted` stretches of n tokens (fewer where the texts are too short for so many different ones), as many
 * from each text that is long enough, the first at its start, the others evenly spread; they may overlap. Of an endless
 * model `wanted`, one behind the other. To be released with free(out->items). */
int extrapolation_spans(const struct model *model, size_t n, size_t wanted, struct spans *out, struct error *err);

/* Weights [heads][queries][n] of the last `queries` rows of tokens first .. first + n - 1 of a text at positions
 * 0 ...; to be freed. NULL with *err. */
float *extrapolation_tail(const struct extrapolation *e, const struct experiment_context *context,
                          const struct instance *scheme, const struct span *span, size_t n, size_t queries,
                          struct error *err);

/* How many of the last rows are looked at where n tokens are given and `kept` of them remain. */
size_t extrapolation_queries(const struct extrapolation *e, size_t n, size_t kept);

/* Tokens that remain of L at the same share of context dropped as from n to L. */
size_t extrapolation_kept_inside(const struct extrapolation *e, size_t n);

/* Work of a job that is done, from 0 to 1. */
void extrapolation_progress(const struct extrapolation *e, double done);

/* defined, trained, repeated, truncation_jsd and all that the last queries of stretches beyond L look at; the same
 * wholly inside L. */
int extrapolation_lengths(const struct extrapolation *e, struct record *record, struct error *err);

/* normalised_entropy, mean_distance, first_token_share of halves and quarters of the rows, mass_by_distance. */
int extrapolation_rows(const struct extrapolation *e, struct record *record, struct error *err);

/* window_jsd, swapped_in, position_signal: the same window of tokens at positions 0 .. and further on. */
int extrapolation_windows(const struct extrapolation *e, struct record *record, struct error *err);

/* window_attention: the weights of one window at four places, to be looked at. */
int extrapolation_moved(const struct extrapolation *e, struct record *record, struct error *err);

/* unseen_share and what else follows from the scheme's frequencies; nothing where it has none. */
int extrapolation_frequencies(const struct extrapolation *e, struct record *record, struct error *err);

/* truncation_jsd and position_signal under each control. */
int extrapolation_controls(const struct extrapolation *e, struct record *record, struct error *err);

int extrapolation_conclude(const struct plan *plan, const struct plan_experiment *entry,
                           const struct record *const *records, struct conclusion *conclusion, struct error *err);

#endif
