#include "experiments/divergence.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* p ln(p / m), 0 at p = 0. */
static double term(double p, double m) {
  return p > 0 ? p * log(p / m) : 0;
}

/* Half the sum over n columns, of which equal ones add exactly 0; rounding can leave it a hair below 0. */
static double half_sum(const float *p, const float *q, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    double a = (double)p[i];
    double b = (double)q[i];
    if (a == b) {
      continue;
    }
    sum += term(a, (a + b) / 2) + term(b, (a + b) / 2);
  }
  return sum / 2;
}

static double total(const float *p, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += (double)p[i];
  }
  return sum;
}

/* Whether total would be more than 0: weights are not negative, and a sum that is not a number is not more than 0. */
static bool is_above_zero(const float *p, size_t n) {
  int above = 0, no_number = 0;
  for (size_t i = 0; i < n; i++) {
    above |= p[i] > 0;
    no_number |= p[i] != p[i];
  }
  return above && !no_number;
}

double divergence_jsd(const float *p, const float *q, size_t n) {
  return divergence_rows(p, n, q, n, 1);
}

double divergence_rows(const float *a, size_t na, const float *b, size_t nb, size_t rows) {
  double sum = 0;
  for (size_t row = 0; row < rows; row++) {
    const float *p = a + row * na;
    const float *q = b + row * nb;
    double dropped = total(p, na - nb);
    if (is_above_zero(p, na) && is_above_zero(q, nb)) {
      /* A column that only p has weighs p ln(p / (p / 2)) / 2 = p ln 2 / 2. */
      sum += fmax(half_sum(p + (na - nb), q, nb) + dropped * M_LN2 / 2, 0);
    }
  }
  return sum / (double)rows;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

double quantile(double *values, size_t n, double q) {
  if (n == 0) {
    return NAN;
  }
  qsort(values, n, sizeof *values, ascending);
  double place = q * (double)(n - 1);
  size_t below = (size_t)place;
  size_t above = below + 1 < n ? below + 1 : below;
  return values[below] + (place - (double)below) * (values[above] - values[below]);
}

double mean(const double *values, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += values[i];
  }
  return n ? sum / (double)n : NAN;
}
