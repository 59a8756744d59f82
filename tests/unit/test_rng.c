#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Random123 1.14, tests/kat_vectors: philox4x32 10, counter 0, key 0. */
static void test_known_answer(void **state) {
  (void)state;
  static const uint32_t EXPECTED[4] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
  struct rng zero = {{0, 0}, {0, 0}};
  for (uint64_t i = 0; i < 4; i++) {
    assert_int_equal(rng_bits(&zero, i), EXPECTED[i]);
  }
}

/* FNV-1a 64 of "foobar", http://www.isthe.com/chongo/tech/comp/fnv: 0x85944171f73967e8. */
static void test_stream_is_seed_and_name(void **state) {
  (void)state;
  struct rng stream = rng_stream(UINT64_C(0x0123456789abcdef), "foobar");
  assert_int_equal(stream.key[0], 0x89abcdefu);
  assert_int_equal(stream.key[1], 0x01234567u);
  assert_int_equal(stream.stream[0], 0xf73967e8u);
  assert_int_equal(stream.stream[1], 0x85944171u);
}

static void test_uniform(void **state) {
  (void)state;
  /* From the known answer: words 0 and 1 are the low and high half of 64 bits, of which the top 52 count. */
  struct rng zero = {{0, 0}, {0, 0}};
  double expected = ((double)(UINT64_C(0xe169c58d6627e8d5) >> 12) + 0.5) / 4503599627370496.0;
  assert_true(rng_uniform(&zero, 0) == expected);

  struct rng stream = rng_stream(17, "uniform");
  enum { COUNT = 100000 };
  double sum = 0;
  for (uint64_t i = 0; i < COUNT; i++) {
    double value = rng_uniform(&stream, i);
    assert_true(value > 0 && value < 1);
    sum += value;
  }
  /* Standard deviation of the mean: sqrt(1 / 12 / COUNT) = 9.1e-4; five of them. */
  assert_true(fabs(sum / COUNT - 0.5) < 5 * sqrt(1.0 / 12 / COUNT));
}

static void test_normal_moments(void **state) {
  (void)state;
  struct rng stream = rng_stream(17, "normal");
  enum { COUNT = 100000 };
  double sum[5] = {0};
  for (uint64_t i = 0; i < COUNT; i++) {
    double value = rng_normal(&stream, i);
    for (int power = 1; power <= 4; power++) {
      sum[power] += pow(value, power);
    }
  }
  /* Moments of the standard normal 0, 1, 0, 3 with variances of the estimates 1, 2, 15, 96 over COUNT; five sigma. */
  assert_true(fabs(sum[1] / COUNT) < 5 * sqrt(1.0 / COUNT));
  assert_true(fabs(sum[2] / COUNT - 1) < 5 * sqrt(2.0 / COUNT));
  assert_true(fabs(sum[3] / COUNT) < 5 * sqrt(15.0 / COUNT));
  assert_true(fabs(sum[4] / COUNT - 3) < 5 * sqrt(96.0 / COUNT));
}

static void test_below(void **state) {
  (void)state;
  struct rng stream = rng_stream(3, "below");
  size_t seen[6] = {0};
  enum { COUNT = 60000 };
  for (uint64_t i = 0; i < COUNT; i++) {
    seen[rng_below(&stream, i, 6)]++;
  }
  /* Chi-squared with 5 degrees of freedom: 20.5 is its 99.9 % quantile. */
  double chi = 0;
  for (size_t face = 0; face < 6; face++) {
    double difference = (double)seen[face] - COUNT / 6.0;
    chi += difference * difference / (COUNT / 6.0);
  }
  assert_true(chi < 20.5);
  assert_int_equal(rng_below(&stream, 5, 1), 0);
  /* Half of all words are drawn again for this bound. */
  for (uint64_t i = 0; i < 1000; i++) {
    assert_true(rng_below(&stream, i, 0x80000001u) < 0x80000001u);
  }
}

static void test_permutation(void **state) {
  (void)state;
  struct rng stream = rng_stream(17, "order/128");
  uint32_t order[128], again[128];
  bool seen[128] = {false};
  rng_permutation(&stream, 128, order);
  rng_permutation(&stream, 128, again);
  assert_memory_equal(order, again, sizeof order);
  size_t fixed = 0;
  for (size_t i = 0; i < 128; i++) {
    assert_true(order[i] < 128);
    assert_false(seen[order[i]]);
    seen[order[i]] = true;
    fixed += order[i] == i;
  }
  assert_true(fixed < 10); /* one is expected */

  /* All six orders of three come equally often: chi-squared with 5 degrees of freedom. */
  size_t count[27] = {0};
  for (uint64_t seed = 0; seed < 6000; seed++) {
    struct rng three = rng_stream(seed, "three");
    uint32_t p[3];
    rng_permutation(&three, 3, p);
    count[p[0] * 9 + p[1] * 3 + p[2]]++;
  }
  double chi = 0;
  size_t orders = 0;
  for (size_t i = 0; i < 27; i++) {
    orders += count[i] > 0;
    chi += count[i] ? ((double)count[i] - 1000) * ((double)count[i] - 1000) / 1000 : 0;
  }
  assert_int_equal(orders, 6);
  assert_true(chi < 20.5);
  rng_permutation(&stream, 0, order);
}

static void test_streams_are_apart(void **state) {
  (void)state;
  struct rng a = rng_stream(17, "rope/q"), b = rng_stream(17, "rope/k"), c = rng_stream(18, "rope/q");
  size_t equal = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    equal += rng_bits(&a, i) == rng_bits(&b, i);
    equal += rng_bits(&a, i) == rng_bits(&c, i);
  }
  assert_int_equal(equal, 0);
}

/* Many at once are the same as one by one, wherever they begin and end. */
static void test_normals(void **state) {
  (void)state;
  enum { MANY = 20000 };
  static double out[MANY];
  struct rng rng = rng_stream(17, "normals");
  for (uint64_t first = 0; first < 2; first++) {
    for (size_t n = MANY - 1; n <= MANY; n++) {
      rng_normals(&rng, first, n, out);
      for (size_t i = 0; i < n; i++) {
        double alone = rng_normal(&rng, first + i);
        assert_memory_equal(&out[i], &alone, sizeof alone);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_answer), cmocka_unit_test(test_stream_is_seed_and_name),
      cmocka_unit_test(test_uniform),      cmocka_unit_test(test_normal_moments),
      cmocka_unit_test(test_normals),      cmocka_unit_test(test_below),
      cmocka_unit_test(test_permutation),  cmocka_unit_test(test_streams_are_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
