/* Table lookups and linear resampling as other people's code does them: tests/golden/data/learned.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden_check.h"
#include "plugin_fixture.h"

/* data/README.md: lookups are copies, resampling 1e-5 in float32. */
static const golden_tolerance lookup_tolerance = {.absolute = 0};
static const golden_tolerance resampling_tolerance = {.absolute = 1e-5};

/* OPT counts visible tokens: row = cumsum(mask) * mask - 1 + 2, so a padded token sits at position -1. The peer was
 * given the mask of past and new tokens and answered for the new ones. */
static golden_array opt_positions(const golden_file *file, const char *name) {
  golden_array mask = golden_read(file, name, "in_attention_mask");
  size_t past = (size_t)golden_number(file, name, "past");
  double visible = 0;
  for (size_t i = 0; i < mask.n; i++) {
    visible += mask.data[i];
    mask.data[i] = visible * mask.data[i] - 1;
  }
  mask.n -= past;
  memmove(mask.data, mask.data + past, mask.n * sizeof *mask.data);
  return mask;
}

static void check_lookup(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array table = golden_read(file, name, "in_table");
  golden_array expected = golden_read(file, name, "out_embedding");
  golden_array positions = golden_has(file, name, "in_position_ids") ? golden_read(file, name, "in_position_ids")
                                                                     : opt_positions(file, name);
  float *rows = golden_floats(&table);
  plugin_setting settings[] = {PLUGIN_NUMBER("offset", golden_number(file, name, "offset")),
                               PLUGIN_NUMBER("max_positions", golden_number(file, name, "num_positions"))};
  plugin_tensor tensors[] = {{.name = "table", .dims = {.rank = 2, .dim = {table.dim[0], table.dim[1]}}, .data = rows}};
  plugin_fixture fixture;
  plugin_fixture_require(
      &fixture, "learned",
      &(plugin_request){.d_model = (uint32_t)table.dim[1], PLUGIN_SETTINGS(settings), PLUGIN_TENSORS(tensors)});
  float *got = calloc(expected.n, sizeof *got);
  assert_non_null(got);
  assert_int_equal(expected.n, positions.n * table.dim[1]);
  assert_int_equal(plugin_fixture_embed(&fixture, 0, positions.n, positions.data, got), PE_OK);
  golden_check_floats(tally, "out_embedding", &expected, got, lookup_tolerance);
  free(got);
  plugin_fixture_close(&fixture);
  free(rows);
  golden_array_free(&positions);
  golden_array_free(&expected);
  golden_array_free(&table);
}

static void check_resampling(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array table = golden_read(file, name, "in_table");
  golden_array expected = golden_read(file, name, "out_table");
  size_t length = expected.dim[0];
  float *rows = golden_floats(&table);
  plugin_setting settings[] = {PLUGIN_TEXT("beyond", "interpolate"),
                               PLUGIN_TEXT("resample", length < table.dim[0] ? "always" : "longer"),
                               PLUGIN_NUMBER("align_corners", golden_number(file, name, "align_corners"))};
  plugin_tensor tensors[] = {{.name = "table", .dims = {.rank = 2, .dim = {table.dim[0], table.dim[1]}}, .data = rows}};
  plugin_fixture fixture;
  plugin_fixture_require(
      &fixture, "learned",
      &(plugin_request){.d_model = (uint32_t)table.dim[1], PLUGIN_SETTINGS(settings), PLUGIN_TENSORS(tensors)});
  double *positions = calloc(length, sizeof *positions);
  float *got = calloc(expected.n, sizeof *got);
  assert_non_null(positions);
  assert_non_null(got);
  for (size_t p = 0; p < length; p++) {
    positions[p] = (double)p;
  }
  assert_int_equal(plugin_fixture_embed(&fixture, (double)length, length, positions, got), PE_OK);
  golden_check_floats(tally, "out_table", &expected, got, resampling_tolerance);
  free(got);
  free(positions);
  plugin_fixture_close(&fixture);
  free(rows);
  golden_array_free(&expected);
  golden_array_free(&table);
}

static void test_file(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "learned.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    if (golden_case_begins(name, "grid_")) {
      golden_leave_out(&tally, name, "two-dimensional resampling of image models is not a scheme here");
    } else if (golden_case_begins(name, "interp1d_cubic")) {
      golden_leave_out(&tally, name, "cubic resampling is not offered, linear is");
    } else if (golden_case_begins(name, "interp1d_linear")) {
      golden_tally_case(&tally, name);
      check_resampling(&tally, &file, name);
    } else {
      golden_tally_case(&tally, name);
      check_lookup(&tally, &file, name);
    }
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
