/* Student's t and Holm's correction: what paired differences over seeds are judged by. */
#ifndef PE_EXPERIMENTS_STATISTICS_H
#define PE_EXPERIMENTS_STATISTICS_H

#include <stddef.h>

/* Probability that |t| of `freedom` (> 0) degrees exceeds |t|; by the incomplete beta function (Abramowitz and Stegun
 * 26.7.1, 26.5.8). */
double student_two_sided(double t, double freedom);

/* The t at which student_two_sided is `p`, 0 < p < 1. */
double student_quantile(double p, double freedom);

/* Mean of values [n] and half the width of its t interval at `confidence` (0.95); half NaN where n < 2. */
struct interval {
  double mean, half;
};
struct interval student_interval(const double *values, size_t n, double confidence);

/* adjusted [n]: p [n] after Holm 1979, at most 1, in the same order. NaN stays and does not count as a test. */
void holm_adjust(const double *p, size_t n, double *adjusted);

#endif
