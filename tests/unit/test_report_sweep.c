/* Sweeps in a report: what is a point of which sweep, and the pictures of them. */
#include "gnuplot_here.h"
#include "results/report.h"
#include "results/sweep_points.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char plan[] = "schemes:\n"
                           "  - none: {}\n    label: none\n"
                           "  - rope: {base: 1000, layout: half}\n    label: rope_base_1000\n"
                           "  - rope: {base: 10000, layout: half}\n    label: rope_base_10000\n"
                           "  - rope: {base: 500000, layout: half}\n    label: rope_base_500000\n"
                           "  - rope: {base: 0.25, layout: interleaved}\n    label: far_base_0p25_layout_interleaved\n"
                           "  - rope: {base: -3, layout: half}\n    label: far_base_m3_layout_half\n"
                           "  - rope: {base: 7, layout: half}\n    label: alone_base_7\n"
                           "  - rope: {base: 8, layout: half}\n    label: rope_base_9\n"
                           "  - alibi: {}\n    label: alibi_positions_divide_1\n    positions: {divide: 1}\n"
                           "  - alibi: {}\n    label: alibi_positions_divide_2\n    positions: {divide: 2}\n"
                           "  - t5: {table: ../a/long-name.h5}\n    label: t5_table_long_name\n"
                           "  - t5: {table: ../b/other.h5}\n    label: t5_table_other\n"
                           "experiments:\n"
                           "  - probe: {lengths: [64, 256], task: copy}\n    label: probe_task_copy\n"
                           "  - probe: {lengths: [64, 256], task: reverse}\n    label: probe_task_reverse\n";

static void assert_has(const char *text, const char *part) {
  if (!strstr(text, part)) {
    fail_msg("'%s' is not in: %.3000s", part, text);
  }
}

/* Labels as docs/config.md has them, "Sweeps": the point of a number is p, its minus m. */
static void test_points(void **state) {
  static const struct {
    const char *label, *base, *key, *text;
    double number;
    size_t n_keys, family;
  } expected[] = {{"rope_base_1000", "rope", "base", "1000", 1000, 1, 0},
                  {"rope_base_10000", "rope", "base", "10000", 10000, 1, 0},
                  {"rope_base_500000", "rope", "base", "500000", 500000, 1, 0},
                  {"far_base_0p25_layout_interleaved", "far", "base", "0.25", 0.25, 2, 1},
                  {"far_base_m3_layout_half", "far", "base", "-3", -3, 2, 1},
                  {"alibi_positions_divide_1", "alibi", "positions_divide", "1", 1, 1, 2},
                  {"alibi_positions_divide_2", "alibi", "positions_divide", "2", 2, 1, 2},
                  {"t5_table_long_name", "t5", "table", "long-name.h5", NAN, 1, 3},
                  {"t5_table_other", "t5", "table", "other.h5", NAN, 1, 3}};
  struct results_text text = {.name = "plan", .text = plan};
  struct results_file file = {.texts = &text, .n_texts = 1}, without = {0};
  struct sweep_points points;
  struct error err;
  (void)state;
  assert_int_equal(sweep_points_read(&file, SWEEP_OF_SCHEMES, &points, &err), 0);
  assert_int_equal(points.count, sizeof expected / sizeof *expected);
  assert_int_equal(points.n_families, 4);
  for (size_t i = 0; i < points.count; i++) {
    const struct sweep_point *point = &points.points[i];
    assert_string_equal(point->label, expected[i].label);
    assert_string_equal(point->base, expected[i].base);
    assert_int_equal(point->n_keys, expected[i].n_keys);
    assert_int_equal(point->family, expected[i].family);
    assert_string_equal(point->keys[0].key, expected[i].key);
    assert_string_equal(point->keys[0].text, expected[i].text);
    assert_int_equal(point->keys[0].is_number, !isnan(expected[i].number));
    assert_true(isnan(expected[i].number) || point->keys[0].number == expected[i].number);
  }
  assert_string_equal(points.points[3].keys[1].key, "layout");
  assert_string_equal(points.points[3].keys[1].text, "interleaved");
  sweep_points_free(&points);
  assert_int_equal(sweep_points_read(&file, SWEEP_OF_EXPERIMENTS, &points, &err), 0);
  assert_int_equal(points.count, 2);
  assert_string_equal(points.points[1].keys[0].text, "reverse");
  sweep_points_free(&points);
  assert_int_equal(sweep_points_read(&without, SWEEP_OF_SCHEMES, &points, &err), 0);
  assert_int_equal(points.count, 0);
  text.text = "schemes: [\n";
  assert_int_equal(sweep_points_read(&file, SWEEP_OF_SCHEMES, &points, &err), 0);
  assert_int_equal(points.count, 0);
}

/* A comparison at lengths 64 and 256 with a status beside each scheme. */
static void add_scheme(struct record *comparison, const char *label, double first, double last, uint8_t status) {
  static const double lengths[] = {64, 256};
  struct error err;
  char name[RECORD_NAME + 8];
  struct tensor_spec spec = {
      .name = label,
      .element = ELEMENT_F64,
      .rank = 1,
      .axis = {{.name = "length", .length = 2, .values = lengths, .long_name = "sequence length"}},
      .units = "nat"};
  struct tensor *tensor = record_add(comparison, &spec, &err);
  assert_non_null(tensor);
  memcpy(tensor->data, (double[]){first, last}, 2 * sizeof(double));
  snprintf(name, sizeof name, "%s_status", label);
  spec.name = name;
  spec.element = ELEMENT_U8;
  tensor = record_add(comparison, &spec, &err);
  assert_non_null(tensor);
  ((uint8_t *)tensor->data)[1] = status;
}

static void test_pictures(void **state) {
  struct record copy = {.label = "comparison", .title = "Divergence"}, reverse = copy;
  const struct record *copies[] = {&copy}, *reverses[] = {&reverse};
  struct results_experiment experiments[] = {
      {.label = "probe_task_copy", .title = "Probe", .records = copies, .count = 1},
      {.label = "probe_task_reverse", .title = "Probe", .records = reverses, .count = 1}};
  struct results_text text = {.name = "plan", .text = plan};
  struct results_file file = {
      .title = "t", .status = "complete", .experiments = experiments, .n_experiments = 2, .texts = &text, .n_texts = 1};
  struct error err;
  (void)state;
  if (!gnuplot_is_here()) {
    skip();
  }
  add_scheme(&copy, "none", 0, 0.5, RECORD_MEASURED);
  add_scheme(&copy, "rope_base_1000", 0, 0.75, RECORD_MEASURED);
  add_scheme(&copy, "rope_base_10000", 0, NAN, RECORD_FAILED);
  add_scheme(&copy, "rope_base_500000", 0, 0.25, RECORD_MEASURED);
  add_scheme(&copy, "far_base_0p25_layout_interleaved", 0, NAN, RECORD_UNDEFINED);
  add_scheme(&copy, "far_base_m3_layout_half", 0, 0.125, RECORD_MEASURED);
  add_scheme(&reverse, "none", 0, 1, RECORD_MEASURED);
  char *page = report_page(&file, &err);
  assert_non_null(page);
  /* Experiments, three bases as lines, two keys as a map, at the end of the axis that is not 0; in the second
   * experiment what it has of the schemes' sweeps: nothing. */
  assert_has(page, "probe_task_copy_sweep_w_");
  assert_has(page, "probe_task_copy_sweep_3_n_");
  assert_null(strstr(page, "probe_task_copy_sweep_4_"));
  assert_null(strstr(page, "probe_task_reverse_sweep"));
  /* experiments down, schemes across; what the second one was not run with */
  assert_has(page, "at sequence length 256: task reverse, scheme rope_base_1000: no value, not run");
  assert_has(page, "at sequence length 256: task copy, scheme rope_base_10000: no value, the job failed");
  assert_has(page, ": task {r}, scheme {c}: {v} nat");
  /* a line with its gap, and a level one for comparison */
  assert_has(page, ">base of rope<");
  assert_null(strstr(page, ">the model<")); /* no record says that it was trained with one of them */
  assert_has(page, ">rope: failed at 10000<");
  assert_has(page, "{&quot;s&quot;:&quot;rope, base {x}: {v}&quot;,&quot;w&quot;:5,&quot;p&quot;:[1000,0.75,0.75,");
  assert_has(page, "{&quot;s&quot;:&quot;none: {v}&quot;");
  assert_has(page, "Divergence, at sequence length 256: rope 0.75 0.25 failed at 10000; none 0.5.");
  /* base down, layout across; the two points that the sweep did not have are not run */
  assert_has(page, "far, at sequence length 256: base 0.25, layout interleaved: no value, undefined there");
  assert_has(page, "far, at sequence length 256: base 0.25, layout half: no value, not run");
  free(page);
  record_free(&copy);
  record_free(&reverse);
}

/* One value at all points stands in the middle of its axis; an infinite one is no undefined one. */
static void test_one_value(void **state) {
  struct record copy = {.label = "comparison", .title = "Reach"};
  const struct record *copies[] = {&copy};
  struct results_experiment experiment = {.label = "probe", .title = "Probe", .records = copies, .count = 1};
  struct results_text text = {.name = "plan", .text = plan};
  struct results_file file = {
      .title = "t", .status = "complete", .experiments = &experiment, .n_experiments = 1, .texts = &text, .n_texts = 1};
  struct error err;
  (void)state;
  if (!gnuplot_is_here()) {
    skip();
  }
  add_scheme(&copy, "none", 0, INFINITY, RECORD_MEASURED);
  add_scheme(&copy, "rope_base_1000", 0, 4160, RECORD_MEASURED);
  add_scheme(&copy, "rope_base_10000", 0, 4160, RECORD_MEASURED);
  add_scheme(&copy, "rope_base_500000", 0, 4160, RECORD_MEASURED);
  char *page = report_page(&file, &err);
  assert_non_null(page);
  assert_has(page, "> 4000</text>");
  assert_has(page, "at sequence length 256; no line: none: infinite");
  free(page);
  record_free(&copy);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_points), cmocka_unit_test(test_pictures),
                                     cmocka_unit_test(test_one_value)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
