/* Distances between attention patterns. */
#ifndef PE_EXPERIMENTS_DIVERGENCE_H
#define PE_EXPERIMENTS_DIVERGENCE_H

#include <stddef.h>

/* Jensen-Shannon divergence in nats, 0 .. ln 2, of two distributions of n weights; zeros are allowed:
 * (KL(p || m) + KL(q || m)) / 2, m = (p + q) / 2. Lin 1991. An all-zero row (nothing visible) against another is 0. */
double divergence_jsd(const float *p, const float *q, size_t n);

/* Mean over rows of the divergence of weights a [rows][na] from b [rows][nb] whose columns are the last nb of a's (nb
 * <= na; weight 0 on a's other columns). */
double divergence_rows(const float *a, size_t na, const float *b, size_t nb, size_t rows);

/* Quantile `q` in [0, 1] of `values` [n], by linear interpolation between order statistics (the type 7 of Hyndman and
 * Fan 1996); sorts `values` in place. NaN where n is 0. */
double quantile(double *values, size_t n, double q);

/* Mean of n values; NaN where n is 0. */
double mean(const double *values, size_t n);

#endif
