/* The certificate: what each rounded stage of a scheme does to the score, at any shift of the positions.
 *
 *     position, frequency -> angle -> table -> product -> output -> accumulation -> score
 *
 * One stage at a time is rounded to a format, the others are float64. The runner redoes a scheme from its derived
 * values (experiments/angles.h); a scheme that is more than its angles is run as it is, and only what enters and leaves
 * it is rounded: position, output, accumulation.
 *
 * A score belongs to one key at the first of D positions and one query 0 .. D - 1 further on, of Gaussian rows
 * (schemes on queries, keys and scores) or of the encodings themselves (schemes added to the input).
 */
#ifndef PE_EXPERIMENTS_CERTIFICATE_H
#define PE_EXPERIMENTS_CERTIFICATE_H

#include "base/rounding.h"
#include "host/instance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum certificate_stage {
  CERTIFICATE_POSITION,      /* the number that the scheme is told */
  CERTIFICATE_FREQUENCY,     /* inv_freq */
  CERTIFICATE_ANGLE,         /* position times frequency */
  CERTIFICATE_TABLE,         /* cosines and sines */
  CERTIFICATE_PRODUCT,       /* of a row's numbers with cosines and sines */
  CERTIFICATE_OUTPUT,        /* what the scheme hands on: rows, or the bias */
  CERTIFICATE_ACCUMULATION,  /* partial sums of query times key, and the sum with a bias */
  CERTIFICATE_TWO_ROTATIONS, /* turned to the unshifted position and stored, then turned on by the shift and stored */
  CERTIFICATE_POSITION_AND_FREQUENCY,
  CERTIFICATE_TABLE_AND_PRODUCT,
  CERTIFICATE_ALL, /* the first seven */
  N_CERTIFICATE_STAGES
};

/* "position", ..., "two_rotations", "position_and_frequency", "table_and_product", "all"; ended by NULL. */
extern const char *const certificate_stage_names[];

struct certificate_setting {
  const struct instance *scheme;
  size_t layer, n_heads, n_kv_heads, head_dim, d_model;
  size_t samples;   /* pairs of Gaussian rows, >= 1 */
  size_t distances; /* D >= 2 */
  uint64_t seed;
};

/* How the scheme is run. */
enum certificate_way {
  CERTIFICATE_TURNED,    /* rows turned by angles */
  CERTIFICATE_SINUSOIDS, /* rows of sines and cosines */
  CERTIFICATE_AS_IT_IS   /* the plugin itself */
};

/* Not thread-safe. */
struct certificate;

/* Reads the derived values and compares the redone scheme with the plugin's rows at `farthest`; where they differ by
 * more than float rounding the scheme is run as it is. *out to be closed. ERROR_UNDEFINED where the scheme has no value
 * at the unshifted positions, ERROR_SCHEME_*, ERROR_MEMORY. */
int certificate_open(const struct certificate_setting *setting, double farthest, struct certificate **out,
                     struct error *err);
void certificate_close(struct certificate *certificate);

enum certificate_way certificate_way(const struct certificate *certificate);
/* Where it acts, PE_SITE_*. */
uint32_t certificate_acts(const struct certificate *certificate);
bool certificate_has(const struct certificate *certificate, enum certificate_stage stage);

/* Standard deviation of the float64 scores. */
double certificate_spread(const struct certificate *certificate);

/* Largest difference of the redone rows from the plugin's, relative to the largest pair of channels, and what float32
 * arithmetic may leave of it (five roundings); NaN where nothing is redone. */
double certificate_redone_difference(const struct certificate *certificate);
double certificate_redone_bound(void);

/* Over all scores of one stage at one shift. NaN: not a number there (the format ends before). */
struct certificate_errors {
  double drift_rms, drift_max;                   /* score(shift) - score(0), both in this arithmetic */
  double drift_bound_rms, drift_bound_max;       /* NaN: none is known */
  double fidelity_rms, fidelity_max;             /* score - float64 score at the same positions */
  double fidelity_bound_rms, fidelity_bound_max; /* likewise */
  double growing;                                /* the part of the bound that grows with position; NaN: not known */
  double twice_rms, twice_max;                   /* two rotations - one, stored in the format; NaN but for that stage */
};

/* Drift and fidelity alone, the rest NaN. ERROR_UNDEFINED where the scheme has no value at these positions (rounded
 * ones, too). Asking for one shift after the other, all its stages in a row, is what is fast. */
int certificate_off(struct certificate *certificate, enum certificate_stage stage, enum number_format format,
                    double shift, struct certificate_errors *out, struct error *err);

/* All of them. */
int certificate_measure(struct certificate *certificate, enum certificate_stage stage, enum number_format format,
                        double shift, struct certificate_errors *out, struct error *err);

/* Largest and rms change of the float64 score itself; 0 for a relative scheme. As above. */
int certificate_own_drift(struct certificate *certificate, double shift, double *rms, double *max, struct error *err);

#endif
