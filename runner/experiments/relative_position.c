/* Does the score depend on m - n only? Logits of equal tokens, so that content is the same everywhere: S must be
 * constant along its diagonals, and must not change when all positions move on. */
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
    KEY_SAVE_SPEC,
};
static const struct key_table table = {"relative_position", "scores of equal tokens against position", keys,
                                       sizeof keys / sizeof *keys};

/* Largest Euclidean norm of the rows of x [rows][width]. */
static double largest_norm(const float *x, size_t rows, size_t width) {
  double largest = 0;
  for (size_t row = 0; row < rows; row++) {
    double sum = 0;
    for (size_t i = 0; i < width; i++) {
      sum += (double)x[row * width + i] * (double)x[row * width + i];
    }
    largest = fmax(largest, sqrt(sum));
  }
  return largest;
}

/* Logits [heads][n][n] of n tokens 0 at positions offset .. offset + n - 1, no mask; to be freed. *bound: rounding of q
 * and k to float32 (a rotation: two products and a sum, three roundings each side) and of the product's accumulation,
 * (width + 8) eps scale |q| |k| (Higham 2002, section 3.1), plus that of adding a bias. */
static float *logits_at(const struct experiment_context *context, size_t n, const size_t *index, double offset,
                        double *bound, struct error *err) {
  struct sequence sequence = {.n = n, .index = index, .offset = offset};
  struct encoded e;
  if (encode_sequence(context, context->scheme, &sequence, &e, err)) {
    return NULL;
  }
  float *logits = memory_new_3d(e.n_heads, n, n, sizeof *logits, "logits", err);
  struct attention_output output = {.logits = logits};
  if (logits && attend(context, context->scheme, &e, 0, false, &output, err)) {
    free(logits);
    logits = NULL;
  }
  if (logits) {
    double scale = context->model->scale_is_trained
                       ? context->model->score_scale
                       : instance_score_scale(context->scheme, context->model->score_scale);
    double size = scale * largest_norm(e.q, e.n_heads * n, e.width) * largest_norm(e.k, e.n_kv_heads * n, e.width);
    double largest = 0;
    for (size_t i = 0; i < e.n_heads * n * n; i++) {
      largest = fmax(largest, fabs((double)logits[i]));
    }
    *bound = (double)FLT_EPSILON / 2 * (((double)e.width + 8) * size + 2 * largest);
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

/* shift_error [shift] and the rounding bound beside it; NaN where the scheme is undefined. */
static int measure_shifts(const struct experiment_context *context, const float *still, size_t n, const size_t *index,
                          double still_bound, struct record *record, struct error *err) {
  const struct key_value *shifts = section_get(context->entry->keys, "shifts");
  struct axis_spec axis = {.name = "shift",
                           .length = shifts->count,
                           .values = shifts->list,
                           .real = true,
                           .log_values = true,
                           .long_name = "shift of all positions",
                           .units = "tokens"};
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
      context->progress(context->progress_context, (double)(i + 1) / (double)shifts->count);
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
  if (!status) {
    status = save_tensors(context, section_get(context->entry->keys, "save"), 0, n, false, record, err);
  }
  free(logits);
  free(index);
  return status;
}

/* ---- conclusion ---------------------------------------------------------------------------------------------------
 */

struct summary {
  double worst_error;   /* largest shift error where defined */
  double worst_bound;   /* the bound at that shift */
  double largest_ratio; /* error over bound */
  double spread;
  size_t undefined; /* shifts without a value */
  double residual;  /* largest centred residual */
  bool toeplitz;    /* every head's residual is within its bound */
};

static double largest(const double *values, size_t count) {
  double top = 0;
  for (size_t i = 0; i < count; i++) {
    top = fmax(top, values[i]);
  }
  return top;
}

static int summarise(const struct record *record, double **shift_error, size_t *n_shifts, struct summary *out,
                     struct error *err) {
  size_t heads;
  *out = (struct summary){0};
  double *bounds = measure(record, "rounding_bound", n_shifts, err);
  double *spread = bounds ? measure(record, "logit_spread", &heads, err) : NULL;
  double *residual = spread ? measure(record, "toeplitz_residual_centred", &heads, err) : NULL;
  double *limit = residual ? measure(record, "toeplitz_bound", &heads, err) : NULL;
  *shift_error = limit ? measure(record, "shift_error", n_shifts, err) : NULL;
  for (size_t i = 0; *shift_error && i < *n_shifts; i++) {
    double e = (*shift_error)[i];
    if (isnan(e)) {
      out->undefined++;
      continue;
    }
    if (e >= out->worst_error) {
      out->worst_error = e;
      out->worst_bound = bounds[i];
    }
    out->largest_ratio = fmax(out->largest_ratio, bounds[i] > 0 ? e / bounds[i] : (e > 0 ? INFINITY : 0));
  }
  if (*shift_error) {
    out->spread = largest(spread, heads);
    out->residual = largest(residual, heads);
    out->toeplitz = true;
    for (size_t head = 0; head < heads; head++) {
      out->toeplitz = out->toeplitz && !(residual[head] > limit[head]);
    }
  }
  free(limit);
  free(bounds);
  free(spread);
  free(residual);
  return *shift_error ? 0 : (int)err->code;
}

static const char *verdict(const struct summary *s, size_t n_shifts) {
  if (s->undefined == n_shifts) {
    return "undefined at every shift";
  }
  if (s->largest_ratio > 1 || !s->toeplitz) {
    return "does not hold: the score depends on where, not only on how far apart";
  }
  if (s->spread <= s->worst_bound) {
    return "trivially: no dependence on position at all";
  }
  return s->undefined ? "holds where it is defined" : "holds within rounding";
}

static int conclude_row(const struct plan_scheme *scheme, const struct record *record, struct table *rows,
                        struct record *comparison, struct error *err) {
  double *shift_error;
  size_t n_shifts;
  struct summary s;
  int status = summarise(record, &shift_error, &n_shifts, &s, err);
  if (!shift_error) {
    return status;
  }
  const char *claimed = !(scheme->info->sites)                     ? "no positions"
                        : scheme->info->traits & PE_TRAIT_RELATIVE ? "relative"
                                                                   : "not relative";
  status = table_text(rows, err, "%s", scheme->label);
  status = status ? status : table_text(rows, err, "%s", scheme_role_name(record_role(record)));
  status = status ? status : table_text(rows, err, "%s", claimed);
  status = status ? status : table_number(rows, s.residual, err);
  status = status ? status : table_number(rows, s.undefined == n_shifts ? NAN : s.worst_error, err);
  status = status ? status : table_number(rows, s.undefined == n_shifts ? NAN : s.worst_bound, err);
  status = status ? status : table_number(rows, s.spread, err);
  status = status ? status : table_text(rows, err, "%s", verdict(&s, n_shifts));
  const struct tensor *tensor = record_find(record, "shift_error");
  const struct axis *shift = &tensor->axis[tensor->rank - 1];
  struct axis_spec axis = axis_spec_of(shift);
  status = status ? status : comparison_add(comparison, scheme, record, &axis, shift_error, "shift error", "1", err);
  free(shift_error);
  return status;
}

static int conclude(const struct plan *plan, const struct plan_experiment *entry, const struct record *const *records,
                    struct conclusion *conclusion, struct error *err) {
  struct record *comparison =
      conclusion_add_comparison(conclusion, entry, NULL, "Score error against shift of all positions", err);
  struct table *rows = comparison ? conclusion_add_table(conclusion, err) : NULL;
  if (!rows || table_title(rows, err, "%s: does the score depend on the distance alone?", entry->label) ||
      table_column(rows, "scheme", "scheme", false, false, err) ||
      table_column(rows, "role", "role", false, false, err) ||
      table_column(rows, "claimed", "claimed", false, false, err) ||
      table_column(rows, "residual", "Toeplitz residual", true, false, err) ||
      table_column(rows, "shift_error", "largest shift error", true, false, err) ||
      table_column(rows, "bound", "rounding bound", true, false, err) ||
      table_column(rows, "spread", "logit spread", true, false, err) ||
      table_column(rows, "follows", "what follows", false, true, err)) {
    return err->code;
  }
  for (size_t s = 0; s < plan->n_schemes; s++) {
    if (!record_has_numbers(records[s]) || !record_find(records[s], "shift_error")) {
      continue;
    }
    int status = conclude_row(&plan->schemes[s], records[s], rows, comparison, err);
    if (status) {
      return status;
    }
  }
  return 0;
}

const struct experiment experiment_relative_position = {
    .info = {"relative_position", "Does the score depend on the distance alone?", &table, true, false},
    .run = run,
    .conclude = conclude,
};
