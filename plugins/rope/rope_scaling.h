/* The frequencies of rotary positions: plain, and stretched in each of the ways that released models use. README.md has
 * the formulas with their sources. All functions are pure and re-entrant. */
#ifndef ROPE_SCALING_H
#define ROPE_SCALING_H

#include <stddef.h>

enum {
  ROPE_SCALING_NONE,
  ROPE_SCALING_LINEAR,
  ROPE_SCALING_NTK,
  ROPE_SCALING_DYNAMIC,
  ROPE_SCALING_YARN,
  ROPE_SCALING_LONGROPE,
  ROPE_SCALING_LLAMA3,
  ROPE_SCALING_PROPORTIONAL
};
enum { ROPE_RAMP_CODE, ROPE_RAMP_PAPER };

/* A scaling with every value settled; members that its kind does not use are 0. */
typedef struct rope_scaling {
  int kind;                    /* ROPE_SCALING_* */
  double base;                 /* b >= 1 */
  size_t n_pairs;              /* rotary width / 2, >= 1 */
  size_t n_turned;             /* the first pairs turn, the others have frequency 0 (proportional); else n_pairs */
  double factor;               /* s >= 1 */
  double original_length;      /* L, tokens */
  int ramp;                    /* yarn: ROPE_RAMP_* */
  int truncate;                /* yarn, ramp code: whole dimensions as its bounds */
  double beta_fast, beta_slow; /* yarn: turns within L */
  double low_freq_factor, high_freq_factor; /* llama3: turns within L */
  const double *short_factor, *long_factor; /* longrope: [n_pairs], divide the frequencies */
  double attention_factor;                  /* multiplies cos and sin */
  double softmax_scale_multiplier;          /* multiplies the score scale */
} rope_scaling;

/* True where inv_freq depends on the sequence length. */
int rope_depends_on_length(const rope_scaling *scaling);

/* inv_freq [n_pairs]: radians per position for a call of this length; unscaled: without the scaling. */
void rope_inv_freq(const rope_scaling *scaling, double seq_len, double *inv_freq);
void rope_inv_freq_unscaled(const rope_scaling *scaling, double *inv_freq);

/* YaRN's magnitude g(s, m) = 0.1 m ln s + 1, and 1 for s <= 1 (YaRN section 3.4; m by DeepSeek). */
double rope_yarn_magnitude(double factor, double mscale);
/* LongRoPE's magnitude sqrt(1 + ln s / ln L), and 1 for s <= 1. L > 1. */
double rope_longrope_magnitude(double factor, double original_length);

#endif
