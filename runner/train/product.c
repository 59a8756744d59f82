#include "train/product.h"

#include "train/kernels.h"

#include <cblas.h>
#include <string.h>

static void call(CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, size_t m, size_t n, size_t k, float factor,
                 struct matrix a, struct matrix b, bool accumulate, float *c, size_t c_stride) {
  cblas_sgemm(CblasRowMajor, a_form, b_form, (blasint)m, (blasint)n, (blasint)k, factor, a.data, (blasint)a.stride,
              b.data, (blasint)b.stride, accumulate ? 1.0f : 0.0f, c, (blasint)c_stride);
}

void product(size_t m, size_t n, size_t k, float factor, struct matrix a, struct matrix b, bool accumulate, float *c,
             size_t c_stride) {
  call(CblasNoTrans, CblasNoTrans, m, n, k, factor, a, b, accumulate, c, c_stride);
}

void product_b_transposed(size_t m, size_t n, size_t k, float factor, struct matrix a, struct matrix b, bool accumulate,
                          float *c, size_t c_stride) {
  call(CblasNoTrans, CblasTrans, m, n, k, factor, a, b, accumulate, c, c_stride);
}

void product_a_transposed(size_t m, size_t n, size_t k, float factor, struct matrix a, struct matrix b, bool accumulate,
                          float *c, size_t c_stride) {
  call(CblasTrans, CblasNoTrans, m, n, k, factor, a, b, accumulate, c, c_stride);
}

void product_single_threaded(void) {
  openblas_set_num_threads(1);
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
  product(rows, out, in, 1.0f, (struct matrix){x, in}, (struct matrix){w, out}, true, y, out);
}

void linear_backward(size_t rows, size_t in, size_t out, const float *dy, const float *w, bool accumulate, float *dx) {
  product_b_transposed(rows, in, out, 1.0f, (struct matrix){dy, out}, (struct matrix){w, out}, accumulate, dx, in);
}
