#include "experiments/encode.h"

#include "attention/attention.h"
#include "base/memory.h"
#include "experiments/embedded.h"
#include "experiments/projections.h"

#include <stdlib.h>
#include <string.h>

/* Positions of a sequence before the scheme's map: padding is -1, the tokens after it count from 0. A scheme of several
 * axes gets the same position on each, as text does. */
static void counted_positions(const struct sequence *sequence, const uint8_t *padding, size_t axes, double *out) {
  double next = sequence->offset;
  for (size_t i = 0; i < sequence->n; i++) {
    double position = sequence->positions ? sequence->positions[i] : next;
    bool padded = padding && padding[i];
    for (size_t axis = 0; axis < axes; axis++) {
      out[i * axes + axis] = padded ? -1 : position;
    }
    next += padded ? 0 : 1;
  }
}

/* The same where the config gives positions: row i gets those of the text's place i (of its own token where there is
 * padding), moved on by the offset. */
static int given_positions(const struct experiment_context *context, const struct instance *scheme,
                           const struct sequence *sequence, const size_t *index, const uint8_t *padding, size_t axes,
                           double *out, struct error *err) {
  const struct model *model = context->model;
  size_t given_axes = model_position_axes(model);
  size_t n = sequence->n;
  bool looks = instance_sites(scheme) != 0; /* the control does not look at positions */
  if (looks && given_axes != 1 && given_axes != axes) {
    return error_set(err, ERROR_JOB_SETUP, "positions have %zu coordinates, %s takes %zu", given_axes,
                     context->scheme_entry->label, axes);
  }
  double *given = memory_new(n, given_axes * sizeof *given, "positions", err);
  size_t *places = given ? memory_new(n, sizeof *places, "positions", err) : NULL;
  for (size_t i = 0; places && i < n; i++) {
    places[i] = padding ? index[i] : i;
  }
  int status = places ? model_positions(model, sequence->text, places, n, given, err) : (int)err->code;
  for (size_t i = 0; !status && i < n * axes; i++) {
    bool padded = padding && padding[i / axes];
    double position = given_axes == axes ? given[i] : given[i / axes * given_axes];
    out[i] = padded ? -1 : position + sequence->offset;
  }
  free(given);
  free(places);
  return status;
}

static int raw_positions(const struct experiment_context *context, const struct instance *scheme,
                         const struct sequence *sequence, const size_t *index, const uint8_t *padding, size_t axes,
                         double *out, struct error *err) {
  if (sequence->positions || model_positions_are_default(context->model)) {
    counted_positions(sequence, padding, axes, out);
    return 0;
  }
  return given_positions(context, scheme, sequence, index, padding, axes, out, err);
}

static int gather_padding(const struct text_tokens *text, const size_t *index, size_t n, uint8_t **out,
                          struct error *err) {
  *out = NULL;
  if (!text->padding) {
    return 0;
  }
  uint8_t *padding = memory_new(n, 1, "padding", err);
  if (!padding) {
    return err->code;
  }
  for (size_t i = 0; i < n; i++) {
    padding[i] = text->padding[index[i] % text->count];
  }
  *out = padding;
  return 0;
}

/* out [heads][n][width] = rows index[0..n) of kept [heads][count][width]. */
static void gather_rows(const float *kept, size_t heads, size_t count, size_t width, const size_t *index, size_t n,
                        float *out) {
  for (size_t head = 0; head < heads; head++) {
    for (size_t i = 0; i < n; i++) {
      memcpy(out + (head * n + i) * width, kept + (head * count + index[i] % count) * width, width * sizeof *out);
    }
  }
}

/* Queries and keys that positions do not reach were made before, if anybody kept them. */
static const struct kept_text *kept_projections(const struct experiment_context *context, const struct instance *scheme,
                                                size_t text, const size_t *index, const struct encoded *e) {
  if (!context->projections || context->projections->model != context->model ||
      (instance_sites(scheme) & PE_SITE_EMBED) || e->v) {
    return NULL;
  }
  const struct kept_text *kept = projections_of(context->projections, text, index, e->n);
  return kept && kept->q ? kept : NULL;
}

/* Whether the scheme kept to the rows [n][width] that it was given to write. */
static int check_fence(const struct instance *scheme, const char *name, const float *rows, size_t n, size_t width,
                       struct error *err) {
  return memory_fence_holds(rows, n, width * sizeof *rows)
             ? 0
             : error_set(err, ERROR_SCHEME_BOUNDS, "%s: %s wrote outside its buffer, behind its last row",
                         instance_scheme(scheme)->info.id, name);
}

/* turned [count] becomes a tenth of the way from `plain` to it. */
static void weaken_rows(const float *plain, float *turned, size_t count) {
  for (size_t i = 0; i < count; i++) {
    turned[i] = (float)((double)plain[i] + WEAKENED_TO * ((double)turned[i] - (double)plain[i]));
  }
}

/* q [n_heads][n - queries_from][head_dim] and k [n_kv_heads][n][head_dim] at their positions become e->q and e->k, of
 * the scheme's width; what it does not move is handed on. */
static int rotate(const struct experiment_context *context, const struct instance *scheme, size_t of_layer,
                  struct encoded *e, float **q, float **k, struct error *err) {
  unsigned layer = (unsigned)of_layer;
  size_t from = e->queries_from, q_rows = e->n_heads * (e->n - from), k_rows = e->n_kv_heads * e->n;
  if (context->weakened && e->width != context->model->head_dim) {
    return error_set(err, ERROR_UNDEFINED, "a scheme that widens rows cannot be weakened");
  }
  if (!(instance_sites(scheme) & PE_SITE_QK) && e->width == context->model->head_dim) {
    e->q = *q;
    e->k = *k;
    *q = *k = NULL;
    return 0;
  }
  e->q = memory_new_fenced(q_rows, e->width * sizeof *e->q, "queries", err);
  e->k = e->q ? memory_new_fenced(k_rows, e->width * sizeof *e->k, "keys", err) : NULL;
  if (!e->k) {
    return err->code;
  }
  int status =
      instance_rotate(scheme, PE_ROLE_QUERY, layer, 0, (unsigned)e->n_heads, e->n - from, e->mapped + from * e->axes,
                      e->padding ? e->padding + from : NULL, e->seq_len, *q, e->q, err);
  status = status ? status : check_fence(scheme, "qk_apply", e->q, q_rows, e->width, err);
  status = status ? status
                  : instance_rotate(scheme, PE_ROLE_KEY, layer, 0, (unsigned)e->n_kv_heads, e->n, e->mapped, e->padding,
                                    e->seq_len, *k, e->k, err);
  status = status ? status : check_fence(scheme, "qk_apply", e->k, k_rows, e->width, err);
  if (!status && context->weakened) {
    weaken_rows(*q, e->q, q_rows * e->width);
    weaken_rows(*k, e->k, k_rows * e->width);
  }
  return status;
}

/* What the scheme adds to the rows of x, at the scale of the weights; a tenth of it in a weakened context. */
static int add_positions(const struct experiment_context *context, const struct instance *scheme, struct encoded *e,
                         struct error *err) {
  const struct model *model = context->model;
  size_t d = model->d_model;
  double scale = (context->weakened ? WEAKENED_TO : 1) * model->pe_scale;
  if (!(instance_sites(scheme) & PE_SITE_EMBED)) {
    return 0;
  }
  if (context->embedded || scale != 1) {
    return embedded_add(context->embedded, scheme, e->n, e->mapped, e->padding, e->seq_len, scale, e->x, d, err);
  }
  int embedded = instance_embed(scheme, e->n, e->mapped, e->padding, e->seq_len, e->x, d, err);
  return embedded ? embedded : check_fence(scheme, "embed_add", e->x, e->n, d, err);
}

/* e->x through a layer below the model's, under the mask that the weights were trained with. */
static int go_through(const struct experiment_context *context, const struct instance *scheme, size_t layer,
                      struct encoded *e, struct error *err) {
  const struct model *model = context->model;
  /* A sequence of its own, with the values that the caller may not want of the last layer. */
  struct encoded below = *e;
  below.value_width = model->value_dim;
  below.q = below.k = NULL;
  below.queries_from = 0;
  below.v = memory_new_unset(e->n_kv_heads, e->n, model->value_dim, sizeof *below.v, "values", err);
  float *q = below.v ? memory_new_unset(e->n_heads, e->n, model->head_dim, sizeof *q, "queries", err) : NULL;
  float *k = q ? memory_new_unset(e->n_kv_heads, e->n, model->head_dim, sizeof *k, "keys", err) : NULL;
  float *rows = k ? memory_new_3d(e->n_heads, e->n, model->value_dim, sizeof *rows, "context", err) : NULL;
  struct attention_output output = {.context = rows};
  int status = rows ? model_project_layer(model, layer, e->x, e->n, q, k, below.v, context->pool, err) : ERROR_MEMORY;
  status = status ? status : rotate(context, scheme, layer, &below, &q, &k, err);
  status = status
               ? status
               : attend_layer(context, scheme, layer, &below, 0, !strcmp(model->trained.mask, "causal"), &output, err);
  status = status ? status : model_pass_layer(model, layer, rows, e->n, e->x, err);
  free(below.q);
  free(below.k);
  free(below.v);
  free(q);
  free(k);
  free(rows);
  return status;
}

/* What the model is given as q and k, and v where it is wanted. */
static int take_given(const struct model *model, size_t text, const size_t *index, const struct encoded *e, float *q,
                      float *k, struct error *err) {
  size_t from = e->queries_from;
  if (from == 0) {
    return model_given_qk(model, text, index, e->n, q, k, e->v, err);
  }
  int status = model_given_qk(model, text, index + from, e->n - from, q, NULL, NULL, err);
  return status ? status : model_given_qk(model, text, index, e->n, NULL, k, e->v, err);
}

/* The same from e->x, a row of which depends on its own input alone. */
static int project_input(const struct experiment_context *context, const struct encoded *e, float *q, float *k,
                         struct error *err) {
  const struct model *model = context->model;
  size_t from = e->queries_from;
  if (from == 0) {
    return model_project(model, e->x, e->n, q, k, e->v, context->pool, err);
  }
  int status = model_project(model, e->x + from * model->d_model, e->n - from, q, NULL, NULL, context->pool, err);
  return status ? status : model_project(model, e->x, e->n, NULL, k, e->v, context->pool, err);
}

static void take_kept(const struct model *model, const struct kept_text *kept, const size_t *index,
                      const struct encoded *e, float *q, float *k) {
  size_t from = e->queries_from;
  gather_rows(kept->q, e->n_heads, kept->count, model->head_dim, index + from, e->n - from, q);
  gather_rows(kept->k, e->n_kv_heads, kept->count, model->head_dim, index, e->n, k);
}

/* e->x as it is without positions; a control's model has the content of its own. */
static int take_content(const struct experiment_context *context, size_t text, const size_t *index,
                        const struct encoded *e, struct error *err) {
  const struct model *model = context->model;
  const struct kept_text *kept = projections_of(context->projections, text, index, e->n);
  if (!kept || !kept->x) {
    return model_content(model, text, index, e->n, e->x, err);
  }
  gather_rows(kept->x, 1, kept->count, model->d_model, index, e->n, e->x);
  return 0;
}

/* q [n_heads][n - queries_from][head_dim], k [n_kv_heads][n][head_dim], and e->v where it is there. */
static int project(const struct experiment_context *context, const struct instance *scheme, size_t text,
                   const size_t *index, struct encoded *e, float *q, float *k, struct error *err) {
  const struct model *model = context->model;
  if (model->d_model == 0) {
    return take_given(model, text, index, e, q, k, err);
  }
  const struct kept_text *kept = kept_projections(context, scheme, text, index, e);
  if (kept) {
    take_kept(model, kept, index, e, q, k);
    return 0;
  }
  e->x = memory_new_fenced_unset(e->n, model->d_model * sizeof *e->x, "embeddings", err);
  if (!e->x) {
    return err->code;
  }
  int status = take_content(context, text, index, e, err);
  status = status ? status : add_positions(context, scheme, e, err);
  for (size_t layer = 0; !status && layer < model->layer; layer++) {
    status = go_through(context, scheme, layer, e, err);
  }
  return status ? status : project_input(context, e, q, k, err);
}

static int encode_rows(const struct experiment_context *context, const struct instance *scheme,
                       const struct sequence *sequence, const size_t *index, struct encoded *e, struct error *err) {
  const struct model *model = context->model;
  double *positions = memory_new(e->n, e->axes * sizeof *positions, "positions", err);
  e->mapped = positions ? memory_new(e->n, e->axes * sizeof *e->mapped, "positions", err) : NULL;
  float *q = e->mapped
                 ? memory_new_unset(e->n_heads, e->n - e->queries_from, model->head_dim, sizeof *q, "queries", err)
                 : NULL;
  float *k = q ? memory_new_unset(e->n_kv_heads, e->n, model->head_dim, sizeof *k, "keys", err) : NULL;
  int status = k ? 0 : (int)err->code;
  if (!status && e->value_width && !sequence->without_values) {
    e->v = memory_new_unset(e->n_kv_heads, e->n, e->value_width, sizeof *e->v, "values", err);
    status = e->v ? 0 : (int)err->code;
  }
  if (!status) {
    status = gather_padding(&model->texts[sequence->text], index, e->n, &e->padding, err);
  }
  if (!status) {
    status = raw_positions(context, scheme, sequence, index, e->padding, e->axes, positions, err);
  }
  if (!status) {
    status = instance_map_positions(scheme, e->n, positions, e->padding, e->mapped, &e->seq_len, err);
  }
  if (!status) {
    status = project(context, scheme, sequence->text, index, e, q, k, err);
  }
  if (!status) {
    status = rotate(context, scheme, model->layer, e, &q, &k, err);
  }
  free(positions);
  free(q);
  free(k);
  return status;
}

int encode_sequence(const struct experiment_context *context, const struct instance *scheme,
                    const struct sequence *sequence, struct encoded *out, struct error *err) {
  const struct model *model = context->model;
  *out = (struct encoded){.n = sequence->n,
                          .queries_from = sequence->queries_from,
                          .n_heads = model->n_heads,
                          .n_kv_heads = model->n_kv_heads,
                          .axes = instance_domain(scheme).pos_axes,
                          .width = instance_qk_width(scheme),
                          .value_width = model->value_dim};
  size_t *counted = NULL;
  const size_t *index = sequence->index;
  if (!index) {
    index = counted = memory_new(sequence->n, sizeof *counted, "token index", err);
    if (!counted) {
      return err->code;
    }
    for (size_t i = 0; i < sequence->n; i++) {
      counted[i] = i;
    }
  }
  int status = encode_rows(context, scheme, sequence, index, out, err);
  free(counted);
  if (status) {
    encoded_free(out);
  }
  return status;
}

void encoded_free(struct encoded *encoded) {
  free(encoded->mapped);
  free(encoded->padding);
  free(encoded->x);
  free(encoded->q);
  free(encoded->k);
  free(encoded->v);
  *encoded = (struct encoded){0};
}
