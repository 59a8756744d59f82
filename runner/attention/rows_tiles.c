/* The vector kernels of AVX-512 again, with the split product of the next tile beside the softmax of this one: tile
 * registers and vector registers have units of their own, and one thread keeps both at work. */
#include "attention/rows.h"

#if defined(__x86_64__) && defined(__linux__)
#define ROWS_TARGET __attribute__((target("avx512f,avx512dq,amx-tile,amx-bf16")))
#include "attention/product_steps.h"
#include "attention/rows_avx512_vectors.h"

struct beside {
  struct steps steps;
  size_t n_steps, n_places, credit, left;
};

static ROWS_TARGET inline struct beside beside_start(const struct product_call *call, size_t n_places) {
  if (!call) {
    return (struct beside){.n_places = 1};
  }
  struct beside beside = {.steps = steps_start(call->product, call->panels, call->q, call->c), .n_places = n_places};
  beside.n_steps = beside.left = steps_count(&beside.steps);
  return beside;
}

/* As many steps as make both end together. */
static ROWS_TARGET inline void beside_some(struct beside *beside) {
  beside->credit += beside->n_steps;
  while (beside->credit >= beside->n_places) {
    beside->credit -= beside->n_places;
    steps_next(&beside->steps);
    beside->left--;
  }
}

static ROWS_TARGET inline void beside_end(struct beside *beside) {
  for (; beside->left > 0; beside->left--) {
    steps_next(&beside->steps);
  }
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
  return product_split() ? &kernels : NULL;
}

#else

const struct rows_kernels *rows_tiles(void) {
  return NULL;
}

#endif
