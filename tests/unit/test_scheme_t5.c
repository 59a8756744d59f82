/* T5 buckets beyond the golden cases: edges, directions, what training can have set, refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bias_check.h"

enum { MOST_BUCKETS = 1024 };

static void open_t5(plugin_fixture *t5, double num_buckets, double max_distance, const char *direction,
                    double train_len) {
  /* A table that holds its own row numbers: the bias is the bucket. */
  static float numbers[MOST_BUCKETS];
  for (size_t i = 0; i < MOST_BUCKETS; i++) {
    numbers[i] = (float)i;
  }
  const plugin_setting settings[] = {PLUGIN_NUMBER("num_buckets", num_buckets),
                                     PLUGIN_NUMBER("max_distance", max_distance), PLUGIN_TEXT("direction", direction)};
  const plugin_tensor tensors[] = {
      {.name = "table", .dims = {.rank = 2, .dim = {(size_t)num_buckets, 1}}, .data = numbers}};
  plugin_fixture_require(t5, "t5",
                         &(plugin_request){.train_len = train_len, PLUGIN_SETTINGS(settings), PLUGIN_TENSORS(tensors)});
}

static double bucket(plugin_fixture *t5, double query, double key) {
  float s = 0;
  assert_int_equal(plugin_fixture_bias(t5, 0, 0, 1, &query, 1, &key, NULL, NULL, &s), PE_OK);
  return (double)s;
}

static void check_edges(const char *direction, const double *expected, size_t n) {
  plugin_fixture t5;
  open_t5(&t5, 32, 128, direction, 0);
  plugin_derived edges = plugin_fixture_derived(&t5, "bucket_edges", 1);
  assert_int_equal(edges.n, n);
  assert_memory_equal(edges.data, expected, n * sizeof *expected);
  free(edges.data);
  plugin_fixture_close(&t5);
}

/* First distance of each bucket in the published settings, computed from the formula in exact arithmetic. */
static void test_edges(void **state) {
  (void)state;
  static const double one_way[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                   16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  static const double two_way[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  check_edges("causal", one_way, 32);
  check_edges("symmetric", one_way, 32);
  check_edges("bidirectional", two_way, 16);
}

/* dmlc/gluon-nlp#1470: query - key taken for key - query swaps past and future; transformers#16155: 128 as the only
 * max_distance. */
static void test_past_and_future(void **state) {
  (void)state;
  plugin_fixture t5;
  open_t5(&t5, 32, 128, "causal", 0);
  assert_true(bucket(&t5, 5, 2) == 3);
  assert_true(bucket(&t5, 2, 5) == 0);
  plugin_fixture_close(&t5);
  open_t5(&t5, 32, 128, "bidirectional", 0);
  assert_true(bucket(&t5, 0, 1) == 17);
  assert_true(bucket(&t5, 1, 0) == 1);
  assert_true(bucket(&t5, 200, 0) == 15);
  plugin_fixture_close(&t5);
  open_t5(&t5, 32, 512, "bidirectional", 0);
  assert_true(bucket(&t5, 200, 0) == 14);
  plugin_fixture_close(&t5);
}

static void test_symmetric(void **state) {
  (void)state;
  plugin_fixture causal;
  plugin_fixture symmetric;
  open_t5(&causal, 32, 128, "causal", 0);
  open_t5(&symmetric, 32, 128, "symmetric", 0);
  for (double distance = 0; distance < 300; distance++) {
    assert_true(bucket(&symmetric, distance, 0) == bucket(&causal, distance, 0));
    assert_true(bucket(&symmetric, 0, distance) == bucket(&causal, distance, 0));
  }
  assert_int_equal(causal.scheme->instance_traits(causal.instance), PE_TRAIT_RELATIVE | PE_TRAIT_CAUSAL_ONLY);
  assert_int_equal(symmetric.scheme->instance_traits(symmetric.instance), PE_TRAIT_RELATIVE);
  plugin_fixture_close(&symmetric);
  plugin_fixture_close(&causal);
}

/* With 2 buckets per doubling the logarithmic edges of e = 2^k, D = 2^(k + n/2) are e 2^(j/2): those with even j are
 * powers of two, where a rounded logarithm can fall on either side. The largest setting is within the integers. */
static void test_edges_at_the_limits(void **state) {
  (void)state;
  plugin_fixture t5;
  open_t5(&t5, 64, 32.0 * 65536, "causal", 0); /* e = 32, n = 32, D = 2^21 */
  plugin_derived edges = plugin_fixture_derived(&t5, "bucket_edges", 1);
  for (int j = 0; j < 32; j += 2) {
    assert_true(edges.data[32 + j] == ldexp(32, j / 2));
    assert_true(bucket(&t5, edges.data[32 + j], 0) == 32 + j);
    assert_true(bucket(&t5, edges.data[32 + j] - 1, 0) == 31 + j);
  }
  free(edges.data);
  plugin_fixture_close(&t5);
  open_t5(&t5, 1024, 2147483647, "causal", 0);
  edges = plugin_fixture_derived(&t5, "bucket_edges", 1);
  for (size_t i = 1; i < edges.n; i++) {
    /* Within one of the rounded formula, and in order. */
    const double exact = i < 512 ? (double)i : 512 * pow(2147483647 / 512.0, ((double)i - 512) / 512);
    assert_true(edges.data[i] > edges.data[i - 1] && fabs(edges.data[i] - exact) <= 1);
  }
  assert_true(bucket(&t5, 9007199254740992.0, 0) == 1023);
  free(edges.data);
  plugin_fixture_close(&t5);
}

/* A small max_distance leaves buckets empty: distances 16, 17, 18, 19 share sixteen of them. */
static void test_empty_buckets(void **state) {
  (void)state;
  plugin_fixture t5;
  open_t5(&t5, 32, 20, "causal", 0);
  plugin_derived edges = plugin_fixture_derived(&t5, "bucket_edges", 1);
  for (size_t i = 16; i < 32; i++) {
    assert_true(edges.data[i] >= 16 && edges.data[i] <= 20 && edges.data[i] >= edges.data[i - 1]);
  }
  free(edges.data);
  plugin_fixture_close(&t5);
}

static void check_trained(double train_len, double expected) {
  plugin_fixture t5;
  open_t5(&t5, 32, 128, "causal", train_len);
  if (!(t5.domain.trained_max == expected || (isnan(expected) && isnan(t5.domain.trained_max)))) {
    fail_msg("train_len %g: trained up to %g, not %g", train_len, t5.domain.trained_max, expected);
  }
  plugin_fixture_close(&t5);
}

/* Edges 99 and 113 bound the last buckets; distances up to train_len - 1 are seen. */
static void test_what_training_sets(void **state) {
  (void)state;
  check_trained(0, NAN);
  check_trained(1, 0);
  check_trained(10, 9);
  check_trained(17, 18);
  check_trained(99, 98);
  check_trained(100, 112);
  check_trained(113, 112);
  check_trained(114, INFINITY);
  check_trained(512, INFINITY);
}

static void check_refused(double num_buckets, double max_distance, const char *direction, const char *words) {
  const plugin_setting settings[] = {PLUGIN_NUMBER("num_buckets", num_buckets),
                                     PLUGIN_NUMBER("max_distance", max_distance), PLUGIN_TEXT("direction", direction)};
  plugin_fixture t5;
  assert_int_equal(plugin_fixture_open(&t5, "t5", &(plugin_request){PLUGIN_SETTINGS(settings)}), PE_ERR_PARAM);
  assert_null(t5.instance);
  assert_non_null(strstr(t5.error.msg, words));
  plugin_fixture_close(&t5);
}

static void test_refused_settings(void **state) {
  (void)state;
  check_refused(33, 128, "bidirectional", "num_buckets 33");
  check_refused(2, 128, "bidirectional", "num_buckets 2");
  check_refused(32, 16, "causal", "max_distance 16");
  check_refused(32, 8, "bidirectional", "max_distance 8");
}

static void test_score_scale(void **state) {
  (void)state;
  const plugin_setting model[] = {PLUGIN_TEXT("score_scale", "model")};
  plugin_fixture t5;
  plugin_fixture_require(&t5, "t5", &(plugin_request){.d_model = 16});
  assert_true(t5.scheme->score_scale(t5.instance, 0.125) == 1);
  plugin_fixture_close(&t5);
  plugin_fixture_require(&t5, "t5", &(plugin_request){.d_model = 16, PLUGIN_SETTINGS(model)});
  assert_true(t5.scheme->score_scale(t5.instance, 0.125) == 0.125);
  plugin_fixture_close(&t5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_edges),
      cmocka_unit_test(test_past_and_future),
      cmocka_unit_test(test_symmetric),
      cmocka_unit_test(test_edges_at_the_limits),
      cmocka_unit_test(test_empty_buckets),
      cmocka_unit_test(test_what_training_sets),
      cmocka_unit_test(test_refused_settings),
      cmocka_unit_test(test_score_scale),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
