/* Stretched frequencies, attention factors and queries turned with them: tests/golden/data/rope_scaled.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden_check.h"
#include "plugin_fixture.h"

/* data/README.md. Frequencies and factors are float64 here, so that column's bounds hold; rotated values are float32
 * with double angles: 3e-7 |x|, |x| <= 2, times the attention factor. */
static const golden_tolerance frequency_tolerance = {.relative = 1e-14};
static const golden_tolerance factor_tolerance = {.absolute = 1e-14};

enum { MAX_SETTINGS = 20 };
typedef struct case_settings {
  plugin_setting list[MAX_SETTINGS];
  size_t n;
  char scaling[32];
  golden_array short_factor, long_factor;
} case_settings;

static void add_number(case_settings *settings, const char *key, double value) {
  assert_true(settings->n < MAX_SETTINGS);
  settings->list[settings->n++] = (plugin_setting)PLUGIN_NUMBER(key, value);
}

static void copy_number(case_settings *settings, const golden_file *file, const char *name, const char *key) {
  if (golden_has_attribute(file, name, key)) {
    add_number(settings, key, golden_number(file, name, key));
  }
}

/* A case carries the keys of a model config; those that the scaling reads become settings. max_position_embeddings is
 * the original length for dynamic, and for longrope stands in where there is no factor. */
static void settings_from_case(case_settings *settings, const golden_file *file, const char *name) {
  static const char *const keys[] = {"base",
                                     "partial_rotary_factor",
                                     "factor",
                                     "original_max_position_embeddings",
                                     "beta_fast",
                                     "beta_slow",
                                     "mscale",
                                     "mscale_all_dim",
                                     "truncate",
                                     "attention_factor",
                                     "low_freq_factor",
                                     "high_freq_factor"};
  memset(settings, 0, sizeof *settings);
  assert_true(golden_text(file, name, "rope_type", settings->scaling, sizeof settings->scaling));
  settings->list[settings->n++] = (plugin_setting)PLUGIN_TEXT("scaling", settings->scaling);
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    copy_number(settings, file, name, keys[i]);
  }
  int longrope = strcmp(settings->scaling, "longrope") == 0;
  if (strcmp(settings->scaling, "dynamic") == 0 || (longrope && !golden_has_attribute(file, name, "factor"))) {
    copy_number(settings, file, name, "max_position_embeddings");
  }
  if (longrope) {
    settings->short_factor = golden_read(file, name, "in_short_factor");
    settings->long_factor = golden_read(file, name, "in_long_factor");
    settings->list[settings->n++] =
        (plugin_setting)PLUGIN_LIST("short_factor", settings->short_factor.data, settings->short_factor.n);
    settings->list[settings->n++] =
        (plugin_setting)PLUGIN_LIST("long_factor", settings->long_factor.data, settings->long_factor.n);
  }
  if (golden_has(file, name, "out_softmax_scale_multiplier")) {
    settings->list[settings->n++] = (plugin_setting)PLUGIN_TEXT("softmax_scale", "deepseek");
  }
}

static void check_derived(golden_tally *tally, const golden_file *file, const char *name, const char *expected_name,
                          const char *derived_name, const plugin_fixture *fixture, double seq_len,
                          golden_tolerance tolerance) {
  if (!golden_has(file, name, expected_name)) {
    return;
  }
  golden_array expected = golden_read(file, name, expected_name);
  plugin_derived derived = plugin_fixture_derived(fixture, derived_name, seq_len);
  assert_non_null(derived.data);
  assert_int_equal(derived.n, expected.n);
  golden_check_doubles(tally, expected_name, &expected, derived.data, tolerance);
  free(derived.data);
  golden_array_free(&expected);
}

static void check_rotation(golden_tally *tally, const golden_file *file, const char *name, plugin_fixture *fixture) {
  golden_array positions = golden_read(file, name, "in_positions");
  golden_array q = golden_read(file, name, "in_q");
  golden_array expected = golden_read(file, name, "out_q");
  golden_array factor = golden_read(file, name, "out_attention_factor");
  float *in = golden_floats(&q);
  float *got = calloc(expected.n, sizeof *got);
  assert_non_null(got);
  uint32_t heads = (uint32_t)q.dim[0];
  assert_int_equal(plugin_fixture_qk(fixture, PE_ROLE_QUERY, heads, 0, positions.n, positions.data, in, got), PE_OK);
  golden_check_floats(tally, "out_q", &expected, got,
                      (golden_tolerance){.absolute = 3e-7 * 2 * fmax(1, factor.data[0])});
  free(got);
  free(in);
  golden_array_free(&factor);
  golden_array_free(&expected);
  golden_array_free(&q);
  golden_array_free(&positions);
}

/* The length that the peer was told. Not told (longrope "init") it takes the short list, as for one token. */
static double case_length(const golden_file *file, const char *name) {
  if (golden_has(file, name, "in_positions")) {
    golden_array positions = golden_read(file, name, "in_positions");
    double length = plugin_fixture_length(positions.data, positions.n);
    golden_array_free(&positions);
    return length;
  }
  return golden_number_or(file, name, "seq_len", 1);
}

static void test_file(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "rope_scaled.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    golden_tally_case(&tally, name);
    case_settings settings;
    settings_from_case(&settings, &file, name);
    plugin_fixture fixture;
    plugin_fixture_require(&fixture, "rope",
                           &(plugin_request){.n_heads = (uint32_t)golden_number_or(&file, name, "heads", 1),
                                             .head_dim = (uint32_t)golden_number(&file, name, "head_dim"),
                                             .settings = settings.list,
                                             .n_settings = settings.n});
    double length = case_length(&file, name);
    check_derived(&tally, &file, name, "out_inv_freq", "inv_freq", &fixture, length, frequency_tolerance);
    check_derived(&tally, &file, name, "out_attention_factor", "attention_factor", &fixture, length, factor_tolerance);
    check_derived(&tally, &file, name, "out_softmax_scale_multiplier", "softmax_scale_multiplier", &fixture, length,
                  factor_tolerance);
    if (golden_has(&file, name, "in_q")) {
      check_rotation(&tally, &file, name, &fixture);
    }
    plugin_fixture_close(&fixture);
    golden_array_free(&settings.short_factor);
    golden_array_free(&settings.long_factor);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
