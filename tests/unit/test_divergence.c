/* Divergences and quantiles against values by hand. */
#include "experiments/divergence.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double got, double expected, double tolerance) {
  assert_true(fabs(got - expected) <= tolerance);
}

/* ln 2 for distributions that share nothing, 0 for equal ones: the bounds of Lin 1991. */
static void test_bounds(void **state) {
  (void)state;
  const float a[] = {1, 0, 0};
  const float b[] = {0, 0.5f, 0.5f};
  assert_near(divergence_jsd(a, b, 3), M_LN2, 1e-15);
  assert_near(divergence_jsd(b, b, 3), 0, 0);
}

/* p = (1, 0), q = (1/2, 1/2), m = (3/4, 1/4): (ln 4/3 + (ln 2/3 + ln 2) / 2) / 2 = 3/4 ln 4/3 = 0.2157615543388357. */
static void test_by_hand(void **state) {
  (void)state;
  const float p[] = {1, 0};
  const float q[] = {0.5f, 0.5f};
  assert_near(divergence_jsd(p, q, 2), 0.75 * log(4.0 / 3), 1e-15);
  assert_near(divergence_jsd(q, p, 2), 0.75 * log(4.0 / 3), 1e-15);
}

/* Columns that the shorter rows lack count as 0 there. */
static void test_dropped_columns(void **state) {
  (void)state;
  const float a[] = {0.25f, 0.25f, 0.5f};
  const float b[] = {0, 0.5f, 0.5f};
  assert_near(divergence_rows(a, 3, b + 1, 2, 1), divergence_jsd(a, b, 3), 1e-15);
  const float all_dropped[] = {1, 0, 0};
  assert_near(divergence_rows(all_dropped, 3, b + 1, 2, 1), M_LN2, 1e-15);
}

/* A row with nothing visible is neither near nor far. */
static void test_empty_rows(void **state) {
  (void)state;
  const float empty[] = {0, 0};
  const float q[] = {0.5f, 0.5f};
  assert_near(divergence_jsd(empty, q, 2), 0, 0);
}

/* Type 7 of Hyndman and Fan 1996, as numpy.quantile and R's default: of 1, 2, 3, 4 the 0.4 quantile is 2.2. */
static void test_quantile(void **state) {
  (void)state;
  double values[] = {4, 1, 3, 2};
  assert_near(quantile(values, 4, 0.4), 2.2, 1e-15);
  assert_near(quantile(values, 4, 0), 1, 0);
  assert_near(quantile(values, 4, 1), 4, 0);
  assert_true(isnan(quantile(values, 0, 0.5)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bounds),     cmocka_unit_test(test_by_hand),  cmocka_unit_test(test_dropped_columns),
      cmocka_unit_test(test_empty_rows), cmocka_unit_test(test_quantile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
