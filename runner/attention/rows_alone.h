/* For vector kernels beside which nothing else is done: what rows_body.h asks for, empty. */
#ifndef PE_ATTENTION_ROWS_ALONE_H
#define PE_ATTENTION_ROWS_ALONE_H

#include "attention/product.h"

#include <assert.h>

struct beside {
  char nothing;
};

static inline struct beside beside_start(const struct product_call *call, size_t n_places) {
  assert(!call);
  (void)call, (void)n_places;
  return (struct beside){0};
}

static inline void beside_some(struct beside *beside) {
  (void)beside;
}

static inline void beside_end(struct beside *beside) {
  (void)beside;
}

#endif
