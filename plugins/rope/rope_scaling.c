#include "rope_scaling.h"

#include <math.h>

static const double two_pi = 6.283185307179586476925286766559;

int rope_depends_on_length(const rope_scaling *scaling) {
  return scaling->kind == ROPE_SCALING_DYNAMIC || scaling->kind == ROPE_SCALING_LONGROPE;
}

/* b^(-2i/d) with 2i/d = i/n_pairs. */
static void powers_of_base(double base, size_t n_pairs, double *inv_freq) {
  for (size_t i = 0; i < n_pairs; i++) {
    inv_freq[i] = pow(base, -(double)i / (double)n_pairs);
  }
}

void rope_inv_freq_unscaled(const rope_scaling *scaling, double *inv_freq) {
  powers_of_base(scaling->base, scaling->n_pairs, inv_freq);
}

/* NTK-aware scaling raises the base so that the slowest frequency is divided by `stretch` and the fastest stays:
 * b' = b stretch^(d/(d-2)). At d = 2 there is one frequency, 1, whatever the base. */
static double raised_base(const rope_scaling *scaling, double stretch) {
  double d = 2 * (double)scaling->n_pairs;
  return scaling->n_pairs > 1 ? scaling->base * pow(stretch, d / (d - 2)) : scaling->base;
}

static double dynamic_stretch(const rope_scaling *scaling, double seq_len) {
  double length = fmax(seq_len, scaling->original_length);
  return scaling->factor * length / scaling->original_length - (scaling->factor - 1);
}

static double clip(double x) {
  return fmin(fmax(x, 0), 1);
}

/* The released code's ramp is linear in the pair index, between the (whole, with `truncate`) indices at which a pair
 * makes beta_fast and beta_slow turns within L. `high` is clamped at d-1 although there are only d/2 pairs: so do all
 * public implementations, and the weights were trained with it. */
static void blend_by_index(const rope_scaling *scaling, double *inv_freq) {
  double d = 2 * (double)scaling->n_pairs;
  double per_log = d / (2 * log(scaling->base));
  double low = per_log * log(scaling->original_length / (scaling->beta_fast * two_pi));
  double high = per_log * log(scaling->original_length / (scaling->beta_slow * two_pi));
  if (scaling->truncate) {
    low = floor(low);
    high = ceil(high);
  }
  low = fmax(low, 0);
  high = fmin(high, d - 1);
  if (low == high) {
    high += 0.001; /* the released code's guard against a division by zero */
  }
  for (size_t i = 0; i < scaling->n_pairs; i++) {
    double ramp = clip(((double)i - low) / (high - low));
    inv_freq[i] = inv_freq[i] / scaling->factor * ramp + inv_freq[i] * (1 - ramp);
  }
}

/* The paper's ramp is linear in the number of turns within L: 0 below beta_slow, 1 above beta_fast (YaRN, eq. 18). */
static void blend_by_turns(const rope_scaling *scaling, double *inv_freq) {
  double span = scaling->beta_fast - scaling->beta_slow;
  for (size_t i = 0; i < scaling->n_pairs; i++) {
    double turns = scaling->original_length * inv_freq[i] / two_pi;
    double kept = span > 0 ? clip((turns - scaling->beta_slow) / span) : turns >= scaling->beta_fast;
    inv_freq[i] = (1 - kept) * inv_freq[i] / scaling->factor + kept * inv_freq[i];
  }
}

/* Llama 3.1: wavelengths below L/high are kept, above L/low divided, between blended linearly in L/wavelength. With
 * low = high there is no between. */
static void blend_by_wavelength(const rope_scaling *scaling, double *inv_freq) {
  double low = scaling->low_freq_factor;
  double high = scaling->high_freq_factor;
  for (size_t i = 0; i < scaling->n_pairs; i++) {
    double wavelength = two_pi / inv_freq[i];
    if (wavelength > scaling->original_length / low) {
      inv_freq[i] /= scaling->factor;
    } else if (wavelength >= scaling->original_length / high && high > low) {
      double kept = (scaling->original_length / wavelength - low) / (high - low);
      inv_freq[i] = (1 - kept) * inv_freq[i] / scaling->factor + kept * inv_freq[i];
    }
  }
}

void rope_inv_freq(const rope_scaling *scaling, double seq_len, double *inv_freq) {
  rope_inv_freq_unscaled(scaling, inv_freq);
  switch (scaling->kind) {
  case ROPE_SCALING_LINEAR:
    for (size_t i = 0; i < scaling->n_pairs; i++) {
      inv_freq[i] /= scaling->factor;
    }
    break;
  case ROPE_SCALING_NTK:
    powers_of_base(raised_base(scaling, scaling->factor), scaling->n_pairs, inv_freq);
    break;
  case ROPE_SCALING_DYNAMIC:
    powers_of_base(raised_base(scaling, dynamic_stretch(scaling, seq_len)), scaling->n_pairs, inv_freq);
    break;
  case ROPE_SCALING_YARN:
    if (scaling->ramp == ROPE_RAMP_CODE) {
      blend_by_index(scaling, inv_freq);
    } else {
      blend_by_turns(scaling, inv_freq);
    }
    break;
  case ROPE_SCALING_LONGROPE: {
    /* Strictly above the original length: a call of exactly L tokens is still a short one. */
    const double *divisor = seq_len > scaling->original_length ? scaling->long_factor : scaling->short_factor;
    for (size_t i = 0; i < scaling->n_pairs; i++) {
      inv_freq[i] /= divisor[i];
    }
    break;
  }
  case ROPE_SCALING_LLAMA3:
    blend_by_wavelength(scaling, inv_freq);
    break;
  case ROPE_SCALING_PROPORTIONAL:
    for (size_t i = 0; i < scaling->n_pairs; i++) {
      inv_freq[i] = i < scaling->n_turned ? inv_freq[i] / scaling->factor : 0;
    }
    break;
  default:
    break;
  }
}

double rope_yarn_magnitude(double factor, double mscale) {
  return factor > 1 ? 0.1 * mscale * log(factor) + 1 : 1;
}

double rope_longrope_magnitude(double factor, double original_length) {
  return factor > 1 ? sqrt(1 + log(factor) / log(original_length)) : 1;
}
