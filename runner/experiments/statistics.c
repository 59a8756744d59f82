#include "experiments/statistics.h"

#include "experiments/divergence.h"

#include <math.h>

/* Continued fraction of the incomplete beta function by Lentz's method (Press et al., Numerical Recipes, 6.4). */
static double beta_fraction(double a, double b, double x) {
  const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (fabs(d) < tiny ? tiny : d);
  double h = d;
  for (int m = 1; m < 1000; m++) {
    double k = m;
    for (int odd = 0; odd < 2; odd++) {
      double term = odd ? -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
                        : k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
      d = 1 + term * d;
      d = 1 / (fabs(d) < tiny ? tiny : d);
      c = 1 + term / c;
      c = fabs(c) < tiny ? tiny : c;
      h *= d * c;
    }
    if (fabs(d * c - 1) < 1e-15) {
      break;
    }
  }
  return h;
}

/* Regularised incomplete beta function I_x(a, b). */
static double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_two_sided(double t, double freedom) {
  return isnan(t) ? NAN : incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_quantile(double p, double freedom) {
  double low = 0, high = 1;
  while (student_two_sided(high, freedom) > p) {
    high *= 2;
  }
  for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
    double middle = (low + high) / 2;
    if (student_two_sided(middle, freedom) > p) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return (low + high) / 2;
}

struct interval student_interval(const double *values, size_t n, double confidence) {
  struct interval out = {.mean = mean(values, n), .half = NAN};
  if (n < 2) {
    return out;
  }
  double squares = 0;
  for (size_t i = 0; i < n; i++) {
    squares += (values[i] - out.mean) * (values[i] - out.mean);
  }
  double freedom = (double)n - 1;
  out.half = student_quantile(1 - confidence, freedom) * sqrt(squares / freedom / (double)n);
  return out;
}

/* How many p values are smaller, ties before `i` among them. */
static size_t rank_of(const double *p, size_t n, size_t i) {
  size_t rank = 0;
  for (size_t j = 0; j < n; j++) {
    rank += p[j] < p[i] || (p[j] == p[i] && j < i);
  }
  return rank;
}

void holm_adjust(const double *p, size_t n, double *adjusted) {
  size_t tests = 0;
  for (size_t i = 0; i < n; i++) {
    tests += isnan(p[i]) ? 0 : 1;
  }
  for (size_t i = 0; i < n; i++) {
    adjusted[i] = isnan(p[i]) ? NAN : 0;
    /* The largest of p times the tests that are left, over all p up to this one. */
    for (size_t j = 0; j < n; j++) {
      if (p[j] <= p[i]) {
        adjusted[i] = fmax(adjusted[i], fmin(1, p[j] * (double)(tests - rank_of(p, n, j))));
      }
    }
  }
}
