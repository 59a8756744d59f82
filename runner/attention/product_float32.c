#include "attention/product.h"

#include "base/blas.h"

#include <cblas.h>
#include <string.h>

/* A panel is [width][PRODUCT_PANEL]: keys side by side, channel by channel, zeros where there are no more keys. */
static size_t panel_bytes(size_t width) {
  return width * PRODUCT_PANEL * sizeof(float);
}

/* [n_rows][width], rounded up to whole cache lines. */
static size_t query_bytes(size_t n_rows, size_t width) {
  return (n_rows * width * sizeof(float) + 63) / 64 * 64;
}

static bool pack_keys(const float *k, size_t n_keys, size_t width, void *panel) {
  if (n_keys < PRODUCT_PANEL) {
    memset(panel, 0, panel_bytes(width));
  }
  if (n_keys > 0) {
    cblas_somatcopy(CblasRowMajor, CblasTrans, (int)n_keys, (int)width, 1.0f, k, (int)width, panel, PRODUCT_PANEL);
  }
  return true;
}

static bool pack_queries(const float *q, size_t n_rows, size_t width, float scale, void *packed) {
  float *scaled = packed;
  for (size_t at = 0; at < n_rows * width; at++) {
    scaled[at] = q[at] * scale;
  }
  return true;
}

/* c [n_rows][n_keys] = q [n_rows][width] panel [width][n_keys]. */
static small_kernel kernel_of_shape(size_t width, size_t n_rows, size_t n_keys, size_t c_stride) {
  return small_kernel_for(&(struct small_shape){
      .m = n_rows, .n = n_keys, .k = width, .a_stride = width, .b_stride = PRODUCT_PANEL, .c_stride = c_stride});
}

static void run(const struct product *product, const void *panels, const void *q, float *c) {
  int n_rows = (int)product->n_rows, width = (int)product->width;
  for (size_t key = 0; key < product->n_keys; key += PRODUCT_PANEL) {
    size_t left = product->n_keys - key;
    const float *panel = (const float *)panels + key * product->width;
    small_kernel kernel = left < PRODUCT_PANEL ? product->rest : product->whole;
    if (kernel) {
      small_kernel_run(kernel, q, panel, c + key);
    } else {
      int n_keys = (int)(left < PRODUCT_PANEL ? left : PRODUCT_PANEL);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n_rows, n_keys, width, 1.0f, q, width, panel,
                  PRODUCT_PANEL, 0.0f, c + key, (int)product->c_stride);
    }
  }
}

static struct product of_shape(size_t width, size_t n_rows, size_t n_keys, size_t c_stride) {
  struct product product = {.width = width, .n_rows = n_rows, .n_keys = n_keys, .c_stride = c_stride, .run = run};
  if (n_keys >= PRODUCT_PANEL) {
    product.whole = kernel_of_shape(width, n_rows, PRODUCT_PANEL, c_stride);
  }
  if (n_keys % PRODUCT_PANEL > 0) {
    product.rest = kernel_of_shape(width, n_rows, n_keys % PRODUCT_PANEL, c_stride);
  }
  return product;
}

static void nothing(void) {
}

#define FLOAT32(library)                                                                                               \
  {                                                                                                                    \
    .name = (library), .rows = 16, .panel_bytes = panel_bytes, .query_bytes = query_bytes, .pack_keys = pack_keys,     \
    .pack_queries = pack_queries, .of_shape = of_shape, .begin = nothing, .end = nothing                               \
  }

const struct product_method *product_float32(void) {
  static const struct product_method by_libxsmm = FLOAT32("libxsmm"), by_openblas = FLOAT32("openblas");
  return kernel_of_shape(16, 16, 16, 16) ? &by_libxsmm : &by_openblas;
}
