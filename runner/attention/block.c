#include "attention/block.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static size_t kv_head_of(const struct attention_input *in, size_t head) {
  return head / (in->n_heads / in->n_kv_heads);
}

/* Keys 0 .. n - 1 are not hidden from this query by the causal mask. */
static size_t columns_of_row(const struct attention_input *in, size_t i) {
  if (!in->causal) {
    return in->nk;
  }
  return i + 1 + in->nk > in->nq ? smaller(i + 1 + in->nk - in->nq, in->nk) : 0;
}

/* s [n_rows][stride] = scale * q . k + bias for columns column .. column + n - 1; hidden ones -INFINITY. */
static int score_tile(const struct attention_input *in, const struct block *block, const struct block_space *space,
                      size_t column, size_t n, struct error *err) {
  float *s = space->scores + column;
  const float *q = in->q + (block->head * in->nq + block->row) * in->width;
  const float *k = in->k + (kv_head_of(in, block->head) * in->nk + column) * in->width;
  int width = (int)in->width;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)block->n_rows, (int)n, width, (float)in->scale, q, width, k,
              width, 0.0f, s, (int)space->stride);
  if (in->bias) {
    int status = in->bias(in->bias_context, block->head, block->row, block->n_rows, column, n, s, space->stride, err);
    if (status) {
      return status;
    }
  }
  for (size_t r = 0; r < block->n_rows; r++) {
    float *row = s + r * space->stride;
    if (in->bias_by_distance) {
      const float *bias = in->bias_by_distance + block->head * (in->nq + in->nk - 1);
      for (size_t j = 0; j < n; j++) {
        row[j] += bias[block->row + r + in->nk - 1 - (column + j)];
      }
    }
    size_t seen = columns_of_row(in, block->row + r);
    for (size_t j = 0; j < n; j++) {
      bool padded = in->padding_k && in->padding_k[column + j];
      row[j] = padded || column + j >= seen ? -INFINITY : row[j];
    }
  }
  return 0;
}

/* Sums over the weights of one row, before they are divided by `sum`. */
struct row_sums {
  double max, sum, entropy, distance;
};

/* s [n] becomes exp(s - max). */
static struct row_sums exponentiate(float *s, size_t n, ptrdiff_t distance_of_first) {
  struct row_sums row = {.max = -INFINITY};
  for (size_t j = 0; j < n; j++) {
    row.max = fmax(row.max, (double)s[j]);
  }
  for (size_t j = 0; j < n; j++) {
    double below = (double)s[j] - row.max;
    double e = s[j] > -INFINITY ? exp(below) : 0.0;
    row.sum += e;
    row.entropy -= e > 0.0 ? e * below : 0.0;
    row.distance += e * fabs((double)(distance_of_first - (ptrdiff_t)j));
    s[j] = (float)e;
  }
  return row;
}

static void keep_logits(const struct attention_input *in, float *logits, const float *s, size_t n) {
  for (size_t j = 0; j < in->nk; j++) {
    bool padded = in->padding_k && in->padding_k[j];
    logits[j] = j < n && !padded ? s[j] : NAN;
  }
}

/* context [value_width] = sum over the visible keys */
static void keep_context(const struct attention_input *in, size_t head, float *context, const float *e, double inverse,
                         size_t n) {
  for (size_t c = 0; c < in->value_width; c++) {
    double sum = 0.0;
    for (size_t j = 0; j < n; j++) {
      bool padded = in->padding_k && in->padding_k[j];
      double value = (double)in->v[(kv_head_of(in, head) * in->nk + j) * in->value_width + c];
      sum += padded ? 0.0 : (double)e[j] * value;
    }
    context[c] = (float)(sum * inverse);
  }
}

static void finish_row(const struct attention_input *in, const struct attention_output *out, size_t head, size_t i,
                       float *s, double *mass, ptrdiff_t largest_distance) {
  size_t n = columns_of_row(in, i), at = head * in->nq + i;
  ptrdiff_t distance_of_first = (ptrdiff_t)i + (ptrdiff_t)in->nk - (ptrdiff_t)in->nq;
  if (out->logits) {
    keep_logits(in, out->logits + at * in->nk, s, n);
  }
  struct row_sums row = exponentiate(s, n, distance_of_first);
  double inverse = row.sum > 0.0 ? 1.0 / row.sum : 0.0;
  if (out->entropy) {
    out->entropy[at] = row.sum > 0.0 ? log(row.sum) + row.entropy * inverse : 0.0;
  }
  if (out->log_sum_exp) {
    out->log_sum_exp[at] = row.sum > 0.0 ? row.max + log(row.sum) : -INFINITY;
  }
  if (out->max_logit) {
    out->max_logit[at] = row.max;
  }
  if (out->mean_distance) {
    out->mean_distance[at] = row.distance * inverse;
  }
  if (out->mass_on_first) {
    out->mass_on_first[at] = n > 0 ? (double)s[0] * inverse : 0.0;
  }
  if (out->weights) {
    for (size_t j = 0; j < in->nk; j++) {
      out->weights[at * in->nk + j] = j < n ? (float)((double)s[j] * inverse) : 0.0f;
    }
  }
  if (out->context) {
    keep_context(in, head, out->context + at * in->value_width, s, inverse, n);
  }
  if (mass && i >= out->mass_first_row) {
    double *here = mass + (largest_distance - distance_of_first);
    for (size_t j = 0; j < n; j++) {
      here[j] += (double)s[j] * inverse;
    }
  }
}

int block_run(const struct attention_input *input, const struct attention_output *output, const struct block *block,
              const struct block_space *space, double *mass, ptrdiff_t largest_distance, struct error *err) {
  for (size_t column = 0; column < block->n_columns; column += BLOCK_TILE) {
    size_t n = smaller(BLOCK_TILE, block->n_columns - column);
    int status = score_tile(input, block, space, column, n, err);
    if (status) {
      return status;
    }
  }
  for (size_t r = 0; r < block->n_rows; r++) {
    finish_row(input, output, block->head, block->row + r, space->scores + r * space->stride, mass, largest_distance);
  }
  return 0;
}
