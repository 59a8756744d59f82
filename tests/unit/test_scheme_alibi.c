/* ALiBi beyond its golden cases: exact slopes for every head count, and four ways in which other implementations went
 * wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bias_check.h"

static double *slopes_of(uint32_t heads, const plugin_setting *settings, size_t n_settings) {
  plugin_fixture alibi;
  plugin_fixture_require(&alibi, "alibi",
                         &(plugin_request){.n_heads = heads, .settings = settings, .n_settings = n_settings});
  plugin_derived slopes = plugin_fixture_derived(&alibi, "slopes", 1);
  assert_int_equal(slopes.n, heads);
  plugin_fixture_close(&alibi);
  return slopes.data;
}

/* ---- exact powers ---- */

enum { WORDS = 600 };

/* Bits of factor^times, in exact integers. factor < 2^55, times <= 256. */
static size_t bits_of_power(uint64_t factor, uint32_t times) {
  uint32_t word[WORDS] = {1};
  size_t n = 1;
  for (uint32_t step = 0; step < times; step++) {
    uint32_t product[WORDS + 2] = {0};
    for (int half = 0; half < 2; half++) {
      const uint64_t part = half ? factor >> 32 : factor & 0xffffffffu;
      uint64_t carry = 0;
      for (size_t i = 0; i < n || carry; i++) {
        carry += (i < n ? word[i] * part : 0) + product[i + (size_t)half];
        product[i + (size_t)half] = (uint32_t)carry;
        carry >>= 32;
      }
    }
    n += 2;
    while (n > 1 && product[n - 1] == 0) {
      n--;
    }
    assert_true(n < WORDS);
    memcpy(word, product, n * sizeof *word);
  }
  size_t bits = (n - 1) * 32;
  for (uint32_t top = word[n - 1]; top; top >>= 1) {
    bits++;
  }
  return bits;
}

/* slope = 2^-(numerator / denominator) within one unit in the last place: with slope = m 2^e and m of 53 bits,
 * (m - 1)^denominator < 2^(-numerator - e denominator) < (m + 1)^denominator, which the number of bits decides. */
static void check_power(double slope, uint32_t heads, uint32_t head, uint32_t numerator, uint32_t denominator) {
  if (numerator % denominator == 0) {
    assert_true(slope == ldexp(1.0, -(int)(numerator / denominator)));
    return;
  }
  int exponent = 0;
  const uint64_t m = (uint64_t)ldexp(frexp(slope, &exponent), 53);
  const size_t power = (size_t)(-(int)numerator - (exponent - 53) * (int)denominator);
  if (bits_of_power(m - 1, denominator) > power || bits_of_power(m + 1, denominator) <= power) {
    fail_msg("%u heads: slope %u is %.17g, which is not 2^-(%u/%u)", heads, head, slope, numerator, denominator);
  }
}

/* The authors' rule: the powers of c heads, c the largest power of two, then every other one of 2c heads. */
static void test_slopes_are_exact_powers(void **state) {
  (void)state;
  for (uint32_t heads = 1; heads <= 128; heads++) {
    double *slopes = slopes_of(heads, NULL, 0);
    uint32_t c = 1;
    while (2 * c <= heads) {
      c *= 2;
    }
    for (uint32_t head = 0; head < heads; head++) {
      if (head < c) {
        check_power(slopes[head], heads, head, 8 * (head + 1), c);
      } else {
        check_power(slopes[head], heads, head, 8 * (2 * (head - c) + 1), 2 * c);
      }
    }
    free(slopes);
  }
}

static void test_geometric_slopes_are_exact_powers(void **state) {
  (void)state;
  const plugin_setting settings[] = {PLUGIN_TEXT("slopes", "geometric")};
  for (uint32_t heads = 1; heads <= 128; heads++) {
    double *slopes = slopes_of(heads, settings, 1);
    for (uint32_t head = 0; head < heads; head++) {
      check_power(slopes[head], heads, head, 8 * (head + 1), heads);
    }
    free(slopes);
  }
}

/* alibi_bias_max 16: the exponents double. */
static void test_max_bias(void **state) {
  (void)state;
  const plugin_setting settings[] = {PLUGIN_NUMBER("max_bias", 16)};
  double *slopes = slopes_of(12, settings, 1);
  for (uint32_t head = 0; head < 8; head++) {
    check_power(slopes[head], 12, head, 16 * (head + 1), 8);
  }
  for (uint32_t head = 8; head < 12; head++) {
    check_power(slopes[head], 12, head, 16 * (2 * (head - 8) + 1), 16);
  }
  free(slopes);
}

static void test_list_of_slopes(void **state) {
  (void)state;
  const double list[] = {0.75, 0, 3};
  const plugin_setting settings[] = {PLUGIN_LIST("slopes", list, 3)};
  double *slopes = slopes_of(3, settings, 1);
  assert_memory_equal(slopes, list, sizeof list);
  free(slopes);
  plugin_fixture alibi;
  assert_int_equal(plugin_fixture_open(&alibi, "alibi", &(plugin_request){.n_heads = 4, PLUGIN_SETTINGS(settings)}),
                   PE_ERR_PARAM);
  assert_non_null(strstr(alibi.error.msg, "3 values for 4 heads"));
  plugin_fixture_close(&alibi);
  const double negative[] = {0.5, -0.25};
  const plugin_setting refused[] = {PLUGIN_LIST("slopes", negative, 2)};
  assert_int_equal(plugin_fixture_open(&alibi, "alibi", &(plugin_request){.n_heads = 2, PLUGIN_SETTINGS(refused)}),
                   PE_ERR_PARAM);
  plugin_fixture_close(&alibi);
}

/* ---- reported faults ---- */

/* ml-explore/mlx#3071: one formula for all head counts. Values of the original get_slopes, ten digits. */
static void test_slopes_for_no_power_of_two(void **state) {
  (void)state;
  static const double twelve[] = {.5,       .25,       .125,        .0625,       .03125,      .015625,
                                  .0078125, .00390625, .7071067812, .3535533906, .1767766953, .0883883476};
  static const double three[] = {.0625, .00390625, .25};
  double *slopes = slopes_of(12, NULL, 0);
  for (size_t head = 0; head < 12; head++) {
    assert_true(fabs(slopes[head] - twelve[head]) < 5e-11);
  }
  free(slopes);
  slopes = slopes_of(3, NULL, 0);
  assert_memory_equal(slopes, three, sizeof three);
  free(slopes);
  slopes = slopes_of(1, NULL, 0);
  assert_true(slopes[0] == .00390625);
  free(slopes);
  const plugin_setting geometric[] = {PLUGIN_TEXT("slopes", "geometric")};
  slopes = slopes_of(12, geometric, 1);
  assert_true(fabs(slopes[0] - .6299605249) < 5e-11);
  free(slopes);
}

/* Softmax of the first `visible` scores of a row, in double. */
static void softmax(const float *s, size_t visible, double *weights) {
  double sum = 0;
  for (size_t i = 0; i < visible; i++) {
    weights[i] = exp((double)s[i]);
    sum += weights[i];
  }
  for (size_t i = 0; i < visible; i++) {
    weights[i] /= sum;
  }
}

static void check_weights(const double *weights, const double *expected, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!(fabs(weights[i] - expected[i]) < 1e-7)) {
      fail_msg("weight %zu is %.10f, not %.10f", i, weights[i], expected[i]);
    }
  }
}

/* softmax(0, -.5, -1, -1.5), ten digits. */
static const double falling[] = {.4550542339, .2760043447, .1674050973, .1015363241};
static const double rising[] = {.1015363241, .1674050973, .2760043447, .4550542339};

/* mosaicml/llm-foundry#186: a bias of the key alone, used without a causal mask, favours the last keys. */
static void test_bias_without_a_mask(void **state) {
  (void)state;
  plugin_fixture alibi;
  plugin_fixture_require(&alibi, "alibi", &(plugin_request){.n_heads = 8});
  double *pos = bias_positions(0, 1, 4);
  float *bias = bias_matrix(&alibi, 0, 4, pos, 4, pos);
  assert_true(bias[3] == -1.5f);
  double weights[4];
  softmax(bias, 4, weights);
  check_weights(weights, falling, 4);
  for (size_t head = 0; head < 8; head++) {
    for (size_t row = 0; row < 4; row++) {
      for (size_t col = 0; col < 4; col++) {
        assert_true(bias[head * 16 + row * 4 + col] == bias[head * 16 + col * 4 + row]);
      }
    }
  }
  free(bias);
  free(pos);
  plugin_fixture_close(&alibi);
}

/* keras-team/keras-hub#2861: in a step with one query the bias was built over the query length and came out as zero. */
static void test_one_query_against_a_cache(void **state) {
  (void)state;
  plugin_fixture alibi;
  plugin_fixture_require(&alibi, "alibi", &(plugin_request){.n_heads = 8});
  double *pos = bias_positions(0, 1, 4);
  float *step = bias_matrix(&alibi, 4, 1, pos + 3, 4, pos);
  float *full = bias_matrix(&alibi, 4, 4, pos, 4, pos);
  double weights[4];
  softmax(step, 4, weights);
  check_weights(weights, rising, 4);
  for (size_t head = 0; head < 8; head++) {
    assert_memory_equal(step + head * 4, full + head * 16 + 12, 4 * sizeof *step);
  }
  free(full);
  free(step);
  free(pos);
  plugin_fixture_close(&alibi);
}

/* ---- rules of distance ---- */

static void test_causal_is_zero_ahead_of_the_query(void **state) {
  (void)state;
  const plugin_setting settings[] = {PLUGIN_TEXT("distance", "causal")};
  plugin_fixture symmetric;
  plugin_fixture causal;
  plugin_fixture_require(&symmetric, "alibi", &(plugin_request){.n_heads = 6});
  plugin_fixture_require(&causal, "alibi", &(plugin_request){.n_heads = 6, PLUGIN_SETTINGS(settings)});
  double *pos = bias_positions(-3.5, 0.75, 12);
  float *both = bias_matrix(&symmetric, 0, 12, pos, 12, pos);
  float *past = bias_matrix(&causal, 0, 12, pos, 12, pos);
  for (size_t i = 0; i < 6 * 144; i++) {
    const size_t row = i / 12 % 12;
    const size_t col = i % 12;
    assert_true(past[i] == (col <= row ? both[i] : 0.0f));
  }
  assert_int_equal(symmetric.scheme->traits, PE_TRAIT_RELATIVE);
  assert_int_equal(symmetric.scheme->instance_traits(symmetric.instance), PE_TRAIT_RELATIVE);
  assert_int_equal(causal.scheme->instance_traits(causal.instance), PE_TRAIT_RELATIVE | PE_TRAIT_CAUSAL_ONLY);
  free(past);
  free(both);
  free(pos);
  plugin_fixture_close(&causal);
  plugin_fixture_close(&symmetric);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slopes_are_exact_powers),
      cmocka_unit_test(test_geometric_slopes_are_exact_powers),
      cmocka_unit_test(test_max_bias),
      cmocka_unit_test(test_list_of_slopes),
      cmocka_unit_test(test_slopes_for_no_power_of_two),
      cmocka_unit_test(test_bias_without_a_mask),
      cmocka_unit_test(test_one_query_against_a_cache),
      cmocka_unit_test(test_causal_is_zero_ahead_of_the_query),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
