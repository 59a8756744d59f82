/* Reports: text stays text in HTML and in pictures, and a page is whole with and without gnuplot. */
#include "gnuplot_here.h"
#include "results/report.h"
#include "results/report_canvas.h"
#include "results/report_curves.h"
#include "results/report_hover.h"
#include "results/report_html.h"
#include "results/report_svg.h"
#include "results/stored_tables.h"
#include "sample_results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTILE "x'\"`id`</title></script><script>alert(1)</script> & größer %s %n \x1b[31m"

static void assert_has(const char *text, const char *part) {
  if (!strstr(text, part)) {
    fail_msg("'%s' is not in: %.2000s", part, text);
  }
}

static void assert_has_not(const char *text, const char *part) {
  if (strstr(text, part)) {
    fail_msg("'%s' is in the page", part);
  }
}

static void test_text_stays_text(void **state) {
  (void)state;
  struct text page = {0};
  html_text(&page, "<b class=\"x\">&'\xff\n\x07");
  assert_string_equal(page.data, "&lt;b class=&quot;x&quot;&gt;&amp;&#39;\uFFFD \\x07");
  text_free(&page);
  html_lines(&page, "a <\n\tb\n");
  assert_string_equal(page.data, "a &lt;\n b\n");
  text_free(&page);
}

static void test_table(void **state) {
  (void)state;
  struct table table = {0};
  struct text page = {0};
  struct error err;
  assert_int_equal(table_title(&table, &err, "T & U"), 0);
  assert_int_equal(table_column(&table, "a", "<a>", false, true, &err), 0);
  assert_int_equal(table_column(&table, "b", "b", true, false, &err), 0);
  assert_int_equal(table_text(&table, &err, "x\"y"), 0);
  assert_int_equal(table_number(&table, 0.5, &err), 0);
  assert_int_equal(table_note(&table, &err, "note <"), 0);
  html_table(&page, &table);
  assert_string_equal(page.data, "<div class=\"table\"><table>\n"
                                 "<caption>T &amp; U</caption>\n"
                                 "<thead><tr><th class=\"prose\" scope=\"col\">&lt;a&gt;</th>"
                                 "<th class=\"number\" scope=\"col\">b</th></tr></thead>\n"
                                 "<tbody>\n"
                                 "<tr><td class=\"prose\" data-heading=\"&lt;a&gt;\">x&quot;y</td>"
                                 "<td class=\"number\" data-heading=\"b\">0.5</td></tr>\n"
                                 "</tbody></table></div>\n"
                                 "<p class=\"note\">note &lt;</p>\n");
  text_free(&page);
  table_free(&table);
}

/* As gnuplot 5.4 writes it. */
static void test_svg_for_a_page(void **state) {
  (void)state;
  static const char svg[] =
      "<?xml version=\"1.0\"?>\n<svg \n viewBox=\"0 0 7 4\">\n<title>p</title>\n<desc>by gnuplot</desc>\n"
      "<g id=\"canvas\" color=\"black\"><title>$d using 1:2</title><path id='gpPt0' stroke='rgb(  1,   2,   3)'/>"
      "<use xlink:href='#gpPt0' color='rgb(  0, 114, 178)'/>"
      "<g fill=\"none\" stroke=\"black\">\n\t</g>\n"
      "\t<polygon fill = 'rgb( 68,   1, 255)' points = '228.00,495.02 230.38,495.02 230.38,487.04 228.00,487.04 '/>"
      "<polygon fill = 'rgb( 68,   1,  84)' points = '1,1 2,2 2,1 '/>"
      "<g><text fill=\"rgb(1,2,3)\">a &lt;b&gt; id='x' rgb(1,2,3)</text></g></g>\n</svg>\n";
  struct error err;
  char *inlined = svg_inline(svg, "pic_w", "curves of <x>", &err);
  assert_string_equal(inlined, "<svg role=\"img\" aria-label=\"curves of &lt;x&gt;\" \n viewBox=\"0 0 7 4\">\n\n\n"
                               "<g id=\"pic_w_canvas\"><path id='pic_w_gpPt0' stroke='currentColor'/>"
                               "<use xlink:href='#pic_w_gpPt0' color='rgb(  0, 114, 178)'/>"
                               "<path fill='#4401ff' d='M228,495.02H230.38V487.04H228z'/>"
                               "<polygon fill = 'rgb( 68,   1,  84)' points = '1,1 2,2 2,1 '/>"
                               "<g><text fill=\"currentColor\">a &lt;b&gt; id='x' rgb(1,2,3)</text></g></g>\n</svg>\n");
  free(inlined);
  char *alone = svg_standalone(svg, &err);
  assert_has(alone, "<?xml version");
  assert_has(alone, "id='gpPt0' stroke='rgb(  1,   2,   3)'");
  assert_has_not(alone, "<title>");
  free(alone);
  assert_null(svg_inline("nothing", "p", "a", &err));
  assert_int_equal(err.code, ERROR_FILE_CONTENT);
}

static void test_quantiles(void **state) {
  (void)state;
  /* R: quantile(c(3, 1, 2, 10), c(0, 0.5, 0.975, 1), type = 7) */
  double values[] = {3, 1, 2, 10};
  assert_true(quantile_of(values, 4, 0) == 1);
  assert_true(quantile_of(values, 4, 0.5) == 2.5);
  assert_true(fabs(quantile_of(values, 4, 0.975) - 9.475) < 1e-12);
  assert_true(quantile_of(values, 4, 1) == 10);
  assert_true(isnan(quantile_of(values, 0, 0.5)));
}

/* [text][length][head]: means over heads, then the mean and the quantiles over texts; what is missing is left out. */
static void test_curve(void **state) {
  (void)state;
  double values[] = {0, 2, 4, 6, NAN, NAN, 10, 12};
  const double lengths[] = {64, 128};
  struct record record = {0};
  struct error err;
  struct tensor *tensor = record_add(&record,
                                     &(struct tensor_spec){.name = "jsd",
                                                           .element = ELEMENT_F64,
                                                           .rank = 3,
                                                           .axis = {{.name = "text", .length = 2},
                                                                    {.name = "length", .length = 2, .values = lengths},
                                                                    {.name = "head", .length = 2}}},
                                     &err);
  memcpy(tensor->data, values, sizeof values);
  struct curve curve;
  assert_int_equal(curve_make(&record, tensor, "length", "text", 64, &curve, &err), 0);
  assert_int_equal(curve.count, 2);
  assert_int_equal(curve.units, 2);
  assert_true(curve.x[0] == 1 && curve.x[1] == 2);
  assert_true(curve.middle[0] == 1 && curve.low[0] == 1 && curve.high[0] == 1);
  assert_true(curve.middle[1] == 8);
  assert_true(fabs(curve.low[1] - 5.15) < 1e-12 && fabs(curve.high[1] - 10.85) < 1e-12);
  curve_free(&curve);
  record_free(&record);
}

/* A results file whose every text is hostile, with tensors that make pictures. */
struct hostile {
  struct record record;
  const struct record *records[1];
  struct results_experiment experiment;
  struct results_text texts[2];
  struct results_file file;
  char *tables;
};

static void add_tensor(struct record *record, const char *name, struct tensor_spec spec, double value) {
  struct error err;
  spec.name = name;
  spec.element = ELEMENT_F64;
  struct tensor *tensor = record_add(record, &spec, &err);
  assert_non_null(tensor);
  for (size_t i = 0; i < tensor->count; i++) {
    ((double *)tensor->data)[i] = value * (double)(i + 1);
  }
}

static void set_text(struct record *record, const char *tensor, const char *name, const char *text) {
  struct error err;
  assert_int_equal(attributes_set_text(&record_find(record, tensor)->attributes, name, text, &err), 0);
}

/* What the pictures of the other experiments look for. */
static void add_pictures(struct record *record) {
  static const double lengths[] = {4, 8, 16}, shifts[] = {1, 10, 100000}, distances[] = {-2, -1, 0, 1, 2};
  struct error err;
  struct axis_spec length = {.name = "length", .length = 3, .values = lengths};
  assert_int_equal(attributes_set_int(&record->attributes, "train_length", 8, &err), 0);
  /* the encoding itself */
  add_tensor(record, "expected_logit",
             (struct tensor_spec){
                 .rank = 3,
                 .axis = {{.name = "head", .length = 2}, {.name = "query", .length = 3}, {.name = "key", .length = 3}}},
             1);
  add_tensor(
      record, "profile",
      (struct tensor_spec){
          .rank = 2, .axis = {{.name = "head", .length = 2}, {.name = "distance", .length = 5, .values = distances}}},
      -1);
  add_tensor(record, "position_encoding",
             (struct tensor_spec){.rank = 2,
                                  .axis = {{.name = "position", .length = 3}, {.name = "model_channel", .length = 4}}},
             1);
  /* one window of tokens at two places */
  add_tensor(record, "window_attention",
             (struct tensor_spec){.rank = 4,
                                  .axis = {{.name = "place", .length = 2},
                                           {.name = "head", .length = 2},
                                           {.name = "window_query", .length = 3},
                                           {.name = "window_key", .length = 3}}},
             0.01);
  add_tensor(record, "window_attention_jsd",
             (struct tensor_spec){.rank = 2, .axis = {{.name = "place", .length = 2}, {.name = "head", .length = 2}}},
             0.1);
  set_text(record, "window_attention", "place_names", "inside " HOSTILE);
  set_text(record, "window_attention", "tokens", "\u2581it's\n" HOSTILE "\n\u2581größer");
  /* frequencies */
  struct tensor_spec by_frequency = {.rank = 2, .axis = {{.name = "frequency", .length = 2}, length}};
  add_tensor(record, "unseen_share", by_frequency, 0.1);
  add_tensor(record, "wavelength", by_frequency, 10);
  add_tensor(record, "neighbour_resolution", (struct tensor_spec){.rank = 1, .axis = {length}}, 1);
  add_tensor(record, "neighbour_resolution_unscaled", (struct tensor_spec){.rank = 1, .axis = {length}}, 2);
  /* the certificate */
  struct tensor_spec by_stage = {.rank = 3,
                                 .axis = {{.name = "stage", .length = 2},
                                          {.name = "dtype", .length = 2},
                                          {.name = "shift", .length = 3, .values = shifts}}};
  add_tensor(record, "drift_rms", by_stage, 1e-5);
  add_tensor(record, "fidelity_rms", by_stage, 1e-4);
  add_tensor(record, "certificate_spread", (struct tensor_spec){.rank = 0}, 1);
  set_text(record, "drift_rms", "stage_names", "position all");
  set_text(record, "drift_rms", "dtype_names", "float32 " HOSTILE);
  assert_int_equal(attributes_set_real(&record_find(record, "drift_rms")->attributes, "tolerance", 1e-3, &err), 0);
  /* trained models and attention beyond the training length */
  struct axis_spec seed = {.name = "seed", .length = 2};
  add_tensor(record, "loss", (struct tensor_spec){.rank = 2, .axis = {seed, length}}, 1);
  add_tensor(record, "training_loss", (struct tensor_spec){.rank = 2, .axis = {seed, {.name = "step", .length = 2}}},
             1);
  add_tensor(
      record, "truncation_jsd_by_text",
      (struct tensor_spec){.rank = 3, .axis = {{.name = "text", .length = 2}, length, {.name = "head", .length = 2}}},
      0.01);
}

static void make_hostile(struct hostile *hostile) {
  static const double shifts[] = {1, 10, 100000};
  struct error err;
  *hostile = (struct hostile){0};
  struct record *record = &hostile->record;
  snprintf(record->label, sizeof record->label, "%s", HOSTILE);
  struct tensor_spec shift = {.rank = 1, .axis = {{.name = "shift", .length = 3, .values = shifts}}};
  add_tensor(record, "shift_error", shift, 1e-3);
  add_tensor(record, "rounding_bound", shift, 1e-4);
  add_tensor(record, "logit_spread", (struct tensor_spec){.rank = 1, .axis = {{.name = "head", .length = 2}}}, 1);
  struct tensor_spec stack = {
      .rank = 3, .axis = {{.name = "head", .length = 2}, {.name = "query", .length = 3}, {.name = "key", .length = 3}}};
  add_tensor(record, "attention_weights", stack, 0.05);
  add_pictures(record);
  struct table table = {0};
  assert_int_equal(table_title(&table, &err, "%s", HOSTILE), 0);
  assert_int_equal(table_column(&table, "scheme", HOSTILE, false, false, &err), 0);
  assert_int_equal(table_column(&table, "follows", "what follows", false, true, &err), 0);
  assert_int_equal(table_text(&table, &err, "%s", HOSTILE), 0);
  assert_int_equal(table_text(&table, &err, "%s", HOSTILE), 0);
  struct experiment_tables tables = {"shifted", &table, 1};
  hostile->tables = stored_tables_write(&tables, 1, &err);
  table_free(&table);
  hostile->records[0] = record;
  hostile->experiment =
      (struct results_experiment){.label = "shifted", .title = HOSTILE, .records = hostile->records, .count = 1};
  hostile->texts[0] = (struct results_text){.name = "tables", .text = hostile->tables, .json = true};
  hostile->texts[1] = (struct results_text){.name = "config", .text = HOSTILE "\n" HOSTILE};
  hostile->file = (struct results_file){.title = HOSTILE,
                                        .status = "complete",
                                        .experiments = &hostile->experiment,
                                        .n_experiments = 1,
                                        .texts = hostile->texts,
                                        .n_texts = 2};
}

static void free_hostile(struct hostile *hostile) {
  record_free(&hostile->record);
  free(hostile->tables);
}

static void assert_harmless(const char *page) {
  const char *script = strstr(page, "<script>\n'use strict'");
  assert_true(script && script == strstr(page, "<script") && !strstr(script + 1, "<script"));
  assert_has_not(page, " onmouse");
  assert_has_not(page, "\x1b");
  assert_has_not(page, "`id`<");
  assert_has(page, "&lt;script&gt;alert(1)&lt;/script&gt;");
  assert_has(page, "</html>\n");
}

static void test_page_with_hostile_texts(void **state) {
  static const char *const pictures[] = {"beyond",      "training",    "encoding", "window",
                                         "frequencies", "certificate", "shift",    "weights"};
  size_t n_pictures = sizeof pictures / sizeof *pictures;
  (void)state;
  struct hostile hostile;
  struct error err;
  if (!gnuplot_is_here()) {
    skip();
  }
  make_hostile(&hostile);
  char *page = report_page(&hostile.file, &err);
  assert_non_null(page);
  assert_harmless(page);
  assert_has(page, "shifted_shift_w_");
  for (size_t i = 0; i < n_pictures; i++) {
    char id[80];
    snprintf(id, sizeof id, "shifted_%s_w_", pictures[i]);
    assert_has(page, id);
    snprintf(id, sizeof id, "shifted_%s_n_", pictures[i]);
    assert_has(page, id);
  }
  /* what is told under the pointer: JSON in a quoted attribute */
  assert_has(page, "{&quot;s&quot;:&quot;x&#39;\\&quot;`id`&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(1)");
  assert_has(page, "data-places=\"[[");
  assert_has_not(page, "pictures are missing");
  char *again = report_page(&hostile.file, &err);
  assert_string_equal(page, again);
  free(again);
  free(page);
  size_t count;
  assert_int_equal(report_pictures(&hostile.file, TEST_BUILD_DIR "/test-report", false, &count, &err), 0);
  assert_int_equal(count, n_pictures);
  assert_int_equal(report_pictures(&hostile.file, TEST_BUILD_DIR "/test-report", true, &count, &err), 0);
  assert_int_equal(count, n_pictures);
  free_hostile(&hostile);
}

/* The matrix of permutations with its counterexample beside it; without a picture the table stands with the others. */
static void test_counterexample_beside_the_matrix(void **state) {
  struct record record = {.label = "none"};
  struct table tables[2] = {0};
  struct error err;
  (void)state;
  if (!gnuplot_is_here()) {
    skip();
  }
  struct axis_spec permutation = {.name = "permutation", .length = 2};
  add_tensor(&record, "permutations",
             (struct tensor_spec){.rank = 2, .axis = {permutation, {.name = "position", .length = 2}}}, 0);
  memcpy(record_find(&record, "permutations")->data, (double[]){0, 1, 1, 0}, 4 * sizeof(double));
  add_tensor(&record, "deviation", (struct tensor_spec){.rank = 1, .axis = {permutation}}, 1);
  assert_int_equal(table_title(&tables[0], &err, "all <schemes>"), 0);
  assert_int_equal(table_title(&tables[1], &err, "counterexample: none"), 0);
  struct experiment_tables list = {"e", tables, 2};
  char *json = stored_tables_write(&list, 1, &err);
  const struct record *records[] = {&record};
  struct results_experiment experiment = {.label = "e", .title = "t", .records = records, .count = 1};
  struct results_text text = {.name = "tables", .text = json, .json = true};
  struct results_file file = {
      .title = "t", .status = "complete", .experiments = &experiment, .n_experiments = 1, .texts = &text, .n_texts = 1};
  char *page = report_page(&file, &err);
  assert_non_null(page);
  const char *beside = strstr(page, "<div class=\"beside\">"), *matrix = strstr(page, "e_permutations_w_");
  const char *counterexample = strstr(page, "<caption>counterexample: none"), *all = strstr(page, "<caption>all ");
  assert_true(beside && matrix && counterexample && all);
  assert_true(beside < matrix && matrix < counterexample && counterexample < all);
  assert_null(strstr(counterexample + 1, "<caption>counterexample"));
  free(page);
  free(json);
  table_free(&tables[0]);
  table_free(&tables[1]);
  record_free(&record);
}

/* The numbers of float32: sign, 8 bits of exponent, 15 of 23 bits of mantissa; base64 of RFC 4648. */
static void test_hover(void **state) {
  (void)state;
  struct hover hover = {0}, places = {.places_only = true};
  struct error err;
  struct hover_axis axis = {1, 100, true};
  const double values[] = {1, -0.5, NAN}; /* 3f800000 bf000000 7fc00000 */
  for (int i = 0; i < 2; i++) {
    struct hover *h = i ? &places : &hover;
    hover_panel(h, 1, 2, 30, 40, axis, (struct hover_axis){0, 1, false});
    hover_curve(h, "a\"b", " at {x}: {v}", HOVER_POINTS);
    hover_point(h, 1, 0.25, 0.25);
    hover_point(h, 2, NAN, 0);
    hover_point(h, 10, 0.5, 7);
    hover_curve(h, "i", "", HOVER_INTERVALS);
    hover_interval(h, 3, 0.5, 0.25, NAN);
    int names = hover_names(h);
    hover_name(h, "one");
    hover_name(h, "tw\\o");
    hover_panel(h, 5, 6, 7, 8, axis, axis);
    hover_grid(h, "g", ", {r} {c}: {v}", (struct hover_side){1, 0, 1, names},
               (struct hover_side){3, -2, 1.5, HOVER_NUMBERS}, values);
  }
  char *json = hover_values(&hover, &err), *wide = hover_places(&hover, &err), *narrow = hover_places(&places, &err);
  assert_string_equal(json, "{\"names\":[[\"one\",\"tw\\\\o\"]],\"items\":["
                            "{\"s\":\"a\\\"b at {x}: {v}\",\"w\":3,\"p\":[1,0.25,0.25,10,0.5,7]},"
                            "{\"s\":\"i\",\"w\":5,\"p\":[3,0.5,0.5,0.25,null]},"
                            "{\"s\":\"g, {r} {c}: {v}\",\"v\":\"P4AAvwAAf8AA\",\"g\":[1,0,1,0,3,-2,1.5,-1]}]}");
  assert_string_equal(wide, "[[1.0,2.0,30.0,40.0,1,100,1,0,1,0,0],[5.0,6.0,7.0,8.0,1,100,1,1,100,1,2]]");
  assert_string_equal(wide, narrow);
  free(json);
  free(wide);
  free(narrow);
  hover_free(&hover);
  hover_free(&places);
  hover_panel(NULL, 0, 0, 0, 0, axis, axis); /* a picture that stands alone tells nothing */
  hover_curve(NULL, "", "", HOVER_CELLS);
}

/* Of several seeds the largest deviation, where their permutations are the same; else one seed, which is said. */
static void test_permutations_of_seeds(void **state) {
  static const double seeds[] = {7, 8};
  struct record record = {.label = "none"};
  struct error err;
  (void)state;
  if (!gnuplot_is_here()) {
    skip();
  }
  struct axis_spec seed = {.name = "seed", .length = 2, .values = seeds};
  struct axis_spec permutation = {.name = "permutation", .length = 2}, position = {.name = "position", .length = 2};
  add_tensor(&record, "permutations", (struct tensor_spec){.rank = 3, .axis = {seed, permutation, position}}, 0);
  add_tensor(&record, "deviation", (struct tensor_spec){.rank = 2, .axis = {seed, permutation}}, 0);
  double *order = record_find(&record, "permutations")->data;
  memcpy(order, (double[]){0, 1, 1, 0, 0, 1, 1, 0}, 8 * sizeof *order);
  memcpy(record_find(&record, "deviation")->data, (double[]){0, 0.25, 0, 0.5}, 4 * sizeof *order);
  const struct record *records[] = {&record};
  struct results_experiment experiment = {.label = "e", .title = "t", .records = records, .count = 1};
  struct results_file file = {.title = "t", .status = "complete", .experiments = &experiment, .n_experiments = 1};
  char *page = report_page(&file, &err);
  assert_non_null(page);
  assert_has(page, "Deviations are the largest over 2 seeds.");
  assert_has(page, "AAAAPwAA"); /* 0 and 0.5: 00000000 3f000000 */
  free(page);
  order[4] = 1;
  page = report_page(&file, &err);
  assert_non_null(page);
  assert_has(page, "Drawn: seed 7, the first of 2;");
  assert_has(page, "AAAAPoAA"); /* 0 and 0.25: 00000000 3e800000 */
  free(page);
  record_free(&record);
}

/* A grid: two models, one of them with a long name, three schemes; one cell is undefined, one failed, one was not run.
 */
static void test_grid(void **state) {
  static const double lengths[] = {64, 256};
  static const uint8_t states[] = {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 3};
  struct record record = {.label = "comparison_extrapolation"};
  struct error err;
  (void)state;
  if (!gnuplot_is_here()) {
    skip();
  }
  struct axis_spec length = {.name = "length", .length = 2, .values = lengths, .long_name = "sequence length"};
  struct axis_spec rows = {.name = "trained_with", .length = 2}, columns = {.name = "applied", .length = 3};
  struct tensor_spec spec = {.rank = 3, .axis = {length, rows, columns}, .long_name = "Divergence", .units = "nat"};
  add_tensor(&record, "headline", spec, 0);
  add_tensor(&record, "headline_low", spec, 1); /* beside a measure */
  add_tensor(&record, "difference", spec, 0);   /* both signs */
  memcpy(record_find(&record, "headline")->data, (double[]){0, 0, 0, 0, 0, 0, 0.5, NAN, 0.25, 0.125, NAN, NAN},
         12 * sizeof(double));
  memcpy(record_find(&record, "difference")->data, (double[]){-2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
         12 * sizeof(double));
  set_text(&record, "headline", "trained_with_names", "rope a_model_with_a_name_that_is_longer_than_a_line-0.h5");
  set_text(&record, "headline", "applied_names", "none learned rope");
  spec.name = "headline_status";
  spec.element = ELEMENT_U8;
  struct tensor *status = record_add(&record, &spec, &err);
  memcpy(status->data, states, sizeof states);
  const struct record *records[] = {&record};
  struct results_experiment experiments[] = {{.label = "first", .title = "same title"},
                                             {.label = "second", .title = "same title"},
                                             {.label = "grid", .title = "The grid", .records = records, .count = 1}};
  struct results_file file = {.title = "t", .status = "complete", .experiments = experiments, .n_experiments = 3};
  char *page = report_page(&file, &err);
  assert_non_null(page);
  /* the experiments that it sets side by side come after it, told apart by their labels */
  const char *grid = strstr(page, "<h2>The grid</h2>"),
             *first = strstr(page, "same title <span class=\"quiet\">first<");
  assert_true(grid && first && grid < first);
  /* one drawing per measure, at the places of the axis where anything but 0 stands */
  assert_has(page, "grid_grid_w_");
  assert_has(page, "grid_grid_2_n_");
  assert_has_not(page, "grid_grid_3_");
  assert_has(page, ">at sequence length 256<");
  /* words in the cells, and under the pointer */
  assert_has(page, ">undefined<");
  assert_has(page, ">failed<");
  assert_has(page, ">not run<");
  assert_has(page, "at sequence length 256: trained with rope, applied learned: no value, undefined there");
  assert_has(page, "-0.h5, applied learned: no value, the job failed");
  assert_has(page, "-0.h5, applied rope: no value, not run");
  assert_has(page, ": trained with {r}, applied {c}: {v} nat");
  assert_has(page, "PwAAf8AAPoAAPgAAf8AAf8AA"); /* 3f0000 7fc000 3e8000 3e0000 7fc000 7fc000 */
  /* a long name is broken at its marks and stands there whole */
  assert_has(page, ">longer_than_a_line-0.h5<");
  /* what the colours mean */
  assert_has(page, "dark: 0 nat; light: 0.5 nat; colour by the square root");
  assert_has(page, "blue: down to -2 nat; white: 0; red: up to 2 nat");
  assert_has(page, "Divergence, at sequence length 256: 0.125 to 0.5 nat, 1 undefined, 1 failed, 1 not run.");
  free(page);
  record_free(&record);
}

static void linear_rgb(const char *color, double out[3]) {
  unsigned value = (unsigned)strtoul(color + 1, NULL, 16);
  for (int i = 0; i < 3; i++) {
    double part = (double)(value >> (16 - 8 * i) & 0xff) / 255;
    out[i] = part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
  }
}

static double luminance(const char *color) {
  double rgb[3];
  linear_rgb(color, rgb);
  return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

/* WCAG 2.2: (lighter + 0.05) / (darker + 0.05). */
static double contrast(const char *a, const char *b) {
  double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
  return x > y ? x / y : y / x;
}

/* CIE 1976 L*a*b* of a colour as eyes of a kind see it. */
static void seen_as(const char *color, const double kind[3][3], double lab[3]) {
  static const double xyz[3][3] = {{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}};
  static const double white[3] = {0.9505, 1, 1.089};
  double rgb[3], seen[3], f[3];
  linear_rgb(color, rgb);
  for (int i = 0; i < 3; i++) {
    seen[i] = fmin(fmax(kind[i][0] * rgb[0] + kind[i][1] * rgb[1] + kind[i][2] * rgb[2], 0), 1);
  }
  for (int i = 0; i < 3; i++) {
    double part = (xyz[i][0] * seen[0] + xyz[i][1] * seen[1] + xyz[i][2] * seen[2]) / white[i];
    f[i] = part > 0.008856 ? cbrt(part) : 7.787 * part + 16.0 / 116;
  }
  lab[0] = 116 * f[1] - 16;
  lab[1] = 500 * (f[0] - f[1]);
  lab[2] = 200 * (f[1] - f[2]);
}

/* Colours of schemes are told apart with and without cones of each kind. Matrices: Machado, Oliveira, Fernandes 2009, A
 * Physiologically-based Model for Simulation of Color Vision Deficiency, table 1, severity 1. */
static void test_colours(void **state) {
  static const double kinds[4][3][3] = {
      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
      {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
      {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
      {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};
  (void)state;
  for (size_t a = 0; a <= 8; a++) {
    const char *first = a < 8 ? canvas_color(a) : CANVAS_MUTED;
    assert_true(contrast(first, "#ffffff") >= 3 && contrast(first, "#15171c") >= 3);
    for (size_t b = 0; b < a; b++) {
      for (size_t k = 0; k < 4; k++) {
        double x[3], y[3];
        seen_as(first, kinds[k], x);
        seen_as(canvas_color(b), kinds[k], y);
        double apart = sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2));
        if (apart < 15) {
          fail_msg("%s and %s are %.1f apart for eyes of kind %zu", first, canvas_color(b), apart, k);
        }
      }
    }
  }
}

/* A table of statements gives the summary of its experiment: each statement once. */
static void test_statements(void **state) {
  static const char *const rows[][3] = {
      {"a", "s < t", "no"}, {"b", "u", "yes"}, {"b", "s < t", "yes"}, {"c", "u", "no"}, {"c", "s < t", "yes"}};
  struct table table = {0};
  struct error err;
  (void)state;
  assert_int_equal(table_title(&table, &err, "T"), 0);
  assert_int_equal(table_column(&table, "scheme", "scheme", false, false, &err), 0);
  assert_int_equal(table_column(&table, "statement", "statement", false, true, &err), 0);
  assert_int_equal(table_column(&table, "answer", "is it so", false, false, &err), 0);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t c = 0; c < 3; c++) {
      assert_int_equal(table_text(&table, &err, "%s", rows[i][c]), 0);
    }
  }
  struct experiment_tables tables = {"claims", &table, 1};
  char *json = stored_tables_write(&tables, 1, &err);
  table_free(&table);
  struct results_experiment experiment = {.label = "claims", .title = "Is it so?"};
  struct results_text text = {.name = "tables", .text = json, .json = true};
  struct results_file file = {
      .title = "t", .status = "complete", .experiments = &experiment, .n_experiments = 1, .texts = &text, .n_texts = 1};
  char *page = report_page(&file, &err);
  assert_non_null(page);
  assert_has(page, "<h3>Is it so?</h3>\n<ul class=\"verdicts\">\n"
                   "<li><b>s &lt; t</b>: yes for b, c; no for a</li>\n"
                   "<li><b>u</b>: yes for b; no for c</li>\n</ul>\n");
  free(page);
  free(json);
}

static void test_page_without_gnuplot(void **state) {
  (void)state;
  struct hostile hostile;
  struct error err;
  char *path = getenv("PATH");
  char *kept = path ? strdup(path) : NULL;
  setenv("PATH", "/nowhere", 1);
  make_hostile(&hostile);
  char *page = report_page(&hostile.file, &err);
  assert_non_null(page);
  assert_harmless(page);
  assert_has(page, "The pictures are missing: gnuplot cannot be started: No such file or directory");
  assert_has_not(page, "<svg");
  assert_has(page, "<table>");
  size_t count;
  assert_int_equal(report_pictures(&hostile.file, TEST_BUILD_DIR "/test-report", false, &count, &err), ERROR_FILE_READ);
  free(page);
  free_hostile(&hostile);
  setenv("PATH", kept ? kept : "/usr/bin", 1);
  free(kept);
}

static void test_page_of_a_file_without_tables(void **state) {
  (void)state;
  struct sample_results sample;
  struct error err;
  sample_results_make(&sample, "t");
  char *page = report_page(&sample.file, &err);
  assert_non_null(page);
  assert_has(page, "<h2>What happens past the training length?</h2>");
  assert_has(page, "<b>broken</b> failed: broken: signal 11 while it was computing");
  free(page);
  sample_results_free(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text_stays_text),
      cmocka_unit_test(test_table),
      cmocka_unit_test(test_svg_for_a_page),
      cmocka_unit_test(test_quantiles),
      cmocka_unit_test(test_curve),
      cmocka_unit_test(test_page_with_hostile_texts),
      cmocka_unit_test(test_counterexample_beside_the_matrix),
      cmocka_unit_test(test_hover),
      cmocka_unit_test(test_permutations_of_seeds),
      cmocka_unit_test(test_grid),
      cmocka_unit_test(test_colours),
      cmocka_unit_test(test_statements),
      cmocka_unit_test(test_page_without_gnuplot),
      cmocka_unit_test(test_page_of_a_file_without_tables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
