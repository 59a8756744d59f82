#include "train/product.h"

#include "base/upper_halves.h"
#include "train/kernels.h"

#include <cblas.h>
#include <string.h>

#ifdef PE_HAVE_LIBXSMM
#include <libxsmm.h>
#endif

/* Parts of a product: what is read again and again fits the first or second cache. */
enum { ROWS = 64, COLUMNS = 128, DEPTH = 128, TURNED_ROWS = 128, TURNED_DEPTH = 128 };

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* One part: c [m][n] = or += a b. */
static void part(size_t m, size_t n, size_t k, bool a_transposed, struct matrix a, struct matrix b, bool accumulate,
                 float *c, size_t c_stride) {
  float alpha = 1.0f, beta = accumulate ? 1.0f : 0.0f;
#ifdef PE_HAVE_LIBXSMM
  /* In the library's columns: c' [n x m] = b' [n x k] a' [k x m]. */
  libxsmm_blasint ld_a = (libxsmm_blasint)a.stride, ld_b = (libxsmm_blasint)b.stride, ld_c = (libxsmm_blasint)c_stride;
  int flags = a_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  libxsmm_smmfunction kernel = libxsmm_smmdispatch((libxsmm_blasint)n, (libxsmm_blasint)m, (libxsmm_blasint)k, &ld_b,
                                                   &ld_a, &ld_c, &alpha, &beta, &flags, &prefetch);
  if (kernel) {
    kernel(b.data, a.data, c);
    clear_upper_halves();
    return;
  }
#endif
  cblas_sgemm(CblasRowMajor, a_transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k,
              alpha, a.data, (blasint)a.stride, b.data, (blasint)b.stride, beta, c, (blasint)c_stride);
}

void product(size_t m, size_t n, size_t k, struct matrix a, struct matrix b, bool accumulate, float *c,
             size_t c_stride) {
  for (size_t row = 0; row < m; row += ROWS) {
    for (size_t column = 0; column < n; column += COLUMNS) {
      for (size_t depth = 0; depth < k; depth += DEPTH) {
        struct matrix a_part = {a.data + row * a.stride + depth, a.stride};
        struct matrix b_part = {b.data + depth * b.stride + column, b.stride};
        part(smaller(ROWS, m - row), smaller(COLUMNS, n - column), smaller(DEPTH, k - depth), false, a_part, b_part,
             accumulate || depth > 0, c + row * c_stride + column, c_stride);
      }
    }
  }
}

void product_a_transposed(size_t m, size_t n, size_t k, struct matrix a, struct matrix b, bool accumulate, float *c,
                          size_t c_stride) {
  for (size_t row = 0; row < m; row += TURNED_ROWS) {
    for (size_t column = 0; column < n; column += COLUMNS) {
      for (size_t depth = 0; depth < k; depth += TURNED_DEPTH) {
        struct matrix a_part = {a.data + depth * a.stride + row, a.stride};
        struct matrix b_part = {b.data + depth * b.stride + column, b.stride};
        part(smaller(TURNED_ROWS, m - row), smaller(COLUMNS, n - column), smaller(TURNED_DEPTH, k - depth), true,
             a_part, b_part, accumulate || depth > 0, c + row * c_stride + column, c_stride);
      }
    }
  }
}

void linear(size_t rows, size_t in, size_t out, const float *x, const float *w, const float *bias, bool accumulate,
            float *y) {
  for (size_t row = 0; row < rows; row++) {
    if (accumulate) {
      train_kernels()->add(out, bias, y + row * out);
    } else {
      memcpy(y + row * out, bias, out * sizeof *y);
    }
  }
  product(rows, out, in, (struct matrix){x, in}, (struct matrix){w, out}, true, y, out);
}

void linear_backward(size_t rows, size_t in, size_t out, const float *dy, const float *w_turned, bool accumulate,
                     float *dx) {
  product(rows, in, out, (struct matrix){dy, out}, (struct matrix){w_turned, in}, accumulate, dx, in);
}
