/* Student's t against printed tables; Holm's correction by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "experiments/statistics.h"

static void near(double got, double expected, double tolerance) {
  if (!(fabs(got - expected) <= tolerance)) {
    fail_msg("%.9g is not %.9g", got, expected);
  }
}

/* Two-sided 5 % points: any printed table of t; 1 and 2 degrees also in closed form. */
static void test_quantiles(void **state) {
  (void)state;
  near(student_quantile(0.05, 1), 12.706, 5e-4);
  near(student_quantile(0.05, 2), 4.303, 5e-4);
  near(student_quantile(0.05, 4), 2.776, 5e-4);
  near(student_quantile(0.05, 30), 2.042, 5e-4);
  near(student_quantile(0.01, 10), 3.169, 5e-4);
  near(student_two_sided(1, 1), 0.5, 1e-12);             /* Cauchy: 1 - 2 atan(t) / pi */
  near(student_two_sided(2, 2), 1 - 2 / sqrt(6), 1e-12); /* 1 - t / sqrt(2 + t^2) */
  near(student_two_sided(0, 7), 1, 1e-12);
}

static void test_interval(void **state) {
  (void)state;
  const double values[] = {1, 2, 3, 4, 5}; /* sd sqrt(2.5), se sqrt(0.5) */
  struct interval interval = student_interval(values, 5, 0.95);
  near(interval.mean, 3, 1e-12);
  near(interval.half, 2.7764451 * sqrt(0.5), 1e-6);
  assert_true(isnan(student_interval(values, 1, 0.95).half));
}

/* With known truth: of many samples from a normal distribution of mean 2, the share whose 95 % interval holds 2. 20000
 * samples leave a standard error of 0.0015. */
static void intervals_cover(void **state) {
  (void)state;
  static const size_t sizes[] = {2, 3, 5, 20};
  enum { SAMPLES = 20000, LARGEST = 20 };
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    struct rng rng = rng_stream(s, "coverage");
    double values[LARGEST];
    size_t covered = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
      for (size_t j = 0; j < sizes[s]; j++) {
        values[j] = 2 + 3 * rng_normal(&rng, i * sizes[s] + j);
      }
      struct interval interval = student_interval(values, sizes[s], 0.95);
      covered += fabs(interval.mean - 2) <= interval.half;
    }
    double share = (double)covered / SAMPLES;
    if (share < 0.93 || share > 0.97) {
      fail_msg("%zu values: %.4f of the 95 %% intervals hold the truth", sizes[s], share);
    }
  }
}

static void test_holm(void **state) {
  (void)state;
  const double p[] = {0.01, NAN, 0.04, 0.03, 0.005};
  double adjusted[5];
  holm_adjust(p, 5, adjusted); /* 4 tests: 0.005 x 4, 0.01 x 3, 0.03 x 2, then no less than that */
  near(adjusted[4], 0.02, 1e-15);
  near(adjusted[0], 0.03, 1e-15);
  near(adjusted[3], 0.06, 1e-15);
  near(adjusted[2], 0.06, 1e-15);
  assert_true(isnan(adjusted[1]));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_quantiles), cmocka_unit_test(test_interval),
                                     cmocka_unit_test(intervals_cover), cmocka_unit_test(test_holm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
