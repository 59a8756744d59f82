/* Products of float32 matrices: single-threaded calls of a library on fixed parts of matrices, so bits do not depend on
 * threads. Row-major; strides count elements. After blas_open.
 *
 * libxsmm makes a kernel for each shape at run time and works on the matrices where they lie; where it is not built in
 * or has none for this machine, CBLAS does the same, equal within rounding. A product with a transposed right-hand side
 * would have to be packed each time: those who need one keep it transposed instead. OpenBLAS takes 128 MiB of addresses
 * for each thread with a product that is not small, and tries for ever where it does not get them.
 */
#ifndef PE_BASE_MATRIX_H
#define PE_BASE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

/* A matrix by its first element and the distance between rows. */
struct matrix {
  const float *data;
  size_t stride;
};

/* c [m][n] = a b, or += with `accumulate`.  a [m][k], b [k][n]. [any] */
void matrix_product(size_t m, size_t n, size_t k, struct matrix a, struct matrix b, bool accumulate, float *c,
                    size_t c_stride);

/* The same with a transposed: a [k][m]. [any] */
void matrix_product_a_transposed(size_t m, size_t n, size_t k, struct matrix a, struct matrix b, bool accumulate,
                                 float *c, size_t c_stride);

#endif
