/* Seeded random projections of one attention layer, for content that comes without trained ones. */
#ifndef PE_INPUT_RANDOM_LAYER_H
#define PE_INPUT_RANDOM_LAYER_H

#include "input/layer.h"

#include <stdint.h>

struct random_layer_shape {
  size_t d_model, n_heads, n_kv_heads, head_dim;
  double correlation; /* of w_q with w_k, element by element, in [-1, 1] */
};

/* w_k and w_v are Gaussian / sqrt(d_model); w_q of a head is correlation * w_k of its key head plus
 * sqrt(1 - correlation^2) * Gaussian / sqrt(d_model). No layer norm, no biases. A pure function of seed and shape; on
 * error what was made is left for layer_destroy. 0 or ERROR_MEMORY. */
int random_layer_init(struct layer *layer, const struct random_layer_shape *shape, uint64_t seed, struct error *err);

#endif
