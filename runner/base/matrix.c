#include "base/matrix.h"

#include "base/blas.h"

#include <cblas.h>

/* Parts of a product: what is read again and again fits the first or second cache. */
enum { ROWS = 64, COLUMNS = 128, DEPTH = 128, TURNED_ROWS = 128, TURNED_DEPTH = 128 };

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* One part: c [m][n] = or += a b. */
static void part(size_t m, size_t n, size_t k, bool a_transposed, struct matrix a, struct matrix b, bool accumulate,
                 float *c, size_t c_stride) {
  small_kernel kernel = small_kernel_for(&(struct small_shape){.m = m,
                                                               .n = n,
                                                               .k = k,
                                                               .a_stride = a.stride,
                                                               .b_stride = b.stride,
                                                               .c_stride = c_stride,
                                                               .a_transposed = a_transposed,
                                                               .accumulate = accumulate});
  if (kernel) {
    small_kernel_run(kernel, a.data, b.data, c);
    return;
  }
  cblas_sgemm(CblasRowMajor, a_transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k,
              1.0f, a.data, (blasint)a.stride, b.data, (blasint)b.stride, accumulate ? 1.0f : 0.0f, c,
              (blasint)c_stride);
}

void matrix_product(size_t m, size_t n, size_t k, struct matrix a, struct matrix b, bool accumulate, float *c,
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

void matrix_product_a_transposed(size_t m, size_t n, size_t k, struct matrix a, struct matrix b, bool accumulate,
                                 float *c, size_t c_stride) {
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
