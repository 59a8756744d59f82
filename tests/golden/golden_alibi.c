/* ALiBi slopes and biases of other people's code: tests/golden/data/alibi.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bias_check.h"
#include "golden_check.h"

/* Slopes are doubles here: the sharper column of data/README.md. Biases leave as float32. */
static const golden_tolerance slope_tolerance = {.relative = 1e-14};
static const golden_tolerance bias_tolerance = {.absolute = 1e-5};

static void check_slopes(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array slopes = golden_read(file, name, "out_slopes");
  plugin_fixture alibi;
  plugin_setting settings[] = {PLUGIN_NUMBER("max_bias", golden_number(file, name, "max_bias"))};
  plugin_fixture_require(
      &alibi, "alibi",
      &(plugin_request){.n_heads = (uint32_t)golden_number(file, name, "heads"), PLUGIN_SETTINGS(settings)});
  plugin_derived got = plugin_fixture_derived(&alibi, "slopes", 1);
  assert_int_equal(got.n, slopes.n);
  golden_check_doubles(tally, "out_slopes", &slopes, got.data, slope_tolerance);
  free(got.data);
  plugin_fixture_close(&alibi);
  golden_array_free(&slopes);
}

static void check_matrix(golden_tally *tally, const golden_file *file, const char *name, const char *distance) {
  golden_array bias = golden_read(file, name, "out_bias");
  plugin_fixture alibi;
  plugin_setting settings[] = {PLUGIN_TEXT("distance", distance)};
  plugin_fixture_require(&alibi, "alibi",
                         &(plugin_request){.n_heads = (uint32_t)bias.dim[0], PLUGIN_SETTINGS(settings)});
  double *pos = bias_positions(0, 1, bias.dim[1]);
  float *got = bias_matrix(&alibi, 0, bias.dim[1], pos, bias.dim[2], pos);
  golden_check_floats(tally, "out_bias", &bias, got, bias_tolerance);
  free(got);
  free(pos);
  plugin_fixture_close(&alibi);
  golden_array_free(&bias);
}

/* BLOOM's row slope * j is the last query's causal row plus a constant: slope * (position of that query). With left
 * padding the visible tokens count from 0, and what stands under the padding is of no use. */
static void check_row(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array row = golden_read(file, name, "out_bias_row");
  const size_t heads = row.dim[0];
  const size_t length = row.dim[1];
  size_t padding = 0;
  if (golden_has(file, name, "in_attention_mask")) {
    golden_array mask = golden_read(file, name, "in_attention_mask");
    while (mask.data[padding] == 0) {
      padding++;
    }
    golden_array_free(&mask);
  }
  plugin_fixture alibi;
  plugin_setting settings[] = {PLUGIN_TEXT("distance", "causal")};
  plugin_fixture_require(&alibi, "alibi", &(plugin_request){.n_heads = (uint32_t)heads, PLUGIN_SETTINGS(settings)});
  plugin_derived slopes = plugin_fixture_derived(&alibi, "slopes", 1);
  const size_t visible = length - padding;
  double *pos = bias_positions(0, 1, visible);
  float *last = bias_matrix(&alibi, 0, 1, pos + visible - 1, visible, pos);
  double *got = calloc(row.n, sizeof *got);
  double *each = calloc(row.n, sizeof *each);
  assert_non_null(got);
  assert_non_null(each);
  for (size_t i = 0; i < row.n; i++) {
    const size_t head = i / length;
    const size_t col = i % length;
    each[i] = col < padding ? INFINITY : bias_tolerance.absolute;
    if (col >= padding) {
      got[i] = (double)last[head * visible + col - padding] + slopes.data[head] * pos[visible - 1];
    }
  }
  golden_check_doubles(tally, "out_bias_row", &row, got, (golden_tolerance){.each = each});
  free(each);
  free(got);
  free(last);
  free(pos);
  free(slopes.data);
  plugin_fixture_close(&alibi);
  golden_array_free(&row);
}

static void test_alibi(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "alibi.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    golden_tally_case(&tally, name);
    if (golden_case_begins(name, "slopes_")) {
      check_slopes(&tally, &file, name);
    } else if (golden_case_begins(name, "bias_row_")) {
      check_row(&tally, &file, name);
    } else {
      check_matrix(&tally, &file, name, golden_text_is(&file, name, "kind", "causal") ? "causal" : "symmetric");
    }
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_alibi)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
