/* Differences between results: distances by exact arithmetic, what stands only in one file, what differs in texts. */
#include "results/diff_results.h"
#include "results/diff_text.h"
#include "sample_results.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tensor_difference compare_f64(const double *a, const double *b, size_t count) {
  double x[8], y[8];
  memcpy(x, a, count * sizeof *x);
  memcpy(y, b, count * sizeof *y);
  struct tensor first = {.element = ELEMENT_F64, .rank = 1, .count = count, .data = x};
  struct tensor second = {.element = ELEMENT_F64, .rank = 1, .count = count, .data = y};
  return tensor_compare(&first, &second);
}

static void test_distances(void **state) {
  (void)state;
  struct tensor_difference d = compare_f64((double[]){1, 100, NAN, 0.0}, (double[]){1, 100, NAN, -0.0}, 4);
  assert_int_equal(d.different, 0);
  assert_true(d.absolute == 0 && d.relative == 0 && d.ulps == 0 && d.scaled == 0);
  d = compare_f64((double[]){1, 100}, (double[]){1 + DBL_EPSILON, 102}, 2);
  assert_int_equal(d.different, 2);
  assert_true(d.absolute == 2 && d.relative == 2.0 / 102 && d.scaled == 2.0 / 102);
  d = compare_f64((double[]){1}, (double[]){1 + 3 * DBL_EPSILON}, 1);
  assert_true(d.ulps == 3);
  /* from the smallest negative to the smallest positive number: through one zero */
  d = compare_f64((double[]){-0x1p-1074}, (double[]){0x1p-1074}, 1);
  assert_true(d.ulps == 2 && d.scaled == 0x1p-1073);
  d = compare_f64((double[]){1}, (double[]){NAN}, 1);
  assert_true(isinf(d.absolute) && isinf(d.ulps) && isinf(d.scaled));
  d = compare_f64((double[]){INFINITY}, (double[]){INFINITY}, 1);
  assert_int_equal(d.different, 0);
}

static void test_ulps_of_float32(void **state) {
  (void)state;
  float a[] = {1, -1}, b[] = {1 + FLT_EPSILON, -1 - 2 * FLT_EPSILON};
  struct tensor first = {.element = ELEMENT_F32, .rank = 1, .count = 2, .data = a};
  struct tensor second = {.element = ELEMENT_F32, .rank = 1, .count = 2, .data = b};
  assert_true(tensor_compare(&first, &second).ulps == 2);
}

static const char *cell(const struct table *table, size_t row, size_t column) {
  return table->cells[row * table->n_columns + column].text;
}

static void test_identical_files(void **state) {
  (void)state;
  struct sample_results a, b;
  struct results_diff diff;
  struct error err;
  sample_results_make(&a, "t");
  sample_results_make(&b, "t");
  assert_int_equal(results_compare(&a.file, &b.file, 0, false, &diff, &err), 0);
  assert_int_equal(diff.compared, 10);
  assert_int_equal(diff.apart, 0);
  assert_int_equal(diff.unmatched, 0);
  assert_int_equal(table_rows(&diff.tensors), 0);
  assert_int_equal(table_rows(&diff.facts), 0);
  results_diff_free(&diff);
  assert_int_equal(results_compare(&a.file, &b.file, 0, true, &diff, &err), 0);
  assert_int_equal(table_rows(&diff.tensors), 10);
  assert_string_equal(cell(&diff.tensors, 0, 6), "equal");
  results_diff_free(&diff);
  sample_results_free(&a);
  sample_results_free(&b);
}

static void test_what_differs_is_named(void **state) {
  (void)state;
  struct sample_results a, b;
  struct results_diff diff;
  struct error err;
  sample_results_make(&a, "t");
  sample_results_make(&b, "t");
  ((double *)record_find(&b.records[0], "mass_beyond")->data)[6] += 0.25; /* 0.75 -> 1 */
  b.records[0].seed = 18;
  assert_int_equal(attributes_set_real(&b.records[0].attributes, "base", 5e5, &err), 0);
  b.texts[0].text = "title: größer\nseed: 18\n";
  b.experiments[0].count = 2; /* no comparison */
  struct tensor_spec spec = {.name = "more", .element = ELEMENT_I32};
  assert_non_null(record_add(&b.records[3], &spec, &err));
  b.records[3].tensors[0].element = ELEMENT_I32;
  assert_int_equal(results_compare(&a.file, &b.file, 0.1, false, &diff, &err), 0);
  b.records[3].tensors[0].element = ELEMENT_F32;
  assert_int_equal(diff.compared, 5);
  assert_int_equal(diff.apart, 1);
  assert_int_equal(diff.unmatched, 6);
  assert_int_equal(table_rows(&diff.tensors), 7);
  assert_string_equal(cell(&diff.tensors, 0, 0), "extrapolation/rope/mass_beyond");
  assert_string_equal(cell(&diff.tensors, 0, 1), "1");
  assert_string_equal(cell(&diff.tensors, 0, 2), "8");
  assert_string_equal(cell(&diff.tensors, 0, 3), "0.25");
  assert_string_equal(cell(&diff.tensors, 0, 4), "0.25");
  assert_string_equal(cell(&diff.tensors, 0, 6), "apart");
  assert_string_equal(cell(&diff.tensors, 1, 0), "extrapolation/comparison/rope");
  assert_string_equal(cell(&diff.tensors, 1, 6), "only in the first");
  assert_string_equal(cell(&diff.tensors, 5, 0), "relative_position/rope/logits");
  assert_string_equal(cell(&diff.tensors, 5, 6), "of another type");
  assert_string_equal(cell(&diff.tensors, 6, 0), "relative_position/rope/more");
  assert_string_equal(cell(&diff.tensors, 6, 6), "only in the second");
  static const char *const facts[][3] = {{"extrapolation/rope: seed", "17", "18"},
                                         {"extrapolation/rope: base", "10000.5", "500000"},
                                         {"extrapolation/comparison", "measured", ""},
                                         {"run/config", "seed: 17", "seed: 18"}};
  assert_int_equal(table_rows(&diff.facts), 4);
  for (size_t i = 0; i < 4; i++) {
    for (size_t c = 0; c < 3; c++) {
      assert_string_equal(cell(&diff.facts, i, c), facts[i][c]);
    }
  }
  results_diff_free(&diff);
  sample_results_free(&a);
  sample_results_free(&b);
}

static void test_lines(void **state) {
  (void)state;
  struct table table = {0};
  struct error err;
  assert_int_equal(table_column(&table, "w", "w", false, false, &err), 0);
  assert_int_equal(table_column(&table, "a", "a", false, false, &err), 0);
  assert_int_equal(table_column(&table, "b", "b", false, false, &err), 0);
  assert_int_equal(diff_text(&table, "w", "same\nold\nsame too\ngone\n", "new\nsame\nother\nsame too\n", &err), 0);
  static const char *const rows[][2] = {{"", "new"}, {"old", "other"}, {"gone", ""}};
  assert_int_equal(table_rows(&table), 3);
  for (size_t i = 0; i < 3; i++) {
    assert_string_equal(cell(&table, i, 1), rows[i][0]);
    assert_string_equal(cell(&table, i, 2), rows[i][1]);
  }
  table_free(&table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_distances),       cmocka_unit_test(test_ulps_of_float32),
      cmocka_unit_test(test_identical_files), cmocka_unit_test(test_what_differs_is_named),
      cmocka_unit_test(test_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
