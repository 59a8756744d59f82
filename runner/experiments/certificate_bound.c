/* How far a score can be off when stages are rounded. Worst case of every single rounding (relative error u, or half
 * the spacing of subnormal numbers), Higham 2002, chapters 2 and 3.
 *
 * A pair of channels of sizes a and b contributes a b cos(phase) f^2: an angle that is off by e moves it by at most
 * a b f^2 min(2, e), rows that are off by rho of their size by a b f^2 ((1 + rho)^2 - 1), a sum of n terms that is
 * stored n times by ((1 + u)^n - 1) times the sum of sizes.
 */
#include "experiments/certificate_parts.h"

#include <float.h>
#include <math.h>

static const double u64 = DBL_EPSILON / 2;

/* Unit roundoff, and half the spacing of subnormal numbers; 0 where nothing is rounded. */
static double roundoff(enum number_format format) {
  return format == FORMAT_FLOAT64 ? 0 : format_epsilon(format) / 2;
}

static double underflow(enum number_format format) {
  return format == FORMAT_FLOAT64 ? 0 : format_smallest(format) / 2;
}

/* Relative error of a row, and the absolute one of each channel. */
static void row_errors(const struct stage_formats *formats, double factor, double *relative, double *absolute) {
  const enum number_format *format = formats->rows.format;
  double table = roundoff(format[STAGE_TABLE]) + sqrt(2) * underflow(format[STAGE_TABLE]) / factor;
  double size = (1 + table + 8 * u64) * (1 + sqrt(2) * roundoff(format[STAGE_PRODUCT]));
  size *= 1 + roundoff(format[STAGE_OUTPUT]);
  *absolute = 2 * underflow(format[STAGE_PRODUCT]) + underflow(format[STAGE_OUTPUT]);
  if (formats->twice) {
    size *= (1 + roundoff(format[STAGE_OUTPUT])) * (1 + 8 * u64);
    *absolute += sqrt(2) * underflow(format[STAGE_OUTPUT]);
  }
  *relative = size - 1;
}

static double summing_error(const struct certificate *c, enum number_format format) {
  double n = (double)c->width + 1;
  return expm1(n * log1p(roundoff(format))) + n * u64;
}

/* How far the angle between the rows at places 0 and d may be off, per pair, 2 at most (what a turn can do to a unit);
 * `frequency`: with what the frequency's own rounding does, which is the same at every shift. */
static void angle_errors(const struct certificate *c, const struct scene *scene, const struct stage_formats *formats,
                         size_t d, bool frequency, double *all, double *growing) {
  const enum number_format *format = formats->rows.format;
  double u = roundoff(format[STAGE_ANGLE]), tiny = underflow(format[STAGE_ANGLE]);
  for (size_t i = 0; i < scene->angles.n_pairs; i++) {
    double n = scene->mapped[scene->angles.axis[i]], m = scene->mapped[d * c->axes + scene->angles.axis[i]];
    double n_told = round_to_format(n, format[STAGE_POSITION]), m_told = round_to_format(m, format[STAGE_POSITION]);
    double w = scene->angles.inv_freq[i], w_told = round_to_format(w, format[STAGE_FREQUENCY]);
    double told = fabs(w_told) * (fabs(m_told) + fabs(n_told));
    growing[i] = fabs(w_told) * (fabs(m_told - m) + fabs(n_told - n)) + u * told +
                 4 * u64 * (told + fabs(w) * (fabs(m) + fabs(n)));
    if (formats->twice) { /* the first turn is made with the frequencies of the shorter sequence */
      double first =
          fabs(c->still.mapped[scene->angles.axis[i]]) + fabs(c->still.mapped[d * c->axes + scene->angles.axis[i]]);
      growing[i] += first * fabs(w - c->still.angles.inv_freq[i]);
    }
    all[i] = fmin(2, growing[i] + 2 * tiny + (frequency ? fabs(m - n) * fabs(w_told - w) : 0));
    growing[i] = fmin(2, growing[i]);
  }
}

/* Sums over the pairs of size times error, of samples first .. first + AT_ONCE - 1: chains of additions beside each
 * other overlap. */
enum { AT_ONCE = 4 };

static void angle_sums(const struct certificate *c, size_t first, size_t pairs, double all[AT_ONCE],
                       double growing[AT_ONCE]) {
  const double *sizes[AT_ONCE];
  for (size_t s = 0; s < AT_ONCE; s++) {
    sizes[s] = c->pair_sizes + (first + s < c->samples ? first + s : first) * pairs;
    all[s] = growing[s] = 0;
  }
  for (size_t i = 0; i < pairs; i++) {
    for (size_t s = 0; s < AT_ONCE; s++) {
      all[s] += sizes[s][i] * c->angle_error[i];
      growing[s] += sizes[s][i] * c->growing_error[i];
    }
  }
}

/* out [samples][distances] for a scheme of angles; the part that grows with position. */
static double redone_bound(struct certificate *c, const struct scene *scene, const struct stage_formats *formats,
                           bool frequency, double *out) {
  size_t n = c->setting.distances, pairs = scene->angles.n_pairs;
  double factor = scene->angles.factor, square = factor * factor, relative, absolute, most = 0;
  row_errors(formats, factor, &relative, &absolute);
  double rows = (1 + relative) * (1 + relative), summing = summing_error(c, formats->accumulation);
  double all[AT_ONCE], grown[AT_ONCE];
  for (size_t d = 0; d < n; d++) {
    angle_errors(c, scene, formats, d, frequency, c->angle_error, c->growing_error);
    for (size_t s = 0; s < c->samples; s++) {
      if (s % AT_ONCE == 0) {
        angle_sums(c, s, pairs, all, grown);
      }
      double off = all[s % AT_ONCE], growing = grown[s % AT_ONCE];
      double size = square * c->turned[s] + c->unturned[s];
      double each = absolute * (c->sums[s] * fmax(1, factor) * (1 + relative) + absolute * (double)c->width);
      double bound = rows * square * off + (rows - 1) * size + each + summing * (rows * size + each) +
                     (double)c->width * underflow(formats->accumulation);
      out[s * n + d] = c->scale * bound;
      most = fmax(most, c->scale * rows * square * growing);
    }
  }
  return most;
}

/* What positions that are told rounded can do: nothing where they stay what they are or nobody looks, slopes where the
 * scheme tells them; else it is not known. */
static double position_term(const struct certificate *c, const struct scene *scene, enum number_format format,
                            size_t sample, size_t d) {
  double off = 0;
  for (size_t axis = 0; axis < c->axes; axis++) {
    double n = scene->mapped[axis], m = scene->mapped[d * c->axes + axis];
    off += fabs(round_to_format(m, format) - m) + fabs(round_to_format(n, format) - n);
  }
  if (off == 0 || !c->sites) {
    return 0;
  }
  /* The plugin's own float32 bias is rounded twice: at the told positions and at the real ones. */
  return c->slopes ? fabs(c->slopes[sample % c->setting.n_heads]) * off * (1 + FLT_EPSILON) +
                         FLT_EPSILON * fabs(scene->bias[sample * c->setting.distances + d])
                   : NAN;
}

/* The same for a scheme as it is. */
static double as_it_is_bound(struct certificate *c, const struct scene *scene, const struct stage_formats *formats,
                             double *out) {
  const enum number_format *format = formats->rows.format;
  size_t n = c->setting.distances;
  uint32_t sites = c->sites;
  double u = roundoff(format[STAGE_OUTPUT]), tiny = underflow(format[STAGE_OUTPUT]);
  bool rows_are_stored = sites & (PE_SITE_QK | PE_SITE_EMBED), bias_is_stored = sites & PE_SITE_BIAS;
  double rows = rows_are_stored ? (1 + u) * (1 + u) - 1 : 0;
  double summing = summing_error(c, formats->accumulation), most = 0;
  for (size_t s = 0; s < c->samples; s++) {
    for (size_t d = 0; d < n; d++) {
      size_t at = s * n + d;
      double size = c->scale * scene->size[at], bias = fabs(scene->bias[at]);
      double position = position_term(c, scene, format[STAGE_POSITION], s, d);
      double stored = rows * size + (bias_is_stored ? u * bias + tiny : 0);
      if (rows_are_stored && tiny > 0) {
        stored += c->scale * tiny * (scene->reach[at] + tiny * (double)c->width);
      }
      double term = (double)(c->width + 1) * underflow(formats->accumulation) * fmax(1, c->scale);
      out[at] = position + stored + summing * (size + bias + stored) + term;
      most = isnan(position) || isnan(most) ? NAN : fmax(most, position);
    }
  }
  return most;
}

static double bound_of(struct certificate *c, const struct scene *scene, const struct stage_formats *formats,
                       bool frequency, double *out) {
  return c->way == CERTIFICATE_AS_IT_IS ? as_it_is_bound(c, scene, formats, out)
                                        : redone_bound(c, scene, formats, frequency, out);
}

static bool same_frequencies(const struct certificate *c) {
  for (size_t i = 0; i < c->moved.angles.n_pairs; i++) {
    if (c->moved.angles.inv_freq[i] != c->still.angles.inv_freq[i]) {
      return false;
    }
  }
  return true;
}

double certificate_bounds(struct certificate *c, const struct stage_formats *formats) {
  size_t count = c->samples * c->setting.distances;
  /* A rounded frequency turns both rows alike: the score is wrong, and wrong in the same way at every shift. */
  bool rounded = formats->rows.format[STAGE_FREQUENCY] != FORMAT_FLOAT64;
  bool frequency = rounded && !same_frequencies(c);
  bound_of(c, &c->still, formats, frequency, c->drift_bound);
  double growing = bound_of(c, &c->moved, formats, frequency, c->fidelity_bound);
  for (size_t i = 0; i < count; i++) {
    c->drift_bound[i] += c->fidelity_bound[i] + fabs(c->moved.score[i] - c->still.score[i]);
  }
  return rounded ? bound_of(c, &c->moved, formats, true, c->fidelity_bound) : growing;
}
