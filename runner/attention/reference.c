/* The oracle that the tiled kernel is held against: the definition, row by row, in float64. */
#include "attention/attention.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Buffers of one row, [nk]. */
struct row {
  float *bias;
  double *score, *weight;
  bool *visible;
};

static void mark_visible(const struct attention_input *in, size_t i, bool *visible) {
  for (size_t j = 0; j < in->nk; j++) {
    bool padded = in->padding_k && in->padding_k[j];
    bool later = in->causal && j + in->nq > i + in->nk;
    visible[j] = !padded && !later;
  }
}

/* score [nk] = scale * q . k + bias */
static int score_row(const struct attention_input *in, size_t head, size_t i, struct row *row, struct error *err) {
  for (size_t j = 0; j < in->nk; j++) {
    row->bias[j] = 0.0f;
  }
  if (in->bias) {
    int status = in->bias(in->bias_context, head, i, 1, 0, in->nk, row->bias, in->nk, err);
    if (status) {
      return status;
    }
  }
  size_t kv_head = head / (in->n_heads / in->n_kv_heads);
  const float *q = in->q + (head * in->nq + i) * in->width;
  for (size_t j = 0; j < in->nk; j++) {
    const float *k = in->k + (kv_head * in->nk + j) * in->width;
    double dot = 0.0;
    for (size_t c = 0; c < in->width; c++) {
      dot += (double)q[c] * (double)k[c];
    }
    double bias = (double)row->bias[j];
    if (in->bias_by_distance) {
      bias = (double)in->bias_by_distance[head * (in->nq + in->nk - 1) + i + in->nk - 1 - j];
    }
    row->score[j] = in->scale * dot + bias;
  }
  return 0;
}

/* weight [nk] = softmax of the visible scores. The caller gets the largest one and ln sum exp. */
static void softmax_row(size_t nk, struct row *row, double *max, double *log_sum_exp) {
  *max = -INFINITY;
  for (size_t j = 0; j < nk; j++) {
    *max = row->visible[j] ? fmax(*max, row->score[j]) : *max;
  }
  double sum = 0.0;
  for (size_t j = 0; j < nk; j++) {
    bool counts = row->visible[j] && *max > -INFINITY;
    row->weight[j] = counts ? exp(row->score[j] - *max) : 0.0;
    sum += row->weight[j];
  }
  *log_sum_exp = sum > 0.0 ? *max + log(sum) : -INFINITY;
  for (size_t j = 0; j < nk; j++) {
    row->weight[j] = sum > 0.0 ? row->weight[j] / sum : 0.0;
  }
}

static size_t distance_of(const struct attention_input *in, size_t i, size_t j) {
  size_t at_end = i + in->nk, other = j + in->nq;
  return at_end > other ? at_end - other : other - at_end;
}

/* What is wanted of the weights: sums over the row. */
static void gather_row(const struct attention_input *in, const struct attention_output *out, size_t head, size_t i,
                       const double *weight) {
  double entropy = 0.0, mean_distance = 0.0;
  for (size_t j = 0; j < in->nk; j++) {
    size_t distance = distance_of(in, i, j);
    entropy -= weight[j] > 0.0 ? weight[j] * log(weight[j]) : 0.0;
    mean_distance += weight[j] * (double)distance;
    if (out->mass_by_distance && i >= out->mass_first_row && distance < in->nk) {
      out->mass_by_distance[head * in->nk + distance] += weight[j] / (double)(in->nq - out->mass_first_row);
    }
  }
  size_t at = head * in->nq + i;
  if (out->entropy) {
    out->entropy[at] = entropy;
  }
  if (out->mean_distance) {
    out->mean_distance[at] = mean_distance;
  }
  if (out->mass_on_first) {
    out->mass_on_first[at] = in->nk ? weight[0] : 0.0;
  }
}

static void keep_row(const struct attention_input *in, const struct attention_output *out, size_t head, size_t i,
                     const struct row *row) {
  size_t at = (head * in->nq + i) * in->nk;
  for (size_t j = 0; j < in->nk; j++) {
    if (out->logits) {
      out->logits[at + j] = row->visible[j] ? (float)row->score[j] : NAN;
    }
    if (out->weights) {
      out->weights[at + j] = (float)row->weight[j];
    }
  }
  if (!out->context) {
    return;
  }
  size_t kv_head = head / (in->n_heads / in->n_kv_heads);
  for (size_t c = 0; c < in->value_width; c++) {
    double sum = 0.0;
    for (size_t j = 0; j < in->nk; j++) {
      double value = (double)in->v[(kv_head * in->nk + j) * in->value_width + c];
      sum += row->visible[j] ? row->weight[j] * value : 0.0;
    }
    out->context[(head * in->nq + i) * in->value_width + c] = (float)sum;
  }
}

int attention_reference(const struct attention_input *input, const struct attention_output *output, struct error *err) {
  assert(input->n_kv_heads > 0 && input->n_heads % input->n_kv_heads == 0);
  assert(!output->context || input->v || input->nk == 0);
  assert(!(input->bias && input->bias_by_distance));
  size_t nk = input->nk;
  struct row row = {.bias = memory_new(nk, sizeof(float), "attention reference", err),
                    .score = memory_new(nk, sizeof(double), "attention reference", err),
                    .weight = memory_new(nk, sizeof(double), "attention reference", err),
                    .visible = memory_new(nk, sizeof(bool), "attention reference", err)};
  int status = row.bias && row.score && row.weight && row.visible ? 0 : ERROR_MEMORY;
  for (size_t at = 0; !status && output->mass_by_distance && at < input->n_heads * nk; at++) {
    output->mass_by_distance[at] = 0.0;
  }
  for (size_t head = 0; !status && head < input->n_heads; head++) {
    for (size_t i = 0; !status && i < input->nq; i++) {
      mark_visible(input, i, row.visible);
      status = score_row(input, head, i, &row, err);
      if (status) {
        break;
      }
      double max, log_sum_exp;
      softmax_row(nk, &row, &max, &log_sum_exp);
      if (output->max_logit) {
        output->max_logit[head * input->nq + i] = max;
      }
      if (output->log_sum_exp) {
        output->log_sum_exp[head * input->nq + i] = log_sum_exp;
      }
      gather_row(input, output, head, i, row.weight);
      keep_row(input, output, head, i, &row);
    }
  }
  free(row.visible);
  free(row.weight);
  free(row.score);
  free(row.bias);
  return status;
}
