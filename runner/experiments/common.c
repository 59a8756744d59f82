#include "experiments/common.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mask_names[] = {"none", "causal", NULL};
const char *const save_names[] = {"attention_weights", "logits",     "q",      "k", "v",
                                  "context",           "embeddings", "output", NULL};

enum save { SAVE_WEIGHTS, SAVE_LOGITS, SAVE_Q, SAVE_K, SAVE_V, SAVE_CONTEXT, SAVE_EMBEDDINGS, SAVE_OUTPUT };

size_t masks_of(const struct experiment_context *context, int masks[2], bool *is_list) {
  const struct key_value *value = section_get(context->entry->keys, "mask");
  *is_list = value->is_list;
  if (value->is_auto) {
    masks[0] = context->model->trained.mask && !strcmp(context->model->trained.mask, "causal");
    return 1;
  }
  size_t n = 0;
  for (size_t i = 0; i < value->count && n < 2; i++) {
    masks[n++] = (int)value->list[i];
  }
  return n;
}

struct axis_spec axis_head(const struct model *model) {
  return (struct axis_spec){.name = "head", .length = model->n_heads};
}

struct axis_spec axis_mask(const int *masks, size_t n) {
  (void)masks;
  return (struct axis_spec){.name = "mask", .length = n, .long_name = "mask (0 none, 1 causal)"};
}

static bool wants(const struct key_value *save, enum save what) {
  for (size_t i = 0; i < save->count; i++) {
    if ((int)save->list[i] == (int)what) {
      return true;
    }
  }
  return false;
}

/* A float32 tensor of up to three axes that holds a copy of data. */
static int save_copy(struct record *record, const char *name, const char *long_name, const struct axis_spec *axes,
                     unsigned rank, const float *data, bool image, struct error *err) {
  struct tensor_spec spec = {
      .name = name, .element = ELEMENT_F32, .rank = rank, .long_name = long_name, .image = image};
  memcpy(spec.axis, axes, rank * sizeof *axes);
  struct tensor *tensor = record_add(record, &spec, err);
  if (!tensor) {
    return err->code;
  }
  memcpy(tensor->data, data, tensor->count * sizeof *data);
  return 0;
}

/* An axis 0 .. length - 1 of what is saved: `name`, or `otherwise` where the record has an axis `name` that is not this
 * one but a measure's (encoding's logits by position). */
static struct axis_spec free_axis(const struct record *record, const char *name, const char *otherwise, size_t length) {
  bool taken = false;
  for (size_t i = 0; i < record->count; i++) {
    const struct axis *axis = tensor_axis(&record->tensors[i], name);
    taken = taken || (axis && (axis->length != length || axis->units[0] || axis->long_name[0]));
  }
  return (struct axis_spec){.name = taken ? otherwise : name, .length = length};
}

/* The square tensors and the context; they come from one pass of attention. */
static int save_attention(const struct experiment_context *context, const struct key_value *save,
                          const struct encoded *e, bool causal, struct record *record, struct error *err) {
  size_t heads = e->n_heads;
  struct axis_spec square[] = {axis_head(context->model), free_axis(record, "query", "saved_query", e->n),
                               free_axis(record, "key", "saved_key", e->n)};
  struct axis_spec rows[] = {
      square[0], {.name = "token", .length = e->n}, {.name = "value_channel", .length = e->value_width}};
  bool wants_context = e->v && (wants(save, SAVE_CONTEXT) || wants(save, SAVE_OUTPUT));
  float *weights = memory_new_3d(heads, e->n, e->n, sizeof *weights, "attention weights", err);
  float *logits = weights ? memory_new_3d(heads, e->n, e->n, sizeof *logits, "logits", err) : NULL;
  float *values = logits ? memory_new_3d(heads, e->n, e->value_width, sizeof *values, "context", err) : NULL;
  struct attention_output output = {.weights = weights, .logits = logits, .context = wants_context ? values : NULL};
  int status = values ? attend(context, context->scheme, e, 0, causal, &output, err) : (int)err->code;
  if (!status && wants(save, SAVE_WEIGHTS)) {
    status = save_copy(record, "attention_weights", "attention weights", square, 3, weights, true, err);
  }
  if (!status && wants(save, SAVE_LOGITS)) {
    status = save_copy(record, "logits", "logits (scaled, with bias)", square, 3, logits, true, err);
  }
  if (!status && e->v && wants(save, SAVE_CONTEXT)) {
    status = save_copy(record, "context", "attention context", rows, 3, values, false, err);
  }
  size_t width = model_output_width(context->model);
  if (!status && wants_context && width && wants(save, SAVE_OUTPUT)) {
    struct axis_spec axes[] = {rows[1], {.name = "output_channel", .length = width}};
    float *projected = memory_new(e->n, width * sizeof *projected, "attention output", err);
    status = projected ? model_output(context->model, values, e->n, projected, err) : (int)err->code;
    status = status ? status : save_copy(record, "output", "attention output", axes, 2, projected, false, err);
    free(projected);
  }
  free(weights);
  free(logits);
  free(values);
  return status;
}

static int save_rows(const struct experiment_context *context, const struct key_value *save, const struct encoded *e,
                     struct record *record, struct error *err) {
  struct axis_spec head = axis_head(context->model);
  struct axis_spec key_head =
      e->n_kv_heads == e->n_heads ? head : (struct axis_spec){.name = "key_head", .length = e->n_kv_heads};
  struct axis_spec token = {.name = "token", .length = e->n};
  struct axis_spec channel = {.name = "channel", .length = e->width};
  struct axis_spec value_channel = {.name = "value_channel", .length = e->value_width};
  struct axis_spec q[] = {head, token, channel};
  struct axis_spec k[] = {key_head, token, channel};
  struct axis_spec v[] = {key_head, token, value_channel};
  struct axis_spec x[] = {token, {.name = "model_channel", .length = context->model->d_model}};
  int status = 0;
  if (wants(save, SAVE_Q)) {
    status = save_copy(record, "q", "queries at their positions", q, 3, e->q, false, err);
  }
  if (!status && wants(save, SAVE_K)) {
    status = save_copy(record, "k", "keys at their positions", k, 3, e->k, false, err);
  }
  if (!status && wants(save, SAVE_V) && e->v) {
    status = save_copy(record, "v", "values", v, 3, e->v, false, err);
  }
  if (!status && wants(save, SAVE_EMBEDDINGS) && e->x) {
    status = save_copy(record, "embeddings", "input with positions added", x, 2, e->x, false, err);
  }
  return status;
}

int save_token_ids(const struct model *model, struct record *record, struct error *err) {
  for (size_t t = 0; t < model->n_texts; t++) {
    const struct text_tokens *text = &model->texts[t];
    if (!text->ids) {
      continue;
    }
    char name[RECORD_NAME];
    char axis[RECORD_NAME];
    char long_name[160];
    snprintf(name, sizeof name, "text_%zu_ids", t);
    snprintf(axis, sizeof axis, "text_%zu_token", t);
    snprintf(long_name, sizeof long_name, "token ids of text %zu, -1: padding", t);
    struct tensor *ids = record_add(record,
                                    &(struct tensor_spec){.name = name,
                                                          .element = ELEMENT_I32,
                                                          .rank = 1,
                                                          .axis = {{.name = axis, .length = text->count}},
                                                          .long_name = long_name},
                                    err);
    if (!ids) {
      return err->code;
    }
    memcpy(ids->data, text->ids, text->count * sizeof *text->ids);
  }
  return 0;
}

int save_tensors(const struct experiment_context *context, const struct key_value *save, size_t text, size_t n,
                 bool causal, struct record *record, struct error *err) {
  if (save->count == 0) {
    return 0;
  }
  struct sequence sequence = {.text = text, .n = n};
  struct encoded encoded;
  int status = encode_sequence(context, context->scheme, &sequence, &encoded, err);
  if (status) {
    return status;
  }
  const struct text_tokens *tokens = &context->model->texts[text];
  if (tokens->ids) {
    struct tensor *ids =
        record_add(record,
                   &(struct tensor_spec){
                       .name = "token_id", .element = ELEMENT_I32, .rank = 1, .axis = {{.name = "token", .length = n}}},
                   err);
    for (size_t i = 0; ids && i < n; i++) {
      ((int32_t *)ids->data)[i] = tokens->ids[i % tokens->count];
    }
    status = ids ? 0 : (int)err->code;
  }
  bool attention =
      wants(save, SAVE_WEIGHTS) || wants(save, SAVE_LOGITS) || wants(save, SAVE_CONTEXT) || wants(save, SAVE_OUTPUT);
  if (!status && attention) {
    status = save_attention(context, save, &encoded, causal, record, err);
  }
  if (!status) {
    status = save_rows(context, save, &encoded, record, err);
  }
  encoded_free(&encoded);
  return status;
}

double *measure(const struct record *record, const char *name, size_t *count, struct error *err) {
  const struct tensor *tensor = record_find(record, name);
  err->code = ERROR_NONE;
  if (!tensor) {
    return NULL;
  }
  size_t seeds = tensor->rank && !strcmp(tensor->axis[0].name, "seed") ? tensor->axis[0].length : 1;
  *count = tensor->count / seeds;
  double *values = memory_new(*count, sizeof *values, name, err);
  for (size_t i = 0; values && i < *count; i++) {
    for (size_t seed = 0; seed < seeds; seed++) {
      values[i] += tensor_value(tensor, seed * *count + i) / (double)seeds;
    }
  }
  return values;
}

bool record_has_numbers(const struct record *record) {
  return record->status == RECORD_MEASURED || record->status == RECORD_UNDEFINED;
}

struct record *conclusion_add_comparison(struct conclusion *conclusion, const struct plan_experiment *entry,
                                         const char *measure_name, const char *title, struct error *err) {
  struct record *grown = memory_grow(conclusion->comparisons, &conclusion->comparisons_capacity,
                                     conclusion->n_comparisons + 1, sizeof *grown, "comparisons", err);
  if (!grown) {
    return NULL;
  }
  conclusion->comparisons = grown;
  struct record *record = &grown[conclusion->n_comparisons++];
  *record = (struct record){0};
  snprintf(record->experiment, sizeof record->experiment, "%s", entry->label);
  snprintf(record->label, sizeof record->label, measure_name ? "comparison_%s" : "comparison", measure_name);
  snprintf(record->title, sizeof record->title, "%s", title);
  return record;
}

struct table *conclusion_add_table(struct conclusion *conclusion, struct error *err) {
  struct table *grown = memory_grow(conclusion->tables, &conclusion->tables_capacity, conclusion->n_tables + 1,
                                    sizeof *grown, "tables", err);
  if (!grown) {
    return NULL;
  }
  conclusion->tables = grown;
  struct table *table = &grown[conclusion->n_tables++];
  *table = (struct table){0};
  return table;
}

int comparison_add(struct record *comparison, const struct plan_scheme *scheme, const struct record *record,
                   const struct axis_spec *axis, const double *values, const char *what, const char *units,
                   struct error *err) {
  char long_name[160];
  char status_name[RECORD_NAME + 8];
  snprintf(long_name, sizeof long_name, "%s: %s", scheme->label, what);
  snprintf(status_name, sizeof status_name, "%s_status", scheme->label);
  struct tensor *tensor = record_add(comparison,
                                     &(struct tensor_spec){.name = scheme->label,
                                                           .element = ELEMENT_F64,
                                                           .rank = 1,
                                                           .axis = {*axis},
                                                           .long_name = long_name,
                                                           .units = units},
                                     err);
  if (!tensor) {
    return err->code;
  }
  if (attributes_set_text(&tensor->attributes, "role", scheme_role_name(record_role(record)), err)) {
    return err->code;
  }
  double *data = tensor->data;
  for (size_t i = 0; values && i < axis->length; i++) {
    data[i] = values[i];
  }
  struct tensor *status = record_add(
      comparison,
      &(struct tensor_spec){
          .name = status_name, .element = ELEMENT_U8, .rank = 1, .axis = {*axis}, .long_name = "how it went"},
      err);
  if (!status) {
    return err->code;
  }
  uint8_t *flags = status->data;
  for (size_t i = 0; i < axis->length; i++) {
    bool undefined = record_has_numbers(record) && (!values || isnan(data[i]));
    flags[i] = (uint8_t)(undefined ? RECORD_UNDEFINED : record->status);
  }
  static const double status_values[] = {RECORD_MEASURED, RECORD_UNDEFINED, RECORD_FAILED, RECORD_NOT_RUN};
  if (attributes_set_reals(&status->attributes, "flag_values", status_values, 4, err)) {
    return err->code;
  }
  return attributes_set_text(&status->attributes, "flag_meanings", "measured undefined failed not_run", err);
}
