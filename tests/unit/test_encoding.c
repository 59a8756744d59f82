/* The experiment `encoding`: kernels against figures computed from the formula elsewhere (mean of cos(distance x
 * inv_freq), base 10000, 128 channels: 0.9702, 0.6691, 0.4772, 0.1590 at 1, 10, 100, 1000; first negative at 1707),
 * ALiBi's slopes as its paper has them, T5's first distance of each bucket (from exact integer arithmetic), and what
 * exact arithmetic says of the rest.
 */
#include "run_config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check_at(const golden_array *array, size_t index, double expected, double tolerance) {
  assert_true(index < array->n);
  if (!(fabs(array->data[index] - expected) <= tolerance)) {
    fail_msg("element %zu is %.17g instead of %.17g", index, array->data[index], expected);
  }
}

static void test_rotation(void **state) {
  (void)state;
  config_run run;
  config_run_must_pass(&run,
                       "model: {random: {heads: 1, head_dim: 128, d_model: 128}}\n"
                       "schemes: [rope]\n"
                       "experiments:\n  - encoding: {length: 2048, train_length: 1024, probes: 1}\n",
                       "");
  golden_array kernel = config_run_read(&run, "/encoding/rope/kernel");
  assert_int_equal(kernel.n, 2048);
  check_at(&kernel, 0, 1, 1e-15);
  check_at(&kernel, 1, 0.9702, 5e-5);
  check_at(&kernel, 10, 0.6691, 5e-5);
  check_at(&kernel, 100, 0.4772, 5e-5);
  check_at(&kernel, 1000, 0.1590, 5e-5);
  golden_array negative = config_run_read(&run, "/encoding/rope/kernel_first_negative");
  check_at(&negative, 0, 1707, 0);
  golden_array wavelength = config_run_read(&run, "/encoding/rope/wavelength");
  check_at(&wavelength, 0, 2 * 3.14159265358979323846, 1e-14);
  golden_array turns = config_run_read(&run, "/encoding/rope/turns");
  check_at(&turns, 0, 1024 / (2 * 3.14159265358979323846), 1e-11);
  golden_array deviation = config_run_read(&run, "/encoding/rope/profile_deviation");
  golden_array bound = config_run_read(&run, "/encoding/rope/rounding_bound");
  for (size_t i = 0; i < deviation.n; i++) {
    assert_true(deviation.data[i] <= bound.data[0]); /* the distance alone counts */
  }
  golden_array_free(&kernel);
  golden_array_free(&negative);
  golden_array_free(&wavelength);
  golden_array_free(&turns);
  golden_array_free(&deviation);
  golden_array_free(&bound);
  config_run_free(&run);
}

/* Six heads: the slopes of four, then every other of eight (Press et al. 2022, their code). */
static void test_biases(void **state) {
  (void)state;
  static const double slopes[] = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
  static const double edges[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  config_run run;
  config_run_must_pass(&run,
                       "model: {random: {heads: 6, head_dim: 8, d_model: 16}}\n"
                       "schemes: [alibi, t5]\n"
                       "experiments:\n  - encoding: {length: 64}\n",
                       "");
  golden_array bias = config_run_read(&run, "/encoding/alibi/bias");
  assert_int_equal(bias.n, 6 * 127);
  for (size_t head = 0; head < 6; head++) {
    for (size_t i = 0; i < 127; i++) {
      check_at(&bias, head * 127 + i, -slopes[head] * fabs((double)i - 63), 1e-5);
    }
  }
  golden_array derived = config_run_read(&run, "/encoding/alibi/derived_slopes");
  golden_array buckets = config_run_read(&run, "/encoding/t5/derived_bucket_edges");
  for (size_t head = 0; head < 6; head++) {
    check_at(&derived, head, slopes[head], 1e-14 * slopes[head]);
  }
  assert_int_equal(buckets.n, 16);
  for (size_t i = 0; i < 16; i++) {
    check_at(&buckets, i, edges[i], 0);
  }
  /* Distances in one bucket share a bias, the first of the next one does not. Keys behind: query - key > 0. */
  golden_array t5 = config_run_read(&run, "/encoding/t5/bias");
  for (size_t head = 0; head < 6; head++) {
    const double *row = t5.data + head * 127 + 63;
    assert_true(row[8] == row[11] && row[12] == row[15] && row[11] != row[12]);
  }
  assert_false(config_run_has(&run, "/encoding/alibi/kernel"));
  golden_array spread = config_run_read(&run, "/encoding/none/logit_spread");
  check_at(&spread, 0, 0, 1e-6);
  golden_array_free(&bias);
  golden_array_free(&derived);
  golden_array_free(&buckets);
  golden_array_free(&t5);
  golden_array_free(&spread);
  config_run_free(&run);
}

/* PE(p) . PE(q) = sum of cos((p - q) inv_freq): on the diagonal half the width. A table ends, and what lies beyond has
 * no value. */
static void test_additive(void **state) {
  (void)state;
  config_run run;
  config_run_must_pass(&run,
                       "model: {random: {heads: 2, head_dim: 16, d_model: 32}}\n"
                       "schemes:\n  - sinusoidal\n  - learned: {max_positions: 24}\n"
                       "  - sinusoidal: {}\n    label: shuffled\n    positions: {shuffled: true}\n"
                       "experiments:\n  - encoding: {length: 40}\n",
                       "");
  golden_array rows = config_run_read(&run, "/encoding/sinusoidal/position_encoding");
  golden_array gram = config_run_read(&run, "/encoding/sinusoidal/position_gram");
  check_at(&rows, 1 * 32 + 0, sin(1), 1e-7);
  check_at(&rows, 1 * 32 + 1, cos(1), 1e-7);
  for (size_t p = 0; p < 40; p++) {
    for (size_t q = 0; q < 40; q++) {
      double expected = 0;
      for (size_t i = 0; i < 16; i++) {
        expected += cos(((double)p - (double)q) * pow(10000, -2 * (double)i / 32));
      }
      check_at(&gram, p * 40 + q, expected, 1e-5);
    }
  }
  golden_array shuffled = config_run_read(&run, "/encoding/shuffled/kernel_deviation");
  double largest = 0;
  for (size_t i = 0; i < shuffled.n; i++) {
    largest = fmax(largest, shuffled.data[i]);
  }
  assert_true(largest > 0.1); /* of shuffled positions the distance says nothing */
  golden_array defined = config_run_read(&run, "/encoding/learned/defined");
  golden_array profile = config_run_read(&run, "/encoding/learned/profile");
  for (size_t i = 0; i < 40; i++) {
    check_at(&defined, i, i < 24, 0);
    assert_true(isnan(profile.data[39 + i]) == (i >= 24));
  }
  golden_array_free(&rows);
  golden_array_free(&gram);
  golden_array_free(&shuffled);
  golden_array_free(&defined);
  golden_array_free(&profile);
  config_run_free(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rotation),
      cmocka_unit_test(test_biases),
      cmocka_unit_test(test_additive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
