/* Sinusoidal tables of other people's code: tests/golden/data/sinusoidal.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden_check.h"
#include "plugin_fixture.h"

/* float32 column of data/README.md: 1e-6 + 1.2e-7 |position|. A table made from double angles is off by one rounding
 * alone, so the sharper bound of that page for such programs, 3e-7 |x| with |x| <= 1, is held. */
static const golden_tolerance table_tolerance = {.absolute = 3e-7};

static void check_case(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array positions = golden_read(file, name, "in_positions");
  golden_array table = golden_read(file, name, "out_table");
  plugin_setting settings[] = {
      PLUGIN_NUMBER("base", golden_number(file, name, "base")),
      PLUGIN_TEXT("layout", golden_text_is(file, name, "layout", "concat") ? "halves" : "interleaved"),
      PLUGIN_TEXT("frequencies", golden_text_is(file, name, "freq", "t2t") ? "tensor2tensor" : "vaswani")};
  plugin_fixture fixture;
  plugin_fixture_require(
      &fixture, "sinusoidal",
      &(plugin_request){.d_model = (uint32_t)golden_number(file, name, "d_model"), PLUGIN_SETTINGS(settings)});
  float *got = calloc(table.n, sizeof *got);
  assert_non_null(got);
  assert_int_equal(plugin_fixture_embed(&fixture, 0, positions.n, positions.data, got), PE_OK);
  golden_check_floats(tally, "out_table", &table, got, table_tolerance);
  free(got);
  plugin_fixture_close(&fixture);
  golden_array_free(&positions);
  golden_array_free(&table);
}

static void test_tables(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "sinusoidal.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    if (golden_case_begins(file.cases[i], "odd_")) {
      golden_leave_out(&tally, file.cases[i], "odd widths are refused, the rules in use differ");
      continue;
    }
    golden_tally_case(&tally, file.cases[i]);
    check_case(&tally, &file, file.cases[i]);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

/* Every odd width of the file is refused with the width in the message, width 1 too. */
static void test_odd_widths(void **state) {
  (void)state;
  static const uint32_t widths[] = {1, 5, 9};
  for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
    plugin_fixture fixture;
    char width[16];
    snprintf(width, sizeof width, "d_model %u", widths[i]);
    assert_int_equal(plugin_fixture_open(&fixture, "sinusoidal", &(plugin_request){.d_model = widths[i]}),
                     PE_ERR_SHAPE);
    assert_null(fixture.instance);
    assert_non_null(strstr(fixture.error.msg, width));
    plugin_fixture_close(&fixture);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_odd_widths)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
