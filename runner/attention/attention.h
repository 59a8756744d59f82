/* Attention of one layer, in row blocks and column tiles, in memory that does not grow with nq x nk.
 *
 *     s[h][i][j] = scale * q[h][i] . k[g(h)][j] + bias(h, i, j)         g(h) = h / (n_heads / n_kv_heads)
 *     a[h][i][:] = softmax over the visible keys j
 *     context[h][i] = sum_j a[h][i][j] v[g(h)][j]
 *
 * Visible: not padded, and under a causal mask j <= i + nk - nq (fewer queries than keys: aligned at the end). A row
 * without a visible key gives zeros. Masked keys are skipped, not multiplied. Distance |i + nk - nq - j| counts rows,
 * not positions.
 *
 * Bits do not depend on the number of threads.
 */
#ifndef PE_ATTENTION_ATTENTION_H
#define PE_ATTENTION_ATTENTION_H

#include "base/error.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds the bias of rows [row, row + nq) and columns [column, column + nk) of head `head` to s [nq][s_stride]. 0 or an
 * error code. [any] */
typedef int (*attention_bias)(void *context, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                              size_t s_stride, struct error *err);

struct attention_input {
  size_t n_heads, n_kv_heads; /* n_kv_heads divides n_heads */
  size_t nq, nk;
  size_t width;       /* of q and k rows */
  size_t value_width; /* of v rows; 0 without v */
  const float *q;     /* [n_heads][nq][width] */
  const float *k;     /* [n_kv_heads][nk][width] */
  const float *v;     /* [n_kv_heads][nk][value_width] or NULL */
  double scale;
  bool causal;
  const uint8_t *padding_k; /* [nk], 1: masked as key; NULL: none */
  attention_bias bias;      /* NULL: none */
  void *bias_context;
  /* A bias that depends on i - j alone, instead of `bias`: [n_heads][nq + nk - 1], element i - j + nk - 1 for query row
   * i and key row j; NULL otherwise. */
  const float *bias_by_distance;
};

/* What is wanted; NULL: not wanted. All is the caller's memory. Rows are the queries. */
struct attention_output {
  float *logits;            /* [n_heads][nq][nk]; masked entries NaN */
  float *weights;           /* [n_heads][nq][nk]; masked entries 0 */
  float *context;           /* [n_heads][nq][value_width] */
  double *entropy;          /* [n_heads][nq], nats */
  double *log_sum_exp;      /* [n_heads][nq]; -INFINITY for an empty row */
  double *max_logit;        /* [n_heads][nq]; -INFINITY for an empty row */
  double *mean_distance;    /* [n_heads][nq], sum_j a |i + nk - nq - j| */
  double *mass_on_first;    /* [n_heads][nq], weight on key 0 (the attention sink) */
  double *mass_by_distance; /* [n_heads][nk], weight at each distance, mean over rows mass_first_row .. nq - 1 */
  size_t mass_first_row;
};

/* The tiled kernel, float32 with double reductions; products by the fastest method of product.h for the length. 0,
 * ERROR_MEMORY or what `bias` returned. pool may be NULL. */
int attention_run(const struct attention_input *input, const struct attention_output *output, struct pool *pool,
                  struct error *err);

/* The same with the products of one method of product.h instead of the fastest: to compare them. */
struct product_method;
int attention_run_by(const struct product_method *product, const struct attention_input *input,
                     const struct attention_output *output, struct pool *pool, struct error *err);

/* The oracle: the formula above row by row in float64, single-threaded, never fast. Same inputs and outputs. */
int attention_reference(const struct attention_input *input, const struct attention_output *output, struct error *err);

/* Name of the kernel that attention_run uses on this machine, for the provenance: "amx, avx512". */
const char *attention_kernel_name(void);

#endif
