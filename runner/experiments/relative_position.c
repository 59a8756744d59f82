/* Does the score depend on m - n only? Logits of equal tokens, so that content is the same everywhere: S must be
 * constant along its diagonals, and must not change when all positions move on. */
#include "experiments/relative_position.h"
#include "experiments/angles.h"
#include "experiments/certificate.h"
#include "experiments/common.h"
#include "experiments/experiments.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct key_spec keys[] = {
    {.key = "length",
     .doc = "number of equal tokens: the first token of the input, repeated",
     .type = KEY_INT,
     .min = 2,
     .max = 4096,
     .fallback = "32"},
    {.key = "shifts",
     .doc = "how far all positions are moved on, in tokens",
     .type = KEY_REAL_LIST,
     .min = -1e9,
     .max = 1e9,
     .fallback = "[1, 16, 96, 256, 1024, 4096, 16384, 65536, 1000000]",
     .list_min = 1,
     .list_max = 1000},
    {.key = "stages",
     .doc = "the certificate: what is rounded, one after the other; [] leaves the certificate out",
     .type = KEY_CHOICE_LIST,
     .fallback = "[position, frequency, angle, table, product, output, accumulation, two_rotations, "
                 "position_and_frequency, table_and_product, all]",
     .choices = certificate_stage_names},
    {.key = "dtypes",
     .doc = "the formats that a stage of the certificate is rounded to",
     .type = KEY_CHOICE_LIST,
     .fallback = "[float64, float32, bfloat16, float16]",
     .choices = number_format_names},
    {.key = "samples",
     .doc = "pairs of Gaussian queries and keys (of the model's head_dim) behind each error of the certificate",
     .type = KEY_INT,
     .min = 1,
     .max = 4096,
     .fallback = "16"},
    {.key = "distances",
     .doc = "the certificate's queries stand 0, 1, ... from their key: how many",
     .type = KEY_INT,
     .min = 2,
     .max = 4096,
     .fallback = "64"},
    {.key = "tolerance",
     .doc = "the longest position of the certificate: rms error up to this share of the logits' standard deviation",
     .type = KEY_REAL,
     .min = 0,
     .max = 1,
     .fallback = "1e-3"},
    KEY_SAVE_SPEC,
};
static const struct key_table table = {"relative_position", "scores of equal tokens against position", keys,
                                       sizeof keys / sizeof *keys};

/* Which channels of a row a rounding error may reach from one to another: group [width] of each channel; how many.
 * Pairs that are turned together where the scheme tells them; each channel by itself where rows are left alone; else
 * all. */
static int group_channels(const struct instance *scheme, double seq_len, size_t width, size_t *group, size_t *count,
                          struct error *err) {
  struct angles angles;
  bool found;
  uint32_t sites = instance_sites(scheme);
  bool untouched = !(sites & (PE_SITE_QK | PE_SITE_EMBED));
  int status = angles_of(scheme, seq_len, &angles, &found, err);
  bool pairs = !status && found && sites == PE_SITE_QK && angles_fit(&angles, width);
  *count = untouched || pairs ? width : 1;
  for (size_t channel = 0; channel < width; channel++) {
    group[channel] = untouched || pairs ? channel : 0;
  }
  for (size_t i = 0; pairs && i < angles.n_pairs; i++) {
    group[angles.channel[2 * i + 1]] = angles.channel[2 * i];
  }
  angles_free(&angles);
  return status;
}

/* out [rows][groups] = Euclidean norms of the groups of x [rows][width]. */
static void group_norms(const float *x, size_t rows, size_t width, const size_t *group, size_t groups, double *out) {
  memset(out, 0, rows * groups * sizeof *out);
  for (size_t row = 0; row < rows; row++) {
    for (size_t i = 0; i < width; i++) {
      double value = x[row * width + i];
      out[row * groups + group[i]] += value * value;
    }
  }
  for (size_t i = 0; i < rows * groups; i++) {
    out[i] = sqrt(out[i]);
  }
}

/* Largest over heads, queries and keys of the sum over groups of |q| |k|. */
static double largest_size(const struct encoded *e, const double *q, const double *k, size_t groups) {
  size_t share = e->n_heads / e->n_kv_heads;
  double most = 0;
  for (size_t head = 0; head < e->n_heads; head++) {
    const double *of_head = k + head / share * e->n * groups;
    for (size_t i = 0; i < e->n * e->n; i++) {
      const double *query = q + (head * e->n + i / e->n) * groups, *key = of_head + i % e->n * groups;
      double sum = 0;
      for (size_t g = 0; g < groups; g++) {
        sum += query[g] * key[g];
      }
      most = fmax(most, sum);
    }
  }
  return most;
}

static int measure_size(const struct instance *scheme, const struct encoded *e, double *size, struct error *err) {
  size_t groups = 1;
  size_t *group = memory_new(e->width, sizeof *group, "channels", err);
  int status = group ? group_channels(scheme, e->seq_len, e->width, group, &groups, err) : (int)err->code;
  double *q = status ? NULL : memory_new_3d(e->n_heads, e->n, groups * sizeof *q, 1, "norms", err);
  double *k = q ? memory_new_3d(e->n_kv_heads, e->n, groups * sizeof *k, 1, "norms", err) : NULL;
  if (k) {
    group_norms(e->q, e->n_heads * e->n, e->width, group, groups, q);
    group_norms(e->k, e->n_kv_heads * e->n, e->width, group, groups, k);
    *size = largest_size(e, q, k, groups);
  }
  status = k ? 0 : (int)err->code;
  free(group);
  free(q);
  free(k);
  return status;
}

/* Logits [heads][n][n] of n tokens 0 at positions offset .. offset + n - 1, no mask; to be freed. *bound: rounding of q
 * and k to float32 (a rotation: two products and a sum, three roundings each side) and of the product's accumulation,
 * (width + 8) eps scale |q| |k| (Higham 2002, section 3.1), the norms taken over channels that a rotation mixes, plus
 * that of adding a bias. */
static float *logits_at(const struct experiment_context *context, size_t n, const size_t *index, double offset,
                        double *bound, struct error *err) {
  struct sequence sequence = {.n = n, .index = index, .offset = offset};
  struct encoded e;
  if (encode_sequence(context, context->scheme, &sequence, &e, err)) {
    return NULL;
  }
  float *logits = memory_new_3d(e.n_heads, n, n, sizeof *logits, "logits", err);
  struct attention_output output = {.logits = logits};
  double size = 0;
  if (logits &&
      (attend(context, context->scheme, &e, 0, false, &output, err) || measure_size(context->scheme, &e, &size, err))) {
    free(logits);
    logits = NULL;
  }
  if (logits) {
    double scale = context->model->scale_is_trained
                       ? context->model->score_scale
                       : instance_score_scale(context->scheme, context->model->score_scale);
    double largest = 0;
    for (size_t i = 0; i < e.n_heads * n * n; i++) {
      largest = fmax(largest, fabs((double)logits[i]));
    }
    *bound = (double)FLT_EPSILON / 2 * (((double)e.width + 8) * scale * size + 2 * largest);
  }
  encoded_free(&e);
  return logits;
}

/* ||S - diagonal means||_F / ||S||_F of one head; `centred`: with the mean of the whole matrix removed first, 0 where
 * nothing depends on position (a spread within `bound`). */
static double toeplitz_residual(const float *s, size_t n, bool centred, double bound) {
  double total = 0;
  for (size_t i = 0; i < n * n; i++) {
    total += (double)s[i];
  }
  double centre = centred ? total / (double)(n * n) : 0;
  double off = 0;
  double norm = 0;
  double spread = 0;
  for (size_t d = 0; d < 2 * n - 1; d++) {
    size_t row = d < n ? n - 1 - d : 0;
    size_t column = d < n ? 0 : d - (n - 1);
    size_t length = n - (row > column ? row : column);
    double mean_of_diagonal = 0;
    for (size_t i = 0; i < length; i++) {
      mean_of_diagonal += (double)s[(row + i) * n + column + i] / (double)length;
    }
    for (size_t i = 0; i < length; i++) {
      double value = (double)s[(row + i) * n + column + i];
      off += (value - mean_of_diagonal) * (value - mean_of_diagonal);
      norm += (value - centre) * (value - centre);
      spread = fmax(spread, fabs(value - total / (double)(n * n)));
    }
  }
  if (norm == 0 || (centred && spread <= bound)) {
    return 0;
  }
  return sqrt(off / norm);
}

static double *add_per_head(struct record *record, const struct model *model, const char *name, const char *long_name,
                            struct error *err) {
  struct tensor *tensor = record_add(
      record,
      &(struct tensor_spec){
          .name = name, .element = ELEMENT_F64, .rank = 1, .axis = {axis_head(model)}, .long_name = long_name},
      err);
  return tensor ? tensor->data : NULL;
}

static int measure_toeplitz(const struct experiment_context *context, const float *logits, size_t n, double bound,
                            bool evenly_spaced, struct record *record, struct error *err) {
  const struct model *model = context->model;
  double *plain = add_per_head(record, model, "toeplitz_residual", "||S - diagonal means|| / ||S||, equal tokens", err);
  double *centred =
      plain ? add_per_head(record, model, "toeplitz_residual_centred", "the same with the mean of S removed first", err)
            : NULL;
  double *limit =
      centred ? add_per_head(record, model, "toeplitz_bound", "what rounding alone may leave of it", err) : NULL;
  double *spread = limit ? add_per_head(record, model, "logit_spread", "largest |S - mean of S|", err) : NULL;
  if (!spread) {
    return err->code;
  }
  for (size_t head = 0; head < model->n_heads; head++) {
    const float *s = logits + head * n * n;
    plain[head] = evenly_spaced ? toeplitz_residual(s, n, false, bound) : NAN;
    centred[head] = evenly_spaced ? toeplitz_residual(s, n, true, bound) : NAN;
    double total = 0;
    for (size_t i = 0; i < n * n; i++) {
      total += (double)s[i];
    }
    spread[head] = 0;
    double square = 0;
    for (size_t i = 0; i < n * n; i++) {
      double off = (double)s[i] - total / (double)(n * n);
      spread[head] = fmax(spread[head], fabs(off));
      square += off * off;
    }
    /* Every entry off by at most `bound`: ||S - T|| <= n bound. */
    limit[head] = square > 0 ? fmin((double)n * bound / sqrt(square), 1) : 1;
  }
  return 0;
}

struct axis_spec axis_of_shifts(const struct experiment_context *context) {
  const struct key_value *shifts = section_get(context->entry->keys, "shifts");
  bool positive = true;
  for (size_t i = 0; i < shifts->count; i++) {
    positive = positive && shifts->list[i] > 0;
  }
  return (struct axis_spec){.name = "shift",
                            .length = shifts->count,
                            .values = shifts->list,
                            .real = true,
                            .log_values = positive,
                            .long_name = "shift of all positions",
                            .units = "tokens"};
}

/* shift_error [shift] and the rounding bound beside it; NaN where the scheme is undefined. */
static int measure_shifts(const struct experiment_context *context, const float *still, size_t n, const size_t *index,
                          double still_bound, struct record *record, struct error *err) {
  const struct key_value *shifts = section_get(context->entry->keys, "shifts");
  struct axis_spec axis = axis_of_shifts(context);
  struct tensor *error_tensor =
      record_add(record,
                 &(struct tensor_spec){.name = "shift_error",
                                       .element = ELEMENT_F64,
                                       .rank = 1,
                                       .axis = {axis},
                                       .long_name = "max |S(positions + shift) - S(positions)|",
                                       .log_values = true},
                 err);
  double *out = error_tensor ? error_tensor->data : NULL;
  struct tensor *bound_tensor = out ? record_add(record,
                                                 &(struct tensor_spec){.name = "rounding_bound",
                                                                       .element = ELEMENT_F64,
                                                                       .rank = 1,
                                                                       .axis = {axis},
                                                                       .long_name = "how far rounding alone may move S",
                                                                       .log_values = true},
                                                 err)
                                    : NULL;
  if (!bound_tensor) {
    return err->code;
  }
  double *bounds = bound_tensor->data;
  for (size_t i = 0; i < shifts->count; i++) {
    double bound = 0;
    float *moved = logits_at(context, n, index, shifts->list[i], &bound, err);
    if (!moved && err->code == ERROR_UNDEFINED) {
      continue;
    }
    if (!moved) {
      return err->code;
    }
    out[i] = 0;
    for (size_t e = 0; e < context->model->n_heads * n * n; e++) {
      out[i] = fmax(out[i], fabs((double)moved[e] - (double)still[e]));
    }
    bounds[i] = bound + still_bound;
    free(moved);
    if (context->progress) {
      context->progress(context->progress_context, (double)(i + 1) / (double)shifts->count, NULL);
    }
  }
  return 0;
}

static int run(const struct experiment_context *context, struct record *record, struct error *err) {
  size_t n = (size_t)section_get(context->entry->keys, "length")->integer;
  size_t *index = memory_new(n, sizeof *index, "token index", err); /* all 0: the first token, repeated */
  if (!index) {
    return err->code;
  }
  double bound = 0;
  float *logits = logits_at(context, n, index, 0, &bound, err);
  /* Diagonals mean equal distances only where positions are evenly spaced. */
  int status = logits ? 0 : (int)err->code;
  if (!status) {
    status = measure_toeplitz(context, logits, n, bound, model_positions_are_default(context->model), record, err);
  }
  if (!status) {
    status = measure_shifts(context, logits, n, index, bound, record, err);
  }
  status = status ? status : measure_shift_map(context, record, err);
  status = status ? status : measure_certificate(context, record, err);
  if (!status) {
    status = save_tensors(context, section_get(context->entry->keys, "save"), 0, n, false, record, err);
  }
  free(logits);
  free(index);
  return status;
}

const struct experiment experiment_relative_position = {
    .info = {"relative_position", "Does the score depend on the distance alone?", &table, true, false},
    .run = run,
    .conclude = conclude_relative_position,
};
