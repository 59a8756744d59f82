#include "attention/product.h"

#include "base/upper_halves.h"

#include <cblas.h>
#include <string.h>

#ifdef PE_HAVE_LIBXSMM
#include <libxsmm.h>
#endif

static product_kernel kernel_of_shape(size_t width, size_t n_rows, size_t n_keys, size_t c_stride) {
#ifdef PE_HAVE_LIBXSMM
  /* In the library's columns: c [n_keys x n_rows] = panel [n_keys x width] * q [width x n_rows]. */
  libxsmm_blasint m = (libxsmm_blasint)n_keys, n = (libxsmm_blasint)n_rows, k = (libxsmm_blasint)width;
  libxsmm_blasint ld_panel = PRODUCT_PANEL, ld_c = (libxsmm_blasint)c_stride;
  float alpha = 1.0f, beta = 0.0f;
  int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  return libxsmm_smmdispatch(m, n, k, &ld_panel, &k, &ld_c, &alpha, &beta, &flags, &prefetch);
#else
  (void)width, (void)n_rows, (void)n_keys, (void)c_stride;
  return NULL;
#endif
}

struct product product_of_shape(size_t width, size_t n_rows, size_t n_keys, size_t c_stride) {
  struct product product = {.width = width, .n_rows = n_rows, .n_keys = n_keys, .c_stride = c_stride};
  if (n_keys >= PRODUCT_PANEL) {
    product.whole = kernel_of_shape(width, n_rows, PRODUCT_PANEL, c_stride);
  }
  if (n_keys % PRODUCT_PANEL > 0) {
    product.rest = kernel_of_shape(width, n_rows, n_keys % PRODUCT_PANEL, c_stride);
  }
  return product;
}

void product_run(const struct product *product, const float *panels, const float *q, float *c) {
  int n_rows = (int)product->n_rows, width = (int)product->width;
  for (size_t key = 0; key < product->n_keys; key += PRODUCT_PANEL) {
    size_t left = product->n_keys - key;
    const float *panel = panels + key * product->width;
    product_kernel kernel = left < PRODUCT_PANEL ? product->rest : product->whole;
    if (kernel) {
      kernel(panel, q, c + key);
      clear_upper_halves();
    } else {
      int n_keys = (int)(left < PRODUCT_PANEL ? left : PRODUCT_PANEL);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n_rows, n_keys, width, 1.0f, q, width, panel,
                  PRODUCT_PANEL, 0.0f, c + key, (int)product->c_stride);
    }
  }
}

size_t product_panels(size_t n_keys) {
  return (n_keys + PRODUCT_PANEL - 1) / PRODUCT_PANEL;
}

size_t product_panel_size(size_t width) {
  return width * PRODUCT_PANEL;
}

void product_pack(const float *k, size_t n_keys, size_t width, float *panel) {
  if (n_keys < PRODUCT_PANEL) {
    memset(panel, 0, product_panel_size(width) * sizeof *panel);
  }
  if (n_keys > 0) {
    cblas_somatcopy(CblasRowMajor, CblasTrans, (int)n_keys, (int)width, 1.0f, k, (int)width, panel, PRODUCT_PANEL);
  }
}

const char *product_library(void) {
#ifdef PE_HAVE_LIBXSMM
  return kernel_of_shape(16, 16, 16, 16) ? "libxsmm" : "openblas";
#else
  return "openblas";
#endif
}

const char *product_target(void) {
#ifdef PE_HAVE_LIBXSMM
  return libxsmm_get_target_arch();
#else
  return "";
#endif
}
