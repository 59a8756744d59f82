/* Matrix products of the decoder: single-threaded calls of a library on fixed parts of matrices, so bits do not depend
 * on threads. Row-major; strides count elements.
 *
 * libxsmm makes a kernel for each shape at run time and works on the matrices where they lie; where it is not built in
 * or has none for this machine, CBLAS does the same, equal within rounding. A product with a transposed right-hand side
 * would have to be packed each time: the decoder keeps those transposed instead.
 */
#ifndef PE_TRAIN_PRODUCT_H
#define PE_TRAIN_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* A matrix by its first element and the distance between rows. */
struct matrix {
  const float *data;
  size_t stride;
};

/* c [m][n] = a b, or += with `accumulate`.  a [m][k], b [k][n]. [any] */
void product(size_t m, size_t n, size_t k, struct matrix a, struct matrix b, bool accumulate, float *c,
             size_t c_stride);

/* The same with a transposed: a [k][m]. [any] */
void product_a_transposed(size_t m, size_t n, size_t k, struct matrix a, struct matrix b, bool accumulate, float *c,
                          size_t c_stride);

/* y [rows][out] = x w + bias, or += with `accumulate`.  x [rows][in], w [in][out], bias [out]; all contiguous. */
void linear(size_t rows, size_t in, size_t out, const float *x, const float *w, const float *bias, bool accumulate,
            float *y);

/* dx [rows][in] = dy w', or += with `accumulate`.  dy [rows][out], w_turned [out][in] is w'. */
void linear_backward(size_t rows, size_t in, size_t out, const float *dy, const float *w_turned, bool accumulate,
                     float *dx);

#endif
