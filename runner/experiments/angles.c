#include "experiments/angles.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const angle_stage_names[] = {"position", "frequency", "angle", "table", "product", "output", NULL};

/* A derived value as whole numbers. NULL with *err, or where the scheme has none (then err->code is ERROR_NONE). */
static size_t *derived_indices(const struct instance *instance, double seq_len, const char *name, size_t count,
                               struct error *err) {
  pe_derived value;
  double *data;
  if (instance_derived_named(instance, seq_len, name, &value, &data, err) || !data) {
    return NULL;
  }
  size_t *indices = memory_new(count, sizeof *indices, name, err);
  if (indices && value.dim[0] * (value.rank == 2 ? value.dim[1] : 1) != count) {
    error_set(err, ERROR_SCHEME_FAILED, "%s does not go with inv_freq: %zu x %zu elements", name, value.dim[0],
              value.dim[1]);
    free(indices);
    indices = NULL;
  }
  for (size_t i = 0; indices && i < count; i++) {
    indices[i] = (size_t)data[i];
  }
  free(data);
  return indices;
}

static int read_frequencies(const struct instance *instance, double seq_len, struct angles *angles, struct error *err) {
  pe_derived value;
  int status = instance_derived_named(instance, seq_len, "inv_freq", &value, &angles->inv_freq, err);
  if (status || !angles->inv_freq) {
    return status;
  }
  angles->n_pairs = value.dim[0];
  status = instance_derived_named(instance, seq_len, "inv_freq_unscaled", &value, &angles->unscaled, err);
  if (!status && (!angles->unscaled || value.dim[0] != angles->n_pairs)) {
    free(angles->unscaled);
    angles->unscaled = memory_new(angles->n_pairs, sizeof *angles->unscaled, "frequencies", err);
    status = angles->unscaled ? 0 : (int)err->code;
    if (!status) {
      memcpy(angles->unscaled, angles->inv_freq, angles->n_pairs * sizeof *angles->unscaled);
    }
  }
  return status;
}

static int read_factor(const struct instance *instance, double seq_len, struct angles *angles, struct error *err) {
  pe_derived value;
  double *factor;
  int status = instance_derived_named(instance, seq_len, "attention_factor", &value, &factor, err);
  angles->factor = !status && factor ? factor[0] : 1;
  free(factor);
  return status;
}

int angles_of(const struct instance *instance, double seq_len, struct angles *angles, bool *found, struct error *err) {
  *angles = (struct angles){0};
  *found = false;
  *err = (struct error){0};
  int status = read_frequencies(instance, seq_len, angles, err);
  if (!status && angles->inv_freq) {
    angles->channel = derived_indices(instance, seq_len, "pairs", 2 * angles->n_pairs, err);
    status = (int)err->code;
  }
  if (!status && angles->channel) {
    angles->axis = derived_indices(instance, seq_len, "pair_axis", angles->n_pairs, err);
    status = (int)err->code;
    if (!status && !angles->axis) {
      angles->axis = memory_new(angles->n_pairs, sizeof *angles->axis, "axes of pairs", err);
      status = angles->axis ? 0 : (int)err->code;
    }
    status = status ? status : read_factor(instance, seq_len, angles, err);
    *found = !status;
  }
  if (!*found) {
    angles_free(angles);
  }
  return status;
}

void angles_free(struct angles *angles) {
  free(angles->inv_freq);
  free(angles->unscaled);
  free(angles->channel);
  free(angles->axis);
  *angles = (struct angles){0};
}

bool angles_are_all(const struct instance *instance, double seq_len) {
  struct error ignored = {0};
  pe_derived value;
  double *zeta = NULL;
  bool scales = !instance_derived_named(instance, seq_len, "zeta", &value, &zeta, &ignored) && zeta;
  free(zeta);
  return !scales && instance_sites(instance) == PE_SITE_QK;
}

bool angles_fit(const struct angles *angles, size_t width) {
  for (size_t i = 0; i < 2 * angles->n_pairs; i++) {
    if (angles->channel[i] >= width) {
      return false;
    }
  }
  return true;
}

void angles_table(const struct angles *angles, const struct angle_rounding *rounding, const double *position,
                  double *cosine, double *sine) {
  const enum number_format *format = rounding->format;
  for (size_t i = 0; i < angles->n_pairs; i++) {
    double at = round_to_format(position[angles->axis[i]], format[STAGE_POSITION]);
    double frequency = round_to_format(angles->inv_freq[i], format[STAGE_FREQUENCY]);
    double angle = round_to_format(at * frequency, format[STAGE_ANGLE]);
    cosine[i] = angles->factor * cos(angle);
    sine[i] = angles->factor * sin(angle);
  }
  round_row(cosine, angles->n_pairs, format[STAGE_TABLE]);
  round_row(sine, angles->n_pairs, format[STAGE_TABLE]);
}

void angles_turn(const struct angles *angles, const struct angle_rounding *rounding, const double *cosine,
                 const double *sine, size_t width, const float *in, double *out) {
  for (size_t c = 0; c < width; c++) {
    out[c] = in[c];
  }
  angles_turn_row(angles, rounding, cosine, sine, width, out);
}

void angles_turn_row(const struct angles *angles, const struct angle_rounding *rounding, const double *cosine,
                     const double *sine, size_t width, double *row) {
  enum { AT_ONCE = 16 };
  double products[4 * AT_ONCE];
  for (size_t first = 0; first < angles->n_pairs; first += AT_ONCE) {
    size_t count = angles->n_pairs - first < AT_ONCE ? angles->n_pairs - first : AT_ONCE;
    const size_t *channel = angles->channel + 2 * first;
    for (size_t i = 0; i < count; i++) {
      double a = row[channel[2 * i]], b = row[channel[2 * i + 1]];
      products[4 * i] = a * cosine[first + i];
      products[4 * i + 1] = b * sine[first + i];
      products[4 * i + 2] = b * cosine[first + i];
      products[4 * i + 3] = a * sine[first + i];
    }
    round_row(products, 4 * count, rounding->format[STAGE_PRODUCT]);
    for (size_t i = 0; i < count; i++) {
      row[channel[2 * i]] = products[4 * i] - products[4 * i + 1];
      row[channel[2 * i + 1]] = products[4 * i + 2] + products[4 * i + 3];
    }
  }
  round_row(row, width, rounding->format[STAGE_OUTPUT]);
}

void angles_sinusoid(const struct angles *angles, const struct angle_rounding *rounding, const double *cosine,
                     const double *sine, size_t width, double *out) {
  memset(out, 0, width * sizeof *out);
  for (size_t i = 0; i < angles->n_pairs; i++) {
    out[angles->channel[2 * i]] = sine[i];
    out[angles->channel[2 * i + 1]] = cosine[i];
  }
  round_row(out, width, rounding->format[STAGE_OUTPUT]);
}
