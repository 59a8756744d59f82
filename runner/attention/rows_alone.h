/* For vector kernels beside which nothing else is done: what rows_body.h asks for, empty. */
#ifndef PE_ATTENTION_ROWS_ALONE_H
#define PE_ATTENTION_ROWS_ALONE_H

#include "attention/product.h"

#include <assert.h>

struct beside {
  char nothing;
};

static inline struct beside beside_start(const struct product_call *call) {
  assert(!call);
  (void)call;
  return (struct beside){0};
}

static inline void beside_row(struct beside *beside, size_t row, size_t n_rows) {
  (void)beside, (void)row, (void)n_rows;
}

static inline void beside_end(const struct beside *beside) {
  (void)beside;
}

#endif
