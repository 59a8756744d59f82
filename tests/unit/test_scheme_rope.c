/* Rotary positions where implementations have gone wrong in public: values, boundaries and refusals. Expected values
 * are figures of the reports' own cases, computed in extended precision. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin_fixture.h"

static const double printed_digits = 1e-10; /* half a unit of the last printed digit, and one more */

static void turn_one(const plugin_setting *settings, size_t n_settings, uint32_t width, double position, const float *x,
                     float *y) {
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope",
                         &(plugin_request){.head_dim = width, .settings = settings, .n_settings = n_settings});
  assert_int_equal(plugin_fixture_qk(&fixture, PE_ROLE_QUERY, 1, 0, 1, &position, x, y), PE_OK);
  plugin_fixture_close(&fixture);
}

static void assert_near(const float *got, const double *expected, size_t n, double allowed) {
  for (size_t i = 0; i < n; i++) {
    if (!(fabs((double)got[i] - expected[i]) <= allowed)) {
      fail_msg("[%zu] is %.17g, expected %.17g", i, (double)got[i], expected[i]);
    }
  }
}

/* Pairs (i, i+d/2) or (2i, 2i+1): same shapes and norms, other numbers (huggingface/transformers#25199). */
static void test_pairing(void **state) {
  (void)state;
  static const float x[] = {1, 2, 3, 4};
  static const double half[] = {-1.9841106486, 1.9599006675, 2.4623779024, 4.0197996683};
  static const double interleaved[] = {-1.1426396637, 1.9220755965, 2.9598506679, 4.0297995017};
  float y[4];
  plugin_setting by_half[] = {PLUGIN_TEXT("layout", "half")};
  plugin_setting by_neighbours[] = {PLUGIN_TEXT("layout", "interleaved")};
  turn_one(by_half, 1, 4, 1, x, y);
  assert_near(y, half, 4, 3e-7 * 4);
  turn_one(by_neighbours, 1, 4, 1, x, y);
  assert_near(y, interleaved, 4, 3e-7 * 4);
  turn_one(NULL, 0, 4, 1, x, y);
  assert_near(y, half, 4, 3e-7 * 4);
}

/* Partial rotation: frequencies by the rotary width, and the rest untouched whatever it holds (pie-project/pie#602). */
static void test_partial(void **state) {
  (void)state;
  static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const double turned[] = {-1.9841106486, 1.9599006675, 2.4623779024, 4.0197996683};
  float y[8];
  plugin_setting by_width[] = {PLUGIN_NUMBER("rotary_dim", 4)};
  plugin_setting by_share[] = {PLUGIN_NUMBER("partial_rotary_factor", 0.5)};
  turn_one(by_width, 1, 8, 1, x, y);
  assert_near(y, turned, 4, 3e-7 * 4);
  assert_memory_equal(y + 4, x + 4, 4 * sizeof *x);
  turn_one(by_share, 1, 8, 1, x, y);
  assert_near(y, turned, 4, 3e-7 * 4);

  const float strange[] = {1, 2, 3, 4, NAN, -0.0f, INFINITY, 1e-42f};
  turn_one(by_width, 1, 8, 1, strange, y);
  assert_memory_equal(y + 4, strange + 4, 4 * sizeof *strange);

  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope", &(plugin_request){.head_dim = 8, PLUGIN_SETTINGS(by_width)});
  plugin_derived inv_freq = plugin_fixture_derived(&fixture, "inv_freq", 1);
  assert_int_equal(inv_freq.n, 2);
  assert_true(inv_freq.data[0] == 1 && fabs(inv_freq.data[1] - 0.01) <= 1e-16);
  free(inv_freq.data);
  plugin_fixture_close(&fixture);
}

/* proportional: pairs over the whole head, those of frequency 0 untouched. */
static void test_proportional_stands_still(void **state) {
  (void)state;
  const float x[] = {1, 2, INFINITY, 4, 5, 6, NAN, 8};
  float y[8];
  plugin_setting settings[] = {PLUGIN_TEXT("scaling", "proportional"), PLUGIN_NUMBER("partial_rotary_factor", 0.5)};
  turn_one(settings, 2, 8, 1000, x, y);
  static const size_t still[] = {2, 3, 6, 7};
  static const size_t turning[] = {0, 1, 4, 5};
  for (size_t i = 0; i < 4; i++) {
    assert_memory_equal(&y[still[i]], &x[still[i]], sizeof *x);
    assert_true(y[turning[i]] != x[turning[i]]);
  }
}

/* Angles in double: the table of 2048 positions is within one float32 rounding (EleutherAI/gpt-neox#1003). */
static void test_phase_precision(void **state) {
  (void)state;
  enum { WIDTH = 32, LENGTH = 2048 };
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope", &(plugin_request){.head_dim = WIDTH});
  double *positions = calloc(LENGTH, sizeof *positions);
  float *x = calloc((size_t)LENGTH * WIDTH, sizeof *x);
  float *y = calloc((size_t)LENGTH * WIDTH, sizeof *y);
  assert_non_null(positions);
  assert_non_null(x);
  assert_non_null(y);
  for (size_t p = 0; p < LENGTH; p++) {
    positions[p] = (double)p;
    for (size_t i = 0; i < WIDTH / 2; i++) {
      x[p * WIDTH + i] = 1; /* (1, 0) turns into (cos, sin) */
    }
  }
  assert_int_equal(plugin_fixture_qk(&fixture, PE_ROLE_KEY, 1, 0, LENGTH, positions, x, y), PE_OK);
  double worst = 0;
  for (size_t p = 0; p < LENGTH; p++) {
    for (size_t i = 0; i < WIDTH / 2; i++) {
      long double angle = (long double)p * powl(10000, -2 * (long double)i / WIDTH);
      worst = fmax(worst, fabs((double)(cosl(angle) - (long double)y[p * WIDTH + i])));
      worst = fmax(worst, fabs((double)(sinl(angle) - (long double)y[p * WIDTH + WIDTH / 2 + i])));
    }
  }
  assert_true(worst <= 3e-8);
  assert_true(fabs((double)y[1857 * WIDTH + 1] - 0.3066928098) <= 3e-8 + printed_digits);
  free(positions);
  free(x);
  free(y);
  plugin_fixture_close(&fixture);
}

/* dynamic: nothing stays behind from a longer call (huggingface/transformers#25306). */
static void test_dynamic_keeps_no_state(void **state) {
  (void)state;
  static const struct {
    double length, slowest;
  } expected[] = {{64, 1.333521432e-4},
                  {2048, 1.333521432e-4},
                  {4096, .4445071441e-4},
                  {8192, .1905030617e-4},
                  {64, 1.333521432e-4}};
  plugin_setting settings[] = {PLUGIN_TEXT("scaling", "dynamic"), PLUGIN_NUMBER("factor", 2),
                               PLUGIN_NUMBER("original_max_position_embeddings", 2048)};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope", &(plugin_request){.head_dim = 64, PLUGIN_SETTINGS(settings)});
  float x[64];
  float y[3][64];
  for (size_t c = 0; c < 64; c++) {
    x[c] = (float)c / 32;
  }
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    plugin_derived inv_freq = plugin_fixture_derived(&fixture, "inv_freq", expected[i].length);
    assert_true(fabs(inv_freq.data[31] - expected[i].slowest) <= 1e-4 * printed_digits * 10);
    free(inv_freq.data);
  }
  static const double lengths[] = {64, 8192, 64};
  const double position = 50;
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(plugin_fixture_qk(&fixture, PE_ROLE_QUERY, 1, lengths[i], 1, &position, x, y[i]), PE_OK);
  }
  assert_memory_equal(y[0], y[2], sizeof y[0]);
  assert_memory_not_equal(y[0], y[1], sizeof y[0]);
  plugin_fixture_close(&fixture);
}

/* llama3: the scaled frequencies are those that run, kept / blended / divided at the right pairs
 * (huggingface/transformers#32330). */
static void test_llama3_bands(void **state) {
  (void)state;
  static const struct {
    size_t pair;
    double inv_freq;
  } expected[] = {{28, 3211.4459947526e-6}, {29, 2166.5707635034e-6}, {34, 178.5078127680e-6}, {63, .3068925989e-6}};
  plugin_setting settings[] = {
      PLUGIN_NUMBER("base", 500000),        PLUGIN_TEXT("scaling", "llama3"),
      PLUGIN_NUMBER("factor", 8),           PLUGIN_NUMBER("low_freq_factor", 1),
      PLUGIN_NUMBER("high_freq_factor", 4), PLUGIN_NUMBER("original_max_position_embeddings", 8192)};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope", &(plugin_request){.head_dim = 128, PLUGIN_SETTINGS(settings)});
  plugin_derived inv_freq = plugin_fixture_derived(&fixture, "inv_freq", 1);
  plugin_derived unscaled = plugin_fixture_derived(&fixture, "inv_freq_unscaled", 1);
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    assert_true(fabs(inv_freq.data[expected[i].pair] - expected[i].inv_freq) <= 1e-6 * printed_digits);
  }
  for (size_t i = 0; i < 64; i++) {
    double ratio = unscaled.data[i] / inv_freq.data[i];
    assert_true(i <= 28 ? ratio == 1 : i <= 34 ? ratio > 1 && ratio < 8 : fabs(ratio - 8) <= 1e-14);
  }
  /* What is derived is what turns: channel 63 of (1, 0) pairs at position 1000. */
  float x[128] = {0};
  float y[128];
  x[63] = 1;
  const double position = 1000;
  assert_int_equal(plugin_fixture_qk(&fixture, PE_ROLE_QUERY, 1, 0, 1, &position, x, y), PE_OK);
  assert_true(fabs((double)y[127] - sin(1000 * .3068925989e-6)) <= 3e-8);
  free(inv_freq.data);
  free(unscaled.data);
  plugin_fixture_close(&fixture);
}

/* longrope: a call of the original length is a short one, of one token more a long one. */
static void test_longrope_switch(void **state) {
  (void)state;
  static const double shorter[] = {1, 2};
  static const double longer[] = {4, 8};
  plugin_setting settings[] = {PLUGIN_TEXT("scaling", "longrope"), PLUGIN_NUMBER("max_position_embeddings", 4096),
                               PLUGIN_NUMBER("original_max_position_embeddings", 1024),
                               PLUGIN_LIST("short_factor", shorter, 2), PLUGIN_LIST("long_factor", longer, 2)};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope", &(plugin_request){.head_dim = 4, PLUGIN_SETTINGS(settings)});
  static const struct { double length, first; } expected[] = {{1, 1}, {1024, 1}, {1025, 0.25}, {100000, 0.25}};
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    plugin_derived inv_freq = plugin_fixture_derived(&fixture, "inv_freq", expected[i].length);
    assert_true(inv_freq.data[0] == expected[i].first);
    free(inv_freq.data);
  }
  /* sqrt(1 + ln 4 / ln 1024) = sqrt(1.2) */
  plugin_derived factor = plugin_fixture_derived(&fixture, "attention_factor", 1);
  assert_true(fabs(factor.data[0] - sqrt(1.2)) <= 1e-15);
  free(factor.data);
  plugin_fixture_close(&fixture);
}

static double derived_number(plugin_fixture *fixture, const char *name) {
  plugin_derived derived = plugin_fixture_derived(fixture, name, 1);
  assert_int_equal(derived.n, 1);
  double value = derived.data[0];
  free(derived.data);
  return value;
}

/* yarn's magnitude: 0.1 ln(factor) + 1 once, a given one as it is (sgl-project/sglang#33558). */
static void test_yarn_magnitude(void **state) {
  (void)state;
  const float x[] = {1, 0};
  const double origin = 0;
  float y[2];
  plugin_setting by_formula[] = {PLUGIN_TEXT("scaling", "yarn"), PLUGIN_NUMBER("factor", 128),
                                 PLUGIN_NUMBER("original_max_position_embeddings", 4096)};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope", &(plugin_request){.head_dim = 2, PLUGIN_SETTINGS(by_formula)});
  assert_true(fabs(derived_number(&fixture, "attention_factor") - 1.4852030264) <= printed_digits);
  assert_true(fabs(derived_number(&fixture, "logit_multiplier") - 2.2058280296) <= 2 * printed_digits);
  assert_true(derived_number(&fixture, "softmax_scale_multiplier") == 1);
  assert_true(fixture.scheme->score_scale(fixture.instance, 0.125) == 0.125);
  assert_int_equal(plugin_fixture_qk(&fixture, PE_ROLE_QUERY, 1, 0, 1, &origin, x, y), PE_OK);
  assert_true(fabs((double)y[0] - 1.4852030264) <= 1e-7);
  plugin_fixture_close(&fixture);

  plugin_setting given[] = {PLUGIN_TEXT("scaling", "yarn"), PLUGIN_NUMBER("factor", 64),
                            PLUGIN_NUMBER("attention_factor", 1),
                            PLUGIN_NUMBER("original_max_position_embeddings", 4096)};
  plugin_fixture_require(&fixture, "rope", &(plugin_request){.head_dim = 2, PLUGIN_SETTINGS(given)});
  assert_true(derived_number(&fixture, "attention_factor") == 1);
  assert_int_equal(plugin_fixture_qk(&fixture, PE_ROLE_QUERY, 1, 0, 1, &origin, x, y), PE_OK);
  assert_true(y[0] == 1);
  plugin_fixture_close(&fixture);
}

/* DeepSeek's softmax scale: g(40, 1)^2 = (0.1 ln 40 + 1)^2 = 1.873854 (YaRN magnitude 1.368888 squared). */
static void test_deepseek_scale(void **state) {
  (void)state;
  plugin_setting settings[] = {PLUGIN_TEXT("scaling", "yarn"),
                               PLUGIN_NUMBER("factor", 40),
                               PLUGIN_NUMBER("mscale", 1),
                               PLUGIN_NUMBER("mscale_all_dim", 1),
                               PLUGIN_TEXT("softmax_scale", "deepseek"),
                               PLUGIN_NUMBER("original_max_position_embeddings", 4096)};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope", &(plugin_request){.head_dim = 64, PLUGIN_SETTINGS(settings)});
  double multiplier = derived_number(&fixture, "softmax_scale_multiplier");
  assert_true(fabs(multiplier - 1.873854) <= 1e-6);
  assert_true(derived_number(&fixture, "attention_factor") == 1);
  assert_true(derived_number(&fixture, "logit_multiplier") == multiplier);
  assert_true(fixture.scheme->score_scale(fixture.instance, 0.125) == 0.125 * multiplier);
  plugin_fixture_close(&fixture);
}

/* mscale without mscale_all_dim changes nothing, as in Hugging Face, and says so. */
static void test_ignored_mscale(void **state) {
  (void)state;
  plugin_setting settings[] = {PLUGIN_TEXT("scaling", "yarn"), PLUGIN_NUMBER("factor", 40),
                               PLUGIN_NUMBER("mscale", 0.8), PLUGIN_NUMBER("original_max_position_embeddings", 4096)};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope", &(plugin_request){.head_dim = 64, PLUGIN_SETTINGS(settings)});
  assert_non_null(strstr(fixture.logged, "mscale is ignored"));
  assert_true(fabs(derived_number(&fixture, "attention_factor") - 1.368888) <= 1e-6);
  plugin_fixture_close(&fixture);
}

/* The training length stands in for the original length, the ratio of lengths for the factor. */
static void test_lengths_that_stand_in(void **state) {
  (void)state;
  plugin_setting settings[] = {PLUGIN_TEXT("scaling", "yarn"), PLUGIN_NUMBER("max_position_embeddings", 65536)};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope",
                         &(plugin_request){.head_dim = 64, .train_len = 4096, PLUGIN_SETTINGS(settings)});
  assert_true(fabs(derived_number(&fixture, "attention_factor") - 1.277259) <= 1e-6); /* s = 16 */
  plugin_fixture_close(&fixture);
}

typedef struct refusal {
  uint32_t head_dim;
  pe_status status;
  const char *says; /* part of the message */
  plugin_setting settings[7];
} refusal;

static const double ones[3] = {1, 1, 1};

#define ORIGINAL PLUGIN_NUMBER("original_max_position_embeddings", 4096)
#define SCALING(name) PLUGIN_TEXT("scaling", name)
#define FACTOR PLUGIN_NUMBER("factor", 4)

static const refusal refusals[] = {
    {0, PE_ERR_SHAPE, "head_dim 0", {{.key = NULL}}},
    {7, PE_ERR_SHAPE, "head_dim 7 is odd", {{.key = NULL}}},
    {8, PE_ERR_PARAM, "rotary width 3 is odd", {PLUGIN_NUMBER("rotary_dim", 3)}},
    {8, PE_ERR_PARAM, "rotary_dim 10 is wider than a head, 8", {PLUGIN_NUMBER("rotary_dim", 10)}},
    {8, PE_ERR_PARAM, "rotary width 5 is odd", {PLUGIN_NUMBER("partial_rotary_factor", 0.7)}},
    {8, PE_ERR_PARAM, "leaves 0 of 8", {PLUGIN_NUMBER("partial_rotary_factor", 0.1)}},
    {8,
     PE_ERR_PARAM,
     "rotary_dim 4 and partial_rotary_factor 0.5",
     {PLUGIN_NUMBER("rotary_dim", 4), PLUGIN_NUMBER("partial_rotary_factor", 0.5)}},
    {8, PE_ERR_PARAM, "proportional", {PLUGIN_NUMBER("rotary_dim", 4), SCALING("proportional")}},
    {8, PE_ERR_PARAM, "factor goes with scaling", {FACTOR}},
    {8,
     PE_ERR_PARAM,
     "beta_fast goes with scaling yarn, not with llama3",
     {SCALING("llama3"), PLUGIN_NUMBER("beta_fast", 32)}},
    {8,
     PE_ERR_PARAM,
     "goes with scaling dynamic, yarn, longrope, llama3, not with linear",
     {SCALING("linear"), FACTOR, ORIGINAL}},
    {8, PE_ERR_PARAM, "scaling linear needs factor", {SCALING("linear")}},
    {8, PE_ERR_PARAM, "scaling yarn needs factor or max_position_embeddings", {SCALING("yarn"), ORIGINAL}},
    {8, PE_ERR_PARAM, "scaling yarn needs original_max_position_embeddings", {SCALING("yarn"), FACTOR}},
    {8, PE_ERR_PARAM, "scaling dynamic needs original_max_position_embeddings", {SCALING("dynamic"), FACTOR}},
    {8, PE_ERR_PARAM, "scaling llama3 needs low_freq_factor", {SCALING("llama3"), FACTOR, ORIGINAL}},
    {8,
     PE_ERR_PARAM,
     "high_freq_factor 1 is below low_freq_factor 4",
     {SCALING("llama3"), FACTOR, ORIGINAL, PLUGIN_NUMBER("low_freq_factor", 4), PLUGIN_NUMBER("high_freq_factor", 1)}},
    {8,
     PE_ERR_PARAM,
     "beta_fast 1 is below beta_slow 32",
     {SCALING("yarn"), FACTOR, ORIGINAL, PLUGIN_NUMBER("beta_fast", 1), PLUGIN_NUMBER("beta_slow", 32)}},
    {8,
     PE_ERR_PARAM,
     "truncate goes with ramp code",
     {SCALING("yarn"), FACTOR, ORIGINAL, PLUGIN_TEXT("ramp", "paper"), PLUGIN_NUMBER("truncate", 1)}},
    {8,
     PE_ERR_PARAM,
     "softmax_scale deepseek needs mscale_all_dim",
     {SCALING("yarn"), FACTOR, ORIGINAL, PLUGIN_TEXT("softmax_scale", "deepseek")}},
    {8, PE_ERR_PARAM, "base 1", {SCALING("yarn"), FACTOR, ORIGINAL, PLUGIN_NUMBER("base", 1)}},
    {8,
     PE_ERR_PARAM,
     "factor 4 and max_position_embeddings 8192",
     {SCALING("yarn"), FACTOR, ORIGINAL, PLUGIN_NUMBER("max_position_embeddings", 8192)}},
    {8,
     PE_ERR_PARAM,
     "2048 is below the original length 4096",
     {SCALING("yarn"), ORIGINAL, PLUGIN_NUMBER("max_position_embeddings", 2048)}},
    {8,
     PE_ERR_PARAM,
     "4096 and max_position_embeddings 2048 differ",
     {SCALING("dynamic"), FACTOR, ORIGINAL, PLUGIN_NUMBER("max_position_embeddings", 2048)}},
    {8,
     PE_ERR_PARAM,
     "scaling longrope needs long_factor",
     {SCALING("longrope"), FACTOR, ORIGINAL, PLUGIN_LIST("short_factor", ones, 3)}},
    {8,
     PE_ERR_PARAM,
     "short_factor has 3 elements, rotary width 8 needs 4",
     {SCALING("longrope"), FACTOR, ORIGINAL, PLUGIN_LIST("short_factor", ones, 3),
      PLUGIN_LIST("long_factor", ones, 3)}},
    {6,
     PE_ERR_PARAM,
     "long_factor has 2 elements, rotary width 6 needs 3",
     {SCALING("longrope"), FACTOR, ORIGINAL, PLUGIN_LIST("short_factor", ones, 3),
      PLUGIN_LIST("long_factor", ones, 2)}},
    {6,
     PE_ERR_PARAM,
     "or attention_factor",
     {SCALING("longrope"), ORIGINAL, PLUGIN_LIST("short_factor", ones, 3), PLUGIN_LIST("long_factor", ones, 3)}},
};

static void test_refusals(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    size_t n = 0;
    while (n < 7 && refusals[i].settings[n].key) {
      n++;
    }
    plugin_fixture fixture;
    pe_status status = plugin_fixture_open(
        &fixture, "rope",
        &(plugin_request){.head_dim = refusals[i].head_dim, .settings = refusals[i].settings, .n_settings = n});
    if (status != refusals[i].status || !strstr(fixture.error.msg, refusals[i].says)) {
      fail_msg("case %zu, \"%s\": status %d, \"%s\"", i, refusals[i].says, status, fixture.error.msg);
    }
    assert_null(fixture.instance);
    plugin_fixture_close(&fixture);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairing),
      cmocka_unit_test(test_partial),
      cmocka_unit_test(test_proportional_stands_still),
      cmocka_unit_test(test_phase_precision),
      cmocka_unit_test(test_dynamic_keeps_no_state),
      cmocka_unit_test(test_llama3_bands),
      cmocka_unit_test(test_longrope_switch),
      cmocka_unit_test(test_yarn_magnitude),
      cmocka_unit_test(test_deepseek_scale),
      cmocka_unit_test(test_ignored_mscale),
      cmocka_unit_test(test_lengths_that_stand_in),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
