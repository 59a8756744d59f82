/* Rounding to narrower formats, held against the compiler's float and the definitions of the formats. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/rounding.h"

/* float32 is the compiler's conversion, over all exponents, subnormal numbers included. */
static void test_float32(void **state) {
  (void)state;
  struct rng rng = rng_stream(1, "rounding");
  for (uint64_t i = 0; i < 200000; i++) {
    double value = ldexp(rng_uniform(&rng, i) - 0.5, (int)(i % 300) - 160);
    assert_true(round_to_format(value, FORMAT_FLOAT32) == (double)(float)value);
  }
}

/* bfloat16 is the upper half of a float32, rounded to nearest even in the bits. */
static float bfloat16_by_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits += 0x7fffu + ((bits >> 16) & 1u);
  bits &= 0xffff0000u;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void test_bfloat16(void **state) {
  (void)state;
  struct rng rng = rng_stream(2, "rounding");
  for (uint64_t i = 0; i < 200000; i++) {
    float value = (float)ldexp(rng_uniform(&rng, i) - 0.5, (int)(i % 280) - 150);
    assert_true(round_to_format(value, FORMAT_BFLOAT16) == (double)bfloat16_by_bits(value));
  }
}

/* IEEE 754 binary16: 11 significant bits, 2^-14 the smallest normal, 2^-24 the smallest number, 65504 the largest. */
static void test_edges(void **state) {
  (void)state;
  static const struct {
    double value, expected;
    enum number_format format;
  } cases[] = {
      {1 + 0x1p-11, 1, FORMAT_FLOAT16},          /* tie to even */
      {1 + 0x3p-11, 1 + 0x1p-9, FORMAT_FLOAT16}, /* tie to even, upwards */
      {2049, 2048, FORMAT_FLOAT16},              /* integers are exact up to 2048 */
      {2051, 2052, FORMAT_FLOAT16},
      {65504, 65504, FORMAT_FLOAT16},
      {65519, 65504, FORMAT_FLOAT16},
      {65520, INFINITY, FORMAT_FLOAT16},
      {-65520, -INFINITY, FORMAT_FLOAT16},
      {0x1p-24, 0x1p-24, FORMAT_FLOAT16},
      {0x1p-25, 0, FORMAT_FLOAT16}, /* tie to even: zero */
      {0x1.8p-25, 0x1p-24, FORMAT_FLOAT16},
      {257, 256, FORMAT_BFLOAT16}, /* position 257 does not exist in bfloat16 */
      {259, 260, FORMAT_BFLOAT16},
      {1857, 1856, FORMAT_BFLOAT16},
      {0x1.ffp127, INFINITY, FORMAT_BFLOAT16},
      {0.1, 0.1, FORMAT_FLOAT64},
      {0, 0, FORMAT_FLOAT16},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double got = round_to_format(cases[i].value, cases[i].format);
    if (got != cases[i].expected) {
      fail_msg("%.17g as %s is %.17g, expected %.17g", cases[i].value, number_format_names[cases[i].format], got,
               cases[i].expected);
    }
  }
  assert_true(isnan(round_to_format(NAN, FORMAT_FLOAT16)));
  assert_true(isinf(round_to_format(INFINITY, FORMAT_BFLOAT16)));
  assert_true(format_epsilon(FORMAT_BFLOAT16) == 0x1p-7);
  assert_true(format_epsilon(FORMAT_FLOAT32) == 0x1p-23);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_float32), cmocka_unit_test(test_bfloat16),
                                     cmocka_unit_test(test_edges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
