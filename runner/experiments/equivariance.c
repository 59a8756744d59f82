/* Does the scheme let attention see order? Attention without positions commutes with permutations, f(X_pi) = f(X)_pi
 * with (X_pi)[i] = X[pi[i]]; with positions it must not. f is the attention context per head, before the output
 * projection. */
#include "experiments/common.h"
#include "experiments/counterexample.h"
#include "experiments/experiments.h"
#include "experiments/permutations.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLED_PERMUTATIONS = 200, MOST_TOKENS = 512, MOST_SHOWN = 6 /* tokens of a counterexample */ };

enum { COUNTEREXAMPLE_SHORT, COUNTEREXAMPLE_FIRST, COUNTEREXAMPLE_FULL };
static const char *const counterexample_choices[] = {"short", "first", "full", NULL};

static const struct key_spec keys[] = {
    {.key = "mask",
     .doc = "attention masks to test under; auto: what the weights were trained with",
     .type = KEY_CHOICE_LIST,
     .flags = KEY_AUTO,
     .fallback = "[none, causal]",
     .choices = mask_names,
     .list_min = 1,
     .list_max = 2},
    {.key = "counterexample",
     .doc = "how counterexamples are printed: short cuts wide vectors at 8 channels, full does not, first does not for "
            "the first "
            "scheme with positions",
     .type = KEY_CHOICE,
     .fallback = "short",
     .choices = counterexample_choices},
    KEY_SAVE_SPEC,
};
static const struct key_table table = {"equivariance", "attention under permutations of its input", keys,
                                       sizeof keys / sizeof *keys};

/* Masks that attention is looked at under, and what comes out of it under each. */
enum { MOST_MASKS = 2 };

struct outputs {
  float *of[MOST_MASKS]; /* [heads][n][value] */
};

static void outputs_free(struct outputs *outputs) {
  for (size_t m = 0; m < MOST_MASKS; m++) {
    free(outputs->of[m]);
  }
  *outputs = (struct outputs){0};
}

/* The context of tokens index[0..n) at positions from 0 under each mask; on error *out is empty. */
static int contexts_of(const struct experiment_context *context, const size_t *index, size_t n, const int *masks,
                       size_t n_masks, struct outputs *out, struct error *err) {
  struct sequence sequence = {.n = n, .index = index};
  struct encoded encoded;
  *out = (struct outputs){0};
  int status = encode_sequence(context, context->scheme, &sequence, &encoded, err);
  if (status) {
    return status;
  }
  for (size_t m = 0; !status && m < n_masks; m++) {
    out->of[m] = memory_new_3d(encoded.n_heads, n, encoded.value_width, sizeof(float), "attention context", err);
    struct attention_output output = {.context = out->of[m]};
    status =
        output.context ? attend(context, context->scheme, &encoded, 0, masks[m] == 1, &output, err) : (int)err->code;
  }
  encoded_free(&encoded);
  if (status) {
    outputs_free(out);
  }
  return status;
}

/* max |f(X_pi) - f(X)_pi| over heads, channels and rows [first_row, n). */
static double deviation(const float *moved, const float *still, const uint32_t *permutation, size_t heads, size_t n,
                        size_t width, size_t first_row) {
  double largest = 0;
  for (size_t head = 0; head < heads; head++) {
    for (size_t row = first_row; row < n; row++) {
      const float *a = moved + (head * n + row) * width;
      const float *b = still + (head * n + permutation[row]) * width;
      for (size_t channel = 0; channel < width; channel++) {
        largest = fmax(largest, fabs((double)a[channel] - (double)b[channel]));
      }
    }
  }
  return largest;
}

/* out [n_masks][count]: deviation for every permutation; *size: the largest element of what is permuted, or what it
 * was.
 */
static int deviations(const struct experiment_context *context, const struct permutations *permutations,
                      const int *masks, size_t n_masks, bool last_row_only, double *out, double *size,
                      struct error *err) {
  size_t n = permutations->n, count = permutations->count;
  const struct model *model = context->model;
  size_t *index = memory_new(n, sizeof *index, "token index", err);
  if (!index) {
    return err->code;
  }
  for (size_t i = 0; i < n; i++) {
    index[i] = i;
  }
  struct outputs still, moved;
  int status = contexts_of(context, index, n, masks, n_masks, &still, err);
  for (size_t i = 0; !status && i < n_masks * model->n_heads * n * model->value_dim; i++) {
    size_t each = model->n_heads * n * model->value_dim;
    *size = fmax(*size, fabs((double)still.of[i / each][i % each]));
  }
  for (size_t p = 0; !status && p < count; p++) {
    const uint32_t *permutation = permutations->items + p * n;
    for (size_t i = 0; i < n; i++) {
      index[i] = permutation[i];
    }
    status = contexts_of(context, index, n, masks, n_masks, &moved, err);
    for (size_t m = 0; !status && m < n_masks; m++) {
      out[m * count + p] = deviation(moved.of[m], still.of[m], permutation, model->n_heads, n, model->value_dim,
                                     last_row_only ? n - 1 : 0);
    }
    outputs_free(&moved);
    if (!status && context->progress) {
      context->progress(context->progress_context, (double)(p + 1) / (double)count, NULL);
    }
  }
  outputs_free(&still);
  free(index);
  return status;
}

static int add_permutations(struct record *record, const char *name, const char *axis, const struct permutations *set,
                            struct error *err) {
  struct tensor *tensor = record_add(
      record,
      &(struct tensor_spec){.name = name,
                            .element = ELEMENT_I32,
                            .rank = 2,
                            .axis = {{.name = axis, .length = set->count}, {.name = "position", .length = set->n}},
                            .long_name = "row r: (X_pi)[i] = X[pi[i]]"},
      err);
  if (!tensor) {
    return err->code;
  }
  memcpy(tensor->data, set->items, tensor->count * sizeof(int32_t));
  return 0;
}

/* Rounding bound of the deviation: two float32 passes over the same sums in another order. gamma_n = n eps with n the
 * longest sum (Higham 2002, section 3.1), times the largest element, twice, with the softmax's few roundings. */
static double rounding_bound(const struct model *model, size_t n, double size) {
  double terms = (double)(model->d_model > model->head_dim ? model->d_model : model->head_dim) + (double)n + 16;
  return 2 * terms * (double)FLT_EPSILON * fmax(size, 1e-30);
}

/* survives, on the axes of `deviation`: which permutations stay within the bound. */
static int add_survivors(const struct tensor *deviation, double bound, struct record *record, struct error *err) {
  struct tensor_spec spec = {.name = "survives",
                             .element = ELEMENT_U8,
                             .rank = deviation->rank,
                             .long_name = "whether the permutation leaves attention as it is, to rounding"};
  for (unsigned a = 0; a < deviation->rank; a++) {
    spec.axis[a] = axis_spec_of(&deviation->axis[a]);
  }
  const double *values = deviation->data;
  struct tensor *survives = record_add(record, &spec, err);
  for (size_t i = 0; survives && i < survives->count; i++) {
    ((uint8_t *)survives->data)[i] = values[i] <= bound;
  }
  return survives ? tensor_set_flags(survives, "no yes", err) : (int)err->code;
}

static int measure_masks(const struct experiment_context *context, const struct permutations *permutations,
                         struct record *record, struct error *err) {
  int masks[MOST_MASKS];
  bool is_list;
  size_t n_masks = masks_of(context, masks, &is_list);
  double axis_values[MOST_MASKS] = {masks[0], masks[1]};
  struct axis_spec mask_axis = {
      .name = "mask", .length = n_masks, .values = axis_values, .long_name = "mask (0 none, 1 causal)"};
  struct axis_spec permutation_axis = {.name = "permutation", .length = permutations->count};
  struct tensor_spec spec = {.name = "deviation",
                             .element = ELEMENT_F64,
                             .rank = is_list ? 2 : 1,
                             .axis = {is_list ? mask_axis : permutation_axis, permutation_axis},
                             .long_name = "max |f(X_pi) - f(X)_pi| over heads, rows and channels",
                             .log_values = true};
  struct tensor *tensor = record_add(record, &spec, err);
  if (!tensor) {
    return err->code;
  }
  double *out = tensor->data;
  double size = 0;
  int status = deviations(context, permutations, masks, n_masks, false, out, &size, err);
  if (status) {
    return status;
  }
  double bound = rounding_bound(context->model, permutations->n, size);
  status = attributes_set_real(&record->attributes, "rounding_bound", bound, err);
  status = status ? status : add_survivors(tensor, bound, record, err);
  for (size_t m = 0; !status && m < n_masks; m++) {
    size_t found = counterexample_find(permutations, out + m * permutations->count, bound);
    if (found < permutations->count && permutations->n <= MOST_SHOWN) {
      return counterexample_save(context, permutations->items + found * permutations->n, permutations->n, masks[m],
                                 record, err);
    }
  }
  return status;
}

static int measure_last_row(const struct experiment_context *context, size_t n, const struct rng *rng,
                            struct record *record, struct error *err) {
  struct permutations kept;
  int status = permutations_new(n, SAMPLED_PERMUTATIONS, true, rng, &kept, err);
  if (status) {
    return status;
  }
  status = add_permutations(record, "last_row_permutations", "last_row_permutation", &kept, err);
  struct tensor *tensor =
      status ? NULL
             : record_add(record,
                          &(struct tensor_spec){.name = "last_row_deviation",
                                                .element = ELEMENT_F64,
                                                .rank = 1,
                                                .axis = {{.name = "last_row_permutation", .length = kept.count}},
                                                .long_name = "causal mask: max change of the last row under "
                                                             "permutations that keep the last token",
                                                .log_values = true},
                          err);
  double size = 0;
  if (!status) {
    const int causal = 1;
    status = tensor ? deviations(context, &kept, &causal, 1, true, tensor->data, &size, err) : (int)err->code;
  }
  permutations_free(&kept);
  return status;
}

static int run(const struct experiment_context *context, struct record *record, struct error *err) {
  const struct model *model = context->model;
  size_t n = model->texts[0].count;
  if (!model->value_dim) {
    return error_set(err, ERROR_JOB_SETUP, "equivariance compares attention outputs: the model must have values (v)");
  }
  if (model->endless) {
    return error_set(
        err, ERROR_JOB_SETUP,
        "equivariance takes 2 to %d tokens: say how many of them the random model has (model.random.length)",
        MOST_TOKENS);
  }
  if (n < 2 || n > MOST_TOKENS) {
    return error_set(err, ERROR_JOB_SETUP, "equivariance takes 2 to %d tokens, the input has %zu", MOST_TOKENS, n);
  }
  struct rng rng = rng_stream(context->seed, "equivariance/permutations");
  struct permutations permutations;
  int status = permutations_new(n, SAMPLED_PERMUTATIONS, false, &rng, &permutations, err);
  if (status) {
    return status;
  }
  status = measure_masks(context, &permutations, record, err);
  if (!status) {
    status = add_permutations(record, "permutations", "permutation", &permutations, err);
  }
  if (!status) {
    status = attributes_set_int(&record->attributes, "exhaustive", permutations.exhaustive, err);
  }
  status = status ? status : attributes_set_int(&record->attributes, "length", (int64_t)n, err);
  permutations_free(&permutations);
  if (!status) {
    status = measure_last_row(context, n, &rng, record, err);
  }
  int masks[MOST_MASKS];
  bool is_list;
  masks_of(context, masks, &is_list);
  if (!status && !is_list) {
    status = attributes_set_text(&record->attributes, "mask", mask_names[masks[0]], err);
  }
  return status ? status
                : save_tensors(context, section_get(context->entry->keys, "save"), 0, n, masks[0] == 1, record, err);
}

/* Whether the job came to its end: a scheme that is undefined at a later place leaves part of its tensors behind. */
static bool is_whole(const struct record *record) {
  return record_has_numbers(record) && record_find(record, "deviation") && record_find(record, "permutations") &&
         record_find(record, "last_row_deviation") && attributes_find(&record->attributes, "exhaustive") &&
         attributes_find(&record->attributes, "rounding_bound");
}

/* ---- conclusion ---------------------------------------------------------------------------------------------------
 */

/* Which permutations survive, in words. */
static void name_survivors(const struct record *record, const double *values, size_t count, double bound, char *out,
                           size_t size) {
  const struct tensor *set = record_find(record, "permutations");
  size_t n = set->axis[set->rank - 1].length;
  const int32_t *items = set->data;
  size_t survivors = 0;
  bool reversal = false;
  for (size_t p = 0; p < count; p++) {
    if (values[p] <= bound) {
      survivors++;
      reversal = reversal || permutation_is_reversal((const uint32_t *)(items + p * n), n);
    }
  }
  bool exhaustive = attributes_find(&record->attributes, "exhaustive")->integer != 0;
  if (!exhaustive && survivors <= 1) {
    snprintf(out, size, "no survivor in %zu sampled", count - 1);
  } else if (!exhaustive) {
    snprintf(out, size, "%zu survivor%s in %zu sampled%s", survivors - 1, survivors == 2 ? "" : "s", count - 1,
             reversal ? ", reversal among them" : "");
  } else if (survivors == count) {
    snprintf(out, size, "all %zu", count);
  } else if (survivors == 1) {
    snprintf(out, size, "identity");
  } else if (survivors == 2 && reversal) {
    snprintf(out, size, "{identity, reversal}");
  } else {
    snprintf(out, size, "%zu of %zu", survivors, count);
  }
}

static int conclude_row(const struct plan_scheme *scheme, const struct record *record, size_t mask,
                        const char *mask_name, struct table *rows, struct record *comparison, struct error *err) {
  size_t count;
  double *all = measure(record, "deviation", &count, err);
  if (!all) {
    return (int)err->code;
  }
  const struct tensor *set = record_find(record, "permutations");
  size_t n_permutations = set->axis[set->rank - 2].length;
  const double *values = all + mask * n_permutations;
  double bound = attributes_find(&record->attributes, "rounding_bound")->real;
  double largest = 0;
  for (size_t p = 0; p < n_permutations; p++) {
    largest = fmax(largest, values[p]);
  }
  char survivors[96];
  name_survivors(record, values, n_permutations, bound, survivors, sizeof survivors);
  bool control = record_role(record) == ROLE_CONTROL;
  bool causal = !strcmp(mask_name, "causal");
  int status = table_text(rows, err, "%s", scheme->label);
  status = status ? status : table_text(rows, err, "%s", scheme_role_name(record_role(record)));
  status = status ? status : table_text(rows, err, "%s", mask_name);
  status =
      status ? status : table_text(rows, err, "%s", control && !causal ? "equivariant: all survive" : "order is seen");
  status = status ? status : table_number(rows, largest, err);
  status = status ? status : table_number(rows, bound, err);
  status = status ? status : table_text(rows, err, "%s", survivors);
  const char *follows = largest <= bound    ? "order is not seen"
                        : causal && control ? "the mask alone breaks the symmetry"
                                            : "order is seen";
  status = status ? status : table_text(rows, err, "%s", follows);
  if (!status && mask == 0) {
    struct axis_spec axis = {.name = "permutation", .length = n_permutations};
    status = comparison_add(comparison, scheme, record, &axis, values, "largest deviation", "1", err);
  }
  free(all);
  return status;
}

/* Whether every record holds all permutations: then, and only then, what survives is the stabiliser. */
static bool all_permutations(const struct plan *plan, const struct record *const *records) {
  bool all = true;
  for (size_t s = 0; s < plan->n_schemes; s++) {
    all = all && (!is_whole(records[s]) || attributes_find(&records[s]->attributes, "exhaustive")->integer != 0);
  }
  return all;
}

/* How far the last row moves when the tokens before it are reordered, in words. */
static int conclude_last_row(const struct plan *plan, const struct record *const *records, struct table *rows,
                             struct error *err) {
  for (size_t s = 0; s < plan->n_schemes; s++) {
    size_t count;
    double *values = is_whole(records[s]) ? measure(records[s], "last_row_deviation", &count, err) : NULL;
    if (!values) {
      continue;
    }
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
      largest = fmax(largest, values[i]);
    }
    free(values);
    if (count < 2) { /* two tokens: the order that is there is the only one */
      if (table_note(rows, err,
                     "Last row, causal mask: one token stands before it, which has no other order: %s cannot "
                     "be told to see it or not.",
                     plan->schemes[s].label)) {
        return err->code;
      }
      continue;
    }
    double bound = attributes_find(&records[s]->attributes, "rounding_bound")->real;
    const char *says = largest > bound ? "."
                       : plan->schemes[s].info->sites
                           ? ": it does not see the order of what came before."
                           : ": it does not see the order of what came before. One layer without positions cannot tell "
                             "'he works ___' from 'works he ___': the mask hides what comes later, not in which order "
                             "the rest came.";
    int status =
        table_note(rows, err, "Last row, causal mask: %s changes by %.3g when the tokens before it are reordered%s",
                   plan->schemes[s].label, largest, says);
    if (status) {
      return status;
    }
  }
  return 0;
}

/* Whether the reversal survives without a mask though positions are there. */
static bool keeps_reversal(const struct plan_scheme *scheme, const struct record *record) {
  const struct tensor *set = record_find(record, "permutations"), *survives = record_find(record, "survives");
  const struct attribute *mask = attributes_find(&record->attributes, "mask");
  unsigned mask_axis = survives && survives->rank > 1 ? survives->rank - 2 : 0;
  bool by_mask = survives && survives->rank > 1 && !strcmp(survives->axis[mask_axis].name, "mask");
  bool unmasked = by_mask ? survives->axis[mask_axis].values[0] == 0 : !mask || strcmp(mask->text, "causal") != 0;
  if (!scheme->info->sites || !survives || !unmasked) {
    return false;
  }
  size_t n = set->axis[set->rank - 1].length;
  const int32_t *items = set->data;
  for (size_t p = 0; p < set->axis[set->rank - 2].length; p++) {
    if (permutation_is_reversal((const uint32_t *)(items + p * n), n)) {
      return ((const uint8_t *)survives->data)[p] != 0;
    }
  }
  return false;
}

/* Why there is no counterexample of two tokens for a symmetric bias. */
static int conclude_reversal(const struct plan *plan, const struct record *const *records, struct table *rows,
                             struct error *err) {
  for (size_t s = 0; s < plan->n_schemes; s++) {
    if (!is_whole(records[s]) || !keeps_reversal(&plan->schemes[s], records[s])) {
      continue;
    }
    int status = table_note(rows, err,
                            "Without a mask %s keeps the reversal: what it adds depends on |m - n|, which a reversal "
                            "does not change. Two tokens have no other order, so 'he works' / 'works he' is no "
                            "counterexample for it; three are needed.",
                            plan->schemes[s].label);
    if (status) {
      return status;
    }
  }
  return 0;
}

static int conclude(const struct plan *plan, const struct plan_experiment *entry, const struct record *const *records,
                    struct conclusion *conclusion, struct error *err) {
  struct record *comparison = conclusion_add_comparison(
      conclusion, entry, NULL, "Deviation from equivariance, by permutation (first mask)", err);
  struct table *rows = comparison ? conclusion_add_table(conclusion, err) : NULL;
  if (!rows || table_title(rows, err, "%s: does attention see order?", entry->label) ||
      table_column(rows, "scheme", "scheme", false, false, err) ||
      table_column(rows, "role", "role", false, false, err) || table_column(rows, "mask", "mask", false, false, err) ||
      table_column(rows, "claimed", "claimed", false, true, err) ||
      table_column(rows, "measured", "largest deviation", true, false, err) ||
      table_column(rows, "bound", "rounding bound", true, false, err) ||
      table_column(rows, "survivors", all_permutations(plan, records) ? "stabiliser" : "survivors", false, false,
                   err) ||
      table_column(rows, "follows", "what follows", false, true, err)) {
    return (int)err->code;
  }
  for (size_t s = 0; s < plan->n_schemes; s++) {
    const struct tensor *deviation_tensor = record_find(records[s], "deviation");
    if (!is_whole(records[s])) {
      continue;
    }
    const struct axis *mask_axis = NULL;
    for (unsigned a = 0; a < deviation_tensor->rank; a++) {
      mask_axis = strcmp(deviation_tensor->axis[a].name, "mask") ? mask_axis : &deviation_tensor->axis[a];
    }
    for (size_t m = 0; m < (mask_axis ? mask_axis->length : 1); m++) {
      const struct attribute *mask = attributes_find(&records[s]->attributes, "mask");
      const char *name = mask_axis ? mask_names[(int)mask_axis->values[m]] : (mask ? mask->text : "none");
      int status = conclude_row(&plan->schemes[s], records[s], m, name, rows, comparison, err);
      if (status) {
        return status;
      }
    }
  }
  int status = conclude_reversal(plan, records, rows, err);
  status = status ? status : conclude_last_row(plan, records, rows, err);
  int64_t printed = section_get(entry->keys, "counterexample")->integer;
  bool first = printed == COUNTEREXAMPLE_FIRST;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    bool has_one = is_whole(records[s]) && record_find(records[s], "counterexample_context");
    bool full = printed == COUNTEREXAMPLE_FULL || (first && plan->schemes[s].info->sites != 0);
    status = has_one ? counterexample_show(&plan->schemes[s], records[s], full, conclusion, err) : 0;
    first = first && !(has_one && full);
  }
  return status;
}

const struct experiment experiment_equivariance = {
    .info = {"equivariance", "Does attention with this scheme see order?", &table, true, false},
    .run = run,
    .conclude = conclude,
};
