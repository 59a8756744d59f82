/* The vector kernels of AVX-512 again, with the split product of the next tile beside the softmax of this one: tile
 * registers and vector registers have units of their own, and one thread keeps both at work. */
#include "attention/rows.h"

#if defined(__x86_64__) && defined(__linux__)
#define ROWS_TARGET __attribute__((target("avx512f,avx512dq,amx-tile,amx-bf16")))
#include "attention/product_steps.h"
#include "attention/rows_avx512_vectors.h"

struct beside {
  struct steps steps;
  size_t n_steps, done;
};

static ROWS_TARGET inline struct beside beside_start(const struct product_call *call) {
  if (!call) {
    return (struct beside){.n_steps = 0};
  }
  struct beside beside = {.steps = steps_start(call->product, call->panels, call->q, call->c)};
  beside.n_steps = steps_count(&beside.steps);
  return beside;
}

/* As much of the product as the rows are of the tile, so that the two end together. */
static ROWS_TARGET inline void beside_row(struct beside *beside, size_t row, size_t n_rows) {
  while (beside->done * n_rows < (row + 1) * beside->n_steps) {
    steps_next(&beside->steps);
    beside->done++;
  }
}

static ROWS_TARGET inline void beside_end(const struct beside *beside) {
  steps_end(&beside->steps);
}

#include "attention/rows_body.h"

const struct rows_kernels *rows_tiles(void) {
  static const struct rows_kernels kernels = {.name = "avx512",
                                              .lanes = LANES,
                                              .run = RUN,
                                              .beside = true,
                                              .softmax = softmax,
                                              .flush = flush,
                                              .scale = scale,
                                              .add_diagonals = add_diagonals,
                                              .exponential = exponential};
  return product_split() && __builtin_cpu_supports("avx512dq") ? &kernels : NULL;
}

#else

const struct rows_kernels *rows_tiles(void) {
  return NULL;
}

#endif
