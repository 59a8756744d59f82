/* Matrix products of the decoder: single-threaded calls of a library on whole or fixed parts of matrices, so bits do
 * not depend on threads. Row-major; strides count elements.
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

/* c [m][n] = factor * a b, or += with `accumulate`.  a [m][k], b [k][n]. [any] */
void product(size_t m, size_t n, size_t k, float factor, struct matrix a, struct matrix b, bool accumulate, float *c,
             size_t c_stride);

/* The same with b transposed: b [n][k]. [any] */
void product_b_transposed(size_t m, size_t n, size_t k, float factor, struct matrix a, struct matrix b, bool accumulate,
                          float *c, size_t c_stride);

/* The same with a transposed: a [k][m]. [any] */
void product_a_transposed(size_t m, size_t n, size_t k, float factor, struct matrix a, struct matrix b, bool accumulate,
                          float *c, size_t c_stride);

/* The library's own threads off; called before the first product. */
void product_single_threaded(void);

/* y [rows][out] = x w + bias, or += with `accumulate`.  x [rows][in], w [in][out], bias [out]; all contiguous. */
void linear(size_t rows, size_t in, size_t out, const float *x, const float *w, const float *bias, bool accumulate,
            float *y);

/* dx [rows][in] = dy w', or += with `accumulate`.  dy [rows][out], w [in][out]. */
void linear_backward(size_t rows, size_t in, size_t out, const float *dy, const float *w, bool accumulate, float *dx);

#endif
