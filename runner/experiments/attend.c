#include "experiments/encode.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct bias_context {
  const struct instance *scheme;
  bool weakened;
  const struct encoded *encoded;
  size_t first_query;
  unsigned layer;
  size_t heads_per_key_head;
};

/* The tile of attention.h as a tile of the scheme. */
static int add_bias(void *opaque, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                    size_t s_stride, struct error *err) {
  const struct bias_context *context = opaque;
  const struct encoded *e = context->encoded;
  size_t query = context->first_query + row;
  struct bias_tile tile = {
      .layer = context->layer,
      .head = (unsigned)head,
      .seq_len = e->seq_len,
      .nq = nq,
      .nk = nk,
      .mapped_q = e->mapped + query * e->axes,
      .mapped_k = e->mapped + column * e->axes,
      .padding_q = e->padding ? e->padding + query : NULL,
      .padding_k = e->padding ? e->padding + column : NULL,
      .q = e->q + (head * (e->n - e->queries_from) + query - e->queries_from) * e->width,
      .k = e->k + (head / context->heads_per_key_head * e->n + column) * e->width,
      .q_stride = e->width,
      .k_stride = e->width,
      .s = s,
      .s_stride = s_stride,
  };
  if (!context->weakened) {
    return instance_bias(context->scheme, &tile, err);
  }
  float *bias = memory_new(nq, nk * sizeof *bias, "bias", err);
  tile.s = bias;
  tile.s_stride = nk;
  int status = bias ? instance_bias(context->scheme, &tile, err) : (int)err->code;
  for (size_t i = 0; !status && i < nq * nk; i++) {
    s[i / nk * s_stride + i % nk] += (float)(WEAKENED_TO * (double)bias[i]);
  }
  free(bias);
  return status;
}

/* Whether the bias of all pairs follows from one row of distances: a relative scheme on evenly spaced whole positions.
 */
static bool bias_follows_from_distance(const struct instance *scheme, const struct encoded *e) {
  if (!(instance_traits(scheme) & PE_TRAIT_RELATIVE) || e->padding || e->axes != 1 || e->n < 2) {
    return false;
  }
  for (size_t i = 1; i < e->n; i++) {
    if (e->mapped[i] - e->mapped[i - 1] != 1) {
      return false;
    }
  }
  return true;
}

/* [n_heads][nq + nk - 1], element i - j + nk - 1: the first query gives the distances up to 0, the last one the others.
 */
static float *bias_by_distance(const struct bias_context *context, size_t nq, size_t n_heads, struct error *err) {
  size_t nk = context->encoded->n;
  size_t width = nq + nk - 1;
  float *bias = memory_new_3d(n_heads, width, 1, sizeof *bias, "bias by distance", err);
  float *row = bias ? memory_new(nk, sizeof *row, "bias by distance", err) : NULL;
  if (!row) {
    free(bias);
    return NULL;
  }
  struct bias_context copy = *context;
  for (size_t head = 0; head < n_heads; head++) {
    for (size_t end = 0; end < 2; end++) {
      size_t i = end ? nq - 1 : 0;
      memset(row, 0, nk * sizeof *row);
      if (add_bias(&copy, head, i, 1, 0, nk, row, nk, err)) {
        free(bias);
        free(row);
        return NULL;
      }
      for (size_t j = 0; j < nk; j++) {
        bias[head * width + i + nk - 1 - j] = row[j];
      }
    }
  }
  free(row);
  return bias;
}

/* Query rows [first_query, n) of every head, contiguous. */
static float *query_rows(const struct encoded *e, size_t first_query, struct error *err) {
  size_t nq = e->n - first_query, there = e->n - e->queries_from;
  float *q = memory_new_unset(e->n_heads, nq, e->width, sizeof *q, "queries", err);
  for (size_t head = 0; q && head < e->n_heads; head++) {
    memcpy(q + head * nq * e->width, e->q + ((head + 1) * there - nq) * e->width, nq * e->width * sizeof *q);
  }
  return q;
}

int attend(const struct experiment_context *context, const struct instance *scheme, const struct encoded *encoded,
           size_t first_query, bool causal, const struct attention_output *output, struct error *err) {
  return attend_layer(context, scheme, context->model->layer, encoded, first_query, causal, output, err);
}

int attend_layer(const struct experiment_context *context, const struct instance *scheme, size_t layer,
                 const struct encoded *encoded, size_t first_query, bool causal, const struct attention_output *output,
                 struct error *err) {
  const struct model *model = context->model;
  size_t nq = encoded->n - first_query;
  struct bias_context bias = {scheme,      context->weakened, encoded,
                              first_query, (unsigned)layer,   encoded->n_heads / encoded->n_kv_heads};
  struct attention_input input = {
      .n_heads = encoded->n_heads,
      .n_kv_heads = encoded->n_kv_heads,
      .nq = nq,
      .nk = encoded->n,
      .width = encoded->width,
      .value_width = encoded->v ? encoded->value_width : 0,
      .q = encoded->q,
      .k = encoded->k,
      .v = encoded->v,
      .scale = model->scale_is_trained ? model->score_scale : instance_score_scale(scheme, model->score_scale),
      .causal = causal,
      .padding_k = encoded->padding,
  };
  float *rows = NULL;
  float *distances = NULL;
  if (first_query != encoded->queries_from) {
    input.q = rows = query_rows(encoded, first_query, err);
    if (!rows) {
      return err->code;
    }
  }
  if (instance_sites(scheme) & PE_SITE_BIAS) {
    if (bias_follows_from_distance(scheme, encoded)) {
      input.bias_by_distance = distances = bias_by_distance(&bias, nq, encoded->n_heads, err);
      if (!distances) {
        free(rows);
        return err->code;
      }
    } else {
      input.bias = add_bias;
      input.bias_context = &bias;
    }
  }
  int status =
      context->reference ? attention_reference(&input, output, err) : attention_run(&input, output, context->pool, err);
  free(rows);
  free(distances);
  return status;
}

float *attention_weights(const struct experiment_context *context, const struct instance *scheme,
                         const struct sequence *sequence, size_t first_query, bool causal, struct error *err) {
  struct encoded encoded;
  struct sequence keys_alone = *sequence;
  keys_alone.without_values = true;
  keys_alone.queries_from = first_query;
  if (encode_sequence(context, scheme, &keys_alone, &encoded, err)) {
    return NULL;
  }
  float *weights = memory_new_unset(encoded.n_heads, sequence->n - first_query, sequence->n, sizeof *weights,
                                    "attention weights", err);
  struct attention_output output = {.weights = weights};
  if (weights && attend(context, scheme, &encoded, first_query, causal, &output, err)) {
    free(weights);
    weights = NULL;
  }
  encoded_free(&encoded);
  return weights;
}
