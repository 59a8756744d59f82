/* Rotated queries and frequencies of other people's code: tests/golden/data/rope.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "golden_check.h"
#include "plugin_fixture.h"

/* data/README.md: a float32 program with double angles is within 3e-7 |x| at every position; |x| <= 2 here. */
static const golden_tolerance rotated_tolerance = {.absolute = 3e-7 * 2};
/* Frequencies are float64 here: that column's bound. */
static const golden_tolerance frequency_tolerance = {.relative = 1e-14};

static void check_frequencies(golden_tally *tally, const golden_file *file, const char *name,
                              const plugin_fixture *fixture) {
  golden_array expected = golden_read(file, name, "out_inv_freq");
  plugin_derived inv_freq = plugin_fixture_derived(fixture, "inv_freq", 16);
  plugin_derived unscaled = plugin_fixture_derived(fixture, "inv_freq_unscaled", 16);
  assert_int_equal(inv_freq.n, expected.n);
  assert_int_equal(unscaled.n, expected.n);
  golden_check_doubles(tally, "out_inv_freq", &expected, inv_freq.data, frequency_tolerance);
  golden_check_doubles(tally, "out_inv_freq (unscaled)", &expected, unscaled.data, frequency_tolerance);
  free(inv_freq.data);
  free(unscaled.data);
  golden_array_free(&expected);
}

static void check_rotation(golden_tally *tally, const golden_file *file, const char *name, plugin_fixture *fixture) {
  golden_array positions = golden_read(file, name, "in_positions");
  golden_array q = golden_read(file, name, "in_q");
  golden_array expected = golden_read(file, name, "out_q");
  float *in = golden_floats(&q);
  float *got = calloc(expected.n, sizeof *got);
  assert_non_null(got);
  uint32_t heads = (uint32_t)q.dim[0];
  assert_int_equal(plugin_fixture_qk(fixture, PE_ROLE_QUERY, heads, 0, positions.n, positions.data, in, got), PE_OK);
  golden_check_floats(tally, "out_q", &expected, got, rotated_tolerance);
  free(got);
  free(in);
  golden_array_free(&expected);
  golden_array_free(&q);
  golden_array_free(&positions);
}

static void test_file(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "rope.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    golden_tally_case(&tally, name);
    plugin_setting settings[] = {
        PLUGIN_NUMBER("base", golden_number(&file, name, "base")),
        PLUGIN_NUMBER("rotary_dim", golden_number(&file, name, "rotary_dim")),
        PLUGIN_TEXT("layout", golden_text_is(&file, name, "layout", "interleaved") ? "interleaved" : "half")};
    plugin_fixture fixture;
    plugin_fixture_require(&fixture, "rope",
                           &(plugin_request){.n_heads = (uint32_t)golden_number_or(&file, name, "heads", 1),
                                             .head_dim = (uint32_t)golden_number(&file, name, "head_dim"),
                                             PLUGIN_SETTINGS(settings)});
    check_frequencies(&tally, &file, name, &fixture);
    if (golden_has(&file, name, "in_q")) {
      check_rotation(&tally, &file, name, &fixture);
    }
    plugin_fixture_close(&fixture);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
