#include "host/fp_environment.h"

#include <fenv.h>
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cmocka.h>

static void test_rounding(void **state) {
  (void)state;
  struct fp_environment before = fp_environment_get();
  assert_false(fp_environment_restore(&before));
  fesetround(FE_UPWARD);
  assert_true(fp_environment_restore(&before));
  assert_int_equal(fegetround(), FE_TONEAREST);
  assert_false(fp_environment_restore(&before));
}

#if defined(__x86_64__)
static void test_flush_to_zero(void **state) {
  (void)state;
  struct fp_environment before = fp_environment_get();
  _mm_setcsr(_mm_getcsr() | 0x8040u);
  assert_true(fp_environment_restore(&before));
  /* DBL_MIN / 4 as published for this check: subnormal, not 0. */
  volatile double smallest = DBL_MIN;
  assert_true(smallest / 4 == 5.56268464626800345e-309);
}

static void test_traps(void **state) {
  (void)state;
  struct fp_environment before = fp_environment_get();
  _mm_setcsr(_mm_getcsr() & ~0x0200u); /* division by zero traps */
  assert_true(fp_environment_restore(&before));
  volatile float zero = 0;
  volatile float infinite = 1 / zero;
  (void)infinite;
}

static void test_x87_precision(void **state) {
  (void)state;
  struct fp_environment before = fp_environment_get();
  uint16_t word = (uint16_t)(before.x87 & ~0x0300u); /* 24 bits of precision */
  __asm__ volatile("fldcw %0" : : "m"(word));
  assert_true(fp_environment_restore(&before));
  volatile long double one = 1, three = 3;
  assert_true((double)(one / three * three) == 1.0);
  assert_int_equal(fp_environment_get().x87, before.x87);
}

static void test_sticky_flags_do_not_count(void **state) {
  (void)state;
  struct fp_environment before = fp_environment_get();
  volatile float zero = 0;
  volatile float infinite = 1 / zero;
  (void)infinite;
  assert_false(fp_environment_restore(&before));
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rounding),
#if defined(__x86_64__)
    cmocka_unit_test(test_flush_to_zero),
    cmocka_unit_test(test_traps),
    cmocka_unit_test(test_x87_precision),
    cmocka_unit_test(test_sticky_flags_do_not_count),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
