#include "attention/product.h"

size_t product_panels(size_t n_keys) {
  return (n_keys + PRODUCT_PANEL - 1) / PRODUCT_PANEL;
}

const struct product_method *product_best(void) {
  const struct product_method *split = product_split();
  return split ? split : product_float32();
}
