/* A scheme of angles redone from its derived values (inv_freq, pairs, attention_factor): tables of cosines and sines,
 * turned rows and sinusoidal rows in float64, with any stage rounded to a narrower format.
 *
 *     position, frequency -> angle -> table (cosine, sine) -> product (each of the four of a pair) -> output (the row)
 */
#ifndef PE_EXPERIMENTS_ANGLES_H
#define PE_EXPERIMENTS_ANGLES_H

#include "base/rounding.h"
#include "host/instance.h"

#include <stdbool.h>

enum angle_stage {
  STAGE_POSITION,
  STAGE_FREQUENCY,
  STAGE_ANGLE,
  STAGE_TABLE,
  STAGE_PRODUCT,
  STAGE_OUTPUT,
  N_ANGLE_STAGES
};

/* "position", "frequency", ...; ended by NULL. */
extern const char *const angle_stage_names[];

/* The format that each stage is rounded to; all zero: float64 throughout. */
struct angle_rounding {
  enum number_format format[N_ANGLE_STAGES];
};

struct angles {
  size_t n_pairs;
  double *inv_freq; /* [n_pairs], radians per position */
  double *unscaled; /* [n_pairs] before scaling; the same numbers where the scheme does not say */
  size_t *channel;  /* [n_pairs][2] */
  size_t *axis;     /* [n_pairs] coordinate that a pair follows */
  double factor;    /* multiplies cosines and sines */
};

/* What an instance reports at a length. *found: it has frequencies and pairs. 0, ERROR_SCHEME_* or ERROR_MEMORY. To be
 * released with angles_free. */
int angles_of(const struct instance *instance, double seq_len, struct angles *angles, bool *found, struct error *err);
void angles_free(struct angles *angles);

/* Whether turning by these angles is all that the scheme does: it acts on queries and keys alone, keeps their width,
 * and does not scale its pairs by position (xPos reports zeta). */
bool angles_are_all(const struct instance *instance, double seq_len);

/* Whether all channels lie in rows of this width: to be asked before rows are turned. */
bool angles_fit(const struct angles *angles, size_t width);

/* cosine, sine [n_pairs] at one position [axes], times the factor. [any thread] */
void angles_table(const struct angles *angles, const struct angle_rounding *rounding, const double *position,
                  double *cosine, double *sine);

/* out [width] = in [width] turned; channels of no pair are copied. out is not in. [any thread] */
void angles_turn(const struct angles *angles, const struct angle_rounding *rounding, const double *cosine,
                 const double *sine, size_t width, const float *in, double *out);

/* row [width] turned where it stands. [any thread] */
void angles_turn_row(const struct angles *angles, const struct angle_rounding *rounding, const double *cosine,
                     const double *sine, size_t width, double *row);

/* out [width]: the sine on the first channel of each pair, the cosine on the second, 0 elsewhere. [any thread] */
void angles_sinusoid(const struct angles *angles, const struct angle_rounding *rounding, const double *cosine,
                     const double *sine, size_t width, double *out);

#endif
