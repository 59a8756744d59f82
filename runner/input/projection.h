/* Rows times a matrix, plus a bias, for the layer's projections. Row i of the result depends on row i of the input
 * alone, bit for bit, whatever the number of rows, the threads and the processor's vector width: every sum runs over
 * the input's columns in the same order, in single precision without contraction, in blocks of 64 that are added up.
 */
#ifndef PE_INPUT_PROJECTION_H
#define PE_INPUT_PROJECTION_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { PROJECTION_PANEL = 16 };

/* w [d_in][d_out], kept in panels of 16 columns, each [d_in][16], the last one filled up with zeros. */
struct projection {
  size_t d_in, d_out;
  float *panels;
  float *bias; /* [d_out] filled up to panels, zero where there is none */
};

/* Take in w [d_in][d_out] row-major and bias [d_out] (NULL: none). 0 or ERROR_MEMORY. */
int projection_init(struct projection *projection, const float *w, const float *bias, size_t d_in, size_t d_out,
                    struct error *err);
void projection_destroy(struct projection *projection);

/* y [n][d_in] -> out: column c of row i at out[(c / head_dim) * head_stride + i * head_dim + c % head_dim]; that is
 * heads first. head_dim = d_out, head_stride = 0 gives plain rows. Thread-safe. */
void projection_rows(const struct projection *projection, const float *y, size_t n, size_t head_dim, size_t head_stride,
                     float *out);

/* Layer norm: out [n][d] = (x - mean) / sqrt(variance + epsilon) * scale + bias, statistics in double precision, the
 * variance divided by d. */
void layer_norm_rows(const float *x, size_t n, size_t d, const float *scale, const float *bias, double epsilon,
                     float *out);

#endif
