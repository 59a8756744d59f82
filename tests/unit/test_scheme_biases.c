/* What all distance biases keep, with seeded parameters, and how they relate to each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bias_check.h"

enum { LENGTH = 70, HEADS = 3 };

/* A scheme with up to two texts set. */
typedef struct variant {
  const char *scheme;
  const char *keys[2];
  const char *texts[2];
} variant;

static const variant variants[] = {
    {.scheme = "alibi"},
    {.scheme = "alibi", .keys = {"distance", "slopes"}, .texts = {"causal", "geometric"}},
    {.scheme = "t5"},
    {.scheme = "t5", .keys = {"direction"}, .texts = {"causal"}},
    {.scheme = "t5", .keys = {"direction"}, .texts = {"symmetric"}},
    {.scheme = "kerple"},
    {.scheme = "kerple", .keys = {"kernel"}, .texts = {"power"}},
    {.scheme = "kerple", .keys = {"kernel", "distance"}, .texts = {"power", "symmetric"}},
    {.scheme = "fire"},
    {.scheme = "fire", .keys = {"distance"}, .texts = {"causal"}},
    {.scheme = "sandwich"},
    {.scheme = "sandwich", .keys = {"form"}, .texts = {"nemo"}},
};

static void for_each_variant(void (*check)(plugin_fixture *fixture)) {
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    plugin_setting settings[2];
    size_t n = 0;
    for (; n < 2 && variants[i].keys[n]; n++) {
      settings[n] = (plugin_setting)PLUGIN_TEXT(variants[i].keys[n], variants[i].texts[n]);
    }
    plugin_fixture fixture;
    plugin_fixture_require(
        &fixture, variants[i].scheme,
        &(plugin_request){.n_heads = HEADS, .d_model = 24, .head_dim = 6, .settings = settings, .n_settings = n});
    check(&fixture);
    plugin_fixture_close(&fixture);
  }
}

static void check_tiles(plugin_fixture *fixture) {
  bias_check_tiles(fixture, LENGTH, 20240611);
}

static void test_tiles(void **state) {
  (void)state;
  for_each_variant(check_tiles);
}

static void check_cache(plugin_fixture *fixture) {
  bias_check_cache(fixture, LENGTH);
}

static void test_cache(void **state) {
  (void)state;
  for_each_variant(check_cache);
}

/* All but FIRE, which divides by the query's position, claim it. */
static void check_relative(plugin_fixture *fixture) {
  const bool relative = (fixture->scheme->traits & PE_TRAIT_RELATIVE) != 0;
  assert_true(relative == (strcmp(fixture->scheme->id, "fire") != 0));
  if (relative) {
    bias_check_relative(fixture, LENGTH);
  }
}

static void test_relative(void **state) {
  (void)state;
  for_each_variant(check_relative);
}

static void test_refusals(void **state) {
  (void)state;
  for_each_variant(bias_check_refusals);
}

/* What an instance says of itself contains what the scheme says, and an unknown extension is none. */
static void check_contract(plugin_fixture *fixture) {
  const pe_scheme *scheme = fixture->scheme;
  if (PE_HAS(scheme, pe_scheme, instance_traits)) {
    assert_int_equal(scheme->instance_traits(fixture->instance) & scheme->traits, scheme->traits);
  }
  assert_null(scheme->extension("pe.unknown/1"));
  assert_true(scheme->extension(PE_EXT_VJP) == scheme->extension(PE_EXT_VJP));
  scheme->destroy(NULL);
}

static void test_contract(void **state) {
  (void)state;
  for_each_variant(check_contract);
}

/* ---- gradients in parts ---- */

enum { ROWS = 9, COLUMNS = 11 };

static size_t elements(const pe_dims *dims) {
  size_t n = 1;
  for (uint32_t axis = 0; axis < dims->rank; axis++) {
    n *= dims->dim[axis];
  }
  return n;
}

/* Gradients add to what is there, and those of two halves make up the whole within the rounding of a float32 sum. */
static void check_gradient_parts(plugin_fixture *fixture) {
  const size_t n_tensors = fixture->scheme->n_tensors;
  float *whole[PLUGIN_FIXTURE_TENSORS] = {NULL};
  float *parts[PLUGIN_FIXTURE_TENSORS] = {NULL};
  for (size_t t = 0; t < n_tensors; t++) {
    whole[t] = calloc(elements(&fixture->dims[t]), sizeof(float));
    parts[t] = calloc(elements(&fixture->dims[t]), sizeof(float));
    assert_non_null(whole[t]);
    assert_non_null(parts[t]);
  }
  double *pos_q = bias_positions(4, 1, ROWS);
  double *pos_k = bias_positions(0, 1, COLUMNS);
  float ds[HEADS * ROWS * COLUMNS];
  float half[HEADS * ROWS * COLUMNS];
  for (size_t i = 0; i < HEADS * ROWS * COLUMNS; i++) {
    ds[i] = (float)((int)(i * 7919 % 101) - 50) / 64.0f;
  }
  bias_gradient(fixture, ROWS, pos_q, COLUMNS, pos_k, ds, whole);
  const size_t cut = 4;
  for (int second = 0; second < 2; second++) {
    const size_t first = second ? cut : 0;
    const size_t rows = second ? ROWS - cut : cut;
    for (size_t head = 0; head < HEADS; head++) {
      memcpy(half + head * rows * COLUMNS, ds + (head * ROWS + first) * COLUMNS, rows * COLUMNS * sizeof *half);
    }
    bias_gradient(fixture, rows, pos_q + first, COLUMNS, pos_k, half, parts);
  }
  float *unwanted[PLUGIN_FIXTURE_TENSORS] = {NULL};
  bias_gradient(fixture, ROWS, pos_q, COLUMNS, pos_k, ds, unwanted);
  for (size_t t = 0; t < n_tensors; t++) {
    double largest = 0;
    for (size_t i = 0; i < elements(&fixture->dims[t]); i++) {
      largest = fmax(largest, fabs((double)whole[t][i]));
    }
    assert_true(largest > 0);
    for (size_t i = 0; i < elements(&fixture->dims[t]); i++) {
      assert_true(fabs((double)whole[t][i] - (double)parts[t][i]) <= 1e-6 * largest);
    }
    free(whole[t]);
    free(parts[t]);
  }
  free(pos_k);
  free(pos_q);
}

static void test_gradient_parts(void **state) {
  (void)state;
  for_each_variant(check_gradient_parts);
}

/* ---- relations ---- */

/* The power kernel with exponent 1 is ALiBi's causal form with slopes a, bit for bit. */
static void test_kerple_of_power_one_is_alibi(void **state) {
  (void)state;
  uint64_t seed = 12345;
  for (int round = 0; round < 20; round++) {
    float a[HEADS];
    float p[HEADS];
    double slopes[HEADS];
    for (size_t head = 0; head < HEADS; head++) {
      seed = seed * 48271u % 2147483647u;
      a[head] = 0.01f + (float)seed / 2147483647.0f;
      slopes[head] = (double)a[head];
      p[head] = 1.0f;
    }
    const plugin_setting kernel[] = {PLUGIN_TEXT("kernel", "power")};
    const plugin_tensor numbers[] = {{.name = "a", .dims = {.rank = 1, .dim = {HEADS}}, .data = a},
                                     {.name = "p", .dims = {.rank = 1, .dim = {HEADS}}, .data = p}};
    const plugin_setting rule[] = {PLUGIN_LIST("slopes", slopes, HEADS), PLUGIN_TEXT("distance", "causal")};
    plugin_fixture kerple;
    plugin_fixture alibi;
    plugin_fixture_require(&kerple, "kerple",
                           &(plugin_request){.n_heads = HEADS, PLUGIN_SETTINGS(kernel), PLUGIN_TENSORS(numbers)});
    plugin_fixture_require(&alibi, "alibi", &(plugin_request){.n_heads = HEADS, PLUGIN_SETTINGS(rule)});
    double *pos = bias_positions(-3, 0.75, LENGTH);
    float *by_kerple = bias_matrix(&kerple, 0, LENGTH, pos, LENGTH, pos);
    float *by_alibi = bias_matrix(&alibi, 0, LENGTH, pos, LENGTH, pos);
    assert_memory_equal(by_kerple, by_alibi, (size_t)HEADS * LENGTH * LENGTH * sizeof *by_alibi);
    free(by_alibi);
    free(by_kerple);
    free(pos);
    plugin_fixture_close(&alibi);
    plugin_fixture_close(&kerple);
  }
}

/* Of two equal instances with another distance rule: the same numbers for past keys, and their own ahead. */
static void check_distance_rules(const char *scheme) {
  const plugin_setting causal_rule[] = {PLUGIN_TEXT("distance", "causal")};
  const plugin_setting symmetric_rule[] = {PLUGIN_TEXT("distance", "symmetric")};
  plugin_fixture causal;
  plugin_fixture symmetric;
  plugin_fixture_require(&causal, scheme, &(plugin_request){.n_heads = HEADS, PLUGIN_SETTINGS(causal_rule)});
  plugin_fixture_require(&symmetric, scheme, &(plugin_request){.n_heads = HEADS, PLUGIN_SETTINGS(symmetric_rule)});
  double *pos = bias_positions(0, 1, LENGTH);
  float *past = bias_matrix(&causal, 0, LENGTH, pos, LENGTH, pos);
  float *both = bias_matrix(&symmetric, 0, LENGTH, pos, LENGTH, pos);
  for (size_t i = 0; i < (size_t)HEADS * LENGTH * LENGTH; i++) {
    const size_t row = i / LENGTH % LENGTH;
    const size_t col = i % LENGTH;
    /* Ahead of the query: the value at distance 0. */
    const size_t itself = i - col + row;
    assert_memory_equal(&past[i], col <= row ? &both[i] : &past[itself], sizeof *past);
  }
  free(both);
  free(past);
  free(pos);
  plugin_fixture_close(&symmetric);
  plugin_fixture_close(&causal);
}

static void test_distance_rules(void **state) {
  (void)state;
  check_distance_rules("alibi");
  check_distance_rules("kerple");
  check_distance_rules("fire");
}

/* The sums of both forms share all cosines but the first of one and the last of the other, so at equal widths
 *     (nemo + D/2) - paper = cos(d / base) - cos(d)      for the head whose factor is 1.
 * Float32 holds sums of up to 64 to 4e-6. */
static void test_sandwich_forms(void **state) {
  (void)state;
  const plugin_setting nemo_form[] = {PLUGIN_TEXT("form", "nemo"), PLUGIN_NUMBER("dbar", 128)};
  plugin_fixture paper;
  plugin_fixture nemo;
  plugin_fixture_require(&paper, "sandwich", &(plugin_request){.n_heads = 8, .head_dim = 16});
  plugin_fixture_require(&nemo, "sandwich",
                         &(plugin_request){.n_heads = 8, .head_dim = 16, PLUGIN_SETTINGS(nemo_form)});
  /* Whole and fractional distances, below and above those that are kept. */
  double pos[] = {0, 1, 2, 17, 100.5, 511, 4095, 4096, 5000.25, 131071};
  const size_t n = sizeof pos / sizeof pos[0];
  float *by_paper = bias_matrix(&paper, 0, 1, pos, n, pos);
  float *by_nemo = bias_matrix(&nemo, 0, 1, pos, n, pos);
  assert_true(by_paper[0] == 64.0f && by_nemo[0] == 0.0f);
  for (size_t i = 0; i < n; i++) {
    const double difference = (double)by_nemo[i] + 64.0 - (double)by_paper[i];
    assert_true(fabs(difference - (cos(pos[i] / 10000.0) - cos(pos[i]))) < 1e-5);
  }
  free(by_nemo);
  free(by_paper);
  plugin_fixture_close(&nemo);
  plugin_fixture_close(&paper);
}

static void test_sandwich_width(void **state) {
  (void)state;
  const plugin_setting form[] = {PLUGIN_TEXT("form", "nemo")};
  const plugin_setting width[] = {PLUGIN_TEXT("form", "nemo"), PLUGIN_NUMBER("dbar", 6)};
  plugin_fixture from_head;
  plugin_fixture from_dbar;
  plugin_fixture_require(&from_head, "sandwich", &(plugin_request){.head_dim = 6, PLUGIN_SETTINGS(form)});
  plugin_fixture_require(&from_dbar, "sandwich", &(plugin_request){.head_dim = 64, PLUGIN_SETTINGS(width)});
  double *pos = bias_positions(0, 1, LENGTH);
  float *a = bias_matrix(&from_head, 0, LENGTH, pos, LENGTH, pos);
  float *b = bias_matrix(&from_dbar, 0, LENGTH, pos, LENGTH, pos);
  assert_memory_equal(a, b, (size_t)LENGTH * LENGTH * sizeof *a);
  free(b);
  free(a);
  free(pos);
  plugin_fixture_close(&from_dbar);
  plugin_fixture_close(&from_head);
  plugin_fixture refused;
  assert_int_equal(plugin_fixture_open(&refused, "sandwich", &(plugin_request){.head_dim = 5, PLUGIN_SETTINGS(form)}),
                   PE_ERR_SHAPE);
  plugin_fixture_close(&refused);
  const plugin_setting odd[] = {PLUGIN_NUMBER("dbar", 7)};
  assert_int_equal(plugin_fixture_open(&refused, "sandwich", &(plugin_request){PLUGIN_SETTINGS(odd)}), PE_ERR_PARAM);
  plugin_fixture_close(&refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_cache),
      cmocka_unit_test(test_relative),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_contract),
      cmocka_unit_test(test_gradient_parts),
      cmocka_unit_test(test_kerple_of_power_one_is_alibi),
      cmocka_unit_test(test_distance_rules),
      cmocka_unit_test(test_sandwich_forms),
      cmocka_unit_test(test_sandwich_width),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
