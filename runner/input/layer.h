/* One attention layer's way from rows to q, k and v: layer norm (where there is one) and three projections. Shared by
 * the sources that have weights. */
#ifndef PE_INPUT_LAYER_H
#define PE_INPUT_LAYER_H

#include "base/pool.h"
#include "input/projection.h"

struct layer {
  size_t d_model;
  float *norm_scale, *norm_bias; /* [d_model], or NULL: no layer norm */
  double norm_epsilon;
  size_t head_dim, value_dim;
  struct projection q, k, v; /* d_out is n_heads * head_dim, n_kv_heads * head_dim, n_kv_heads * value_dim */
};

/* q, k, v from x [n][d_model], heads first; any may be NULL. Rows are dealt out to the pool (which may be NULL) in
 * blocks; bits do not depend on it. 0 or ERROR_MEMORY. */
int layer_project(const struct layer *layer, const float *x, size_t n, float *q, float *k, float *v, struct pool *pool,
                  struct error *err);

void layer_destroy(struct layer *layer);

#endif
