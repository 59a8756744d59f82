#include "train/linear.h"

#include "base/matrix.h"
#include "train/kernels.h"

#include <string.h>

void linear(size_t rows, size_t in, size_t out, const float *x, const float *w, const float *bias, bool accumulate,
            float *y) {
  for (size_t row = 0; row < rows; row++) {
    if (accumulate) {
      train_kernels()->add(out, bias, y + row * out);
    } else {
      memcpy(y + row * out, bias, out * sizeof *y);
    }
  }
  matrix_product(rows, out, in, (struct matrix){x, in}, (struct matrix){w, out}, true, y, out);
}

void linear_backward(size_t rows, size_t in, size_t out, const float *dy, const float *w_turned, bool accumulate,
                     float *dx) {
  matrix_product(rows, in, out, (struct matrix){dy, out}, (struct matrix){w_turned, in}, accumulate, dx, in);
}
