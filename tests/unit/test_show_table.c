/* Tables as people and programs see them. Expected texts were written by hand from the rules in the headers. */
#include "results/printable.h"
#include "results/show_table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static struct table make_table(void) {
  struct table table = {0};
  struct error err;
  assert_int_equal(table_title(&table, &err, "Past L = %d?", 128), 0);
  assert_int_equal(table_column(&table, "scheme", "scheme", false, false, &err), 0);
  assert_int_equal(table_column(&table, "jsd", "mean divergence", true, false, &err), 0);
  assert_int_equal(table_column(&table, "follows", "what follows", false, true, &err), 0);
  assert_int_equal(table_text(&table, &err, "rope"), 0);
  assert_int_equal(table_number(&table, 0.012345, &err), 0);
  assert_int_equal(table_text(&table, &err, "depends on the length, not on the place"), 0);
  assert_int_equal(table_text(&table, &err, "日本"), 0);
  assert_int_equal(table_number(&table, NAN, &err), 0);
  assert_int_equal(table_text(&table, &err, "a \"b\", | <i> `x`\x1b[31m\n_"), 0);
  assert_int_equal(table_note(&table, &err, "Swapped in without retraining."), 0);
  assert_int_equal(table_rows(&table), 2);
  return table;
}

static char *show(const struct table *table, struct table_style style) {
  char *shown = NULL;
  size_t size;
  FILE *stream = open_memstream(&shown, &size);
  struct error err;
  assert_int_equal(table_show(table, &style, stream, &err), 0);
  assert_int_equal(fclose(stream), 0);
  return shown;
}

static void assert_shown(struct table_style style, const char *expected) {
  struct table table = make_table();
  char *shown = show(&table, style);
  assert_string_equal(shown, expected);
  free(shown);
  table_free(&table);
}

static void test_terminal_without_bound(void **state) {
  (void)state;
  assert_shown((struct table_style){.format = TABLE_TERMINAL},
               "Past L = 128?\n"
               "scheme  mean divergence  what follows\n"
               "rope             0.0123  depends on the length, not on the place\n"
               "日本                  -  a \"b\", | <i> `x`\\x1b[31m _\n"
               "  Swapped in without retraining.\n");
}

static void test_terminal_folds_prose_and_headings(void **state) {
  (void)state;
  assert_shown((struct table_style){.format = TABLE_TERMINAL, .width = 40}, "Past L = 128?\n"
                                                                            "scheme  mean divergence  what follows\n"
                                                                            "rope             0.0123  depends on the\n"
                                                                            "                         length, not on\n"
                                                                            "                         the place\n"
                                                                            "日本                  -  a \"b\", | <i>\n"
                                                                            "                         `x`\\x1b[31m _\n"
                                                                            "  Swapped in without retraining.\n");
  assert_shown((struct table_style){.format = TABLE_TERMINAL, .width = 32}, "Past L = 128?\n"
                                                                            "scheme         mean  what\n"
                                                                            "         divergence  follows\n"
                                                                            "rope         0.0123  depends on\n"
                                                                            "                     the length,\n"
                                                                            "                     not on the\n"
                                                                            "                     place\n"
                                                                            "日本              -  a \"b\", |\n"
                                                                            "                     <i>\n"
                                                                            "                     `x`\\x1b[31m\n"
                                                                            "                     _\n"
                                                                            "  Swapped in without retraining.\n");
}

static void test_terminal_too_narrow_for_columns(void **state) {
  (void)state;
  assert_shown((struct table_style){.format = TABLE_TERMINAL, .width = 24}, "Past L = 128?\n"
                                                                            "scheme: rope\n"
                                                                            "mean divergence:\n"
                                                                            "  0.0123\n"
                                                                            "what follows: depends\n"
                                                                            "  on the length, not on\n"
                                                                            "  the place\n"
                                                                            "\n"
                                                                            "scheme: 日本\n"
                                                                            "mean divergence: -\n"
                                                                            "what follows: a \"b\", |\n"
                                                                            "  <i> `x`\\x1b[31m _\n"
                                                                            "  Swapped in without\n"
                                                                            "  retraining.\n");
}

static void test_color_is_bold_title_and_headings(void **state) {
  (void)state;
  struct table table = make_table();
  char *shown = show(&table, (struct table_style){.format = TABLE_TERMINAL, .width = 80, .color = true});
  const char *start = "\x1b[1mPast L = 128?\n\x1b[0m\x1b[1mscheme  mean divergence  what follows\x1b[0m\nrope  ";
  assert_memory_equal(shown, start, strlen(start));
  free(shown);
  table_free(&table);
}

static void test_csv(void **state) {
  (void)state;
  assert_shown((struct table_style){.format = TABLE_CSV}, "# Past L = 128?\n"
                                                          "scheme,jsd,follows\n"
                                                          "rope,0.012345,\"depends on the length, not on the place\"\n"
                                                          "日本,,\"a \"\"b\"\", | <i> `x`\x1b[31m\n_\"\n"
                                                          "# Swapped in without retraining.\n");
}

static void test_markdown(void **state) {
  (void)state;
  assert_shown((struct table_style){.format = TABLE_MARKDOWN},
               "### Past L = 128?\n"
               "\n"
               "| scheme | mean divergence | what follows |\n"
               "| --- | ---: | --- |\n"
               "| rope | 0.0123 | depends on the length, not on the place |\n"
               "| 日本 | - | a \"b\", \\| \\<i\\> \\`x\\`\\\\x1b\\[31m \\_ |\n"
               "\n"
               "- Swapped in without retraining.\n");
}

static void test_json(void **state) {
  (void)state;
  struct table table = make_table();
  char *shown = show(&table, (struct table_style){.format = TABLE_JSON});
  json_t *root = json_loads(shown, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  const char *title, *name, *heading, *scheme, *follows, *note;
  double jsd;
  assert_int_equal(json_unpack(root, "{s:s, s:[*], s:[{s:s,s:f,s:s}, {s:n,s:s}], s:[s]}", "title", &title, "columns",
                               "rows", "scheme", &scheme, "jsd", &jsd, "follows", &follows, "jsd", "follows", &follows,
                               "notes", &note),
                   0);
  assert_string_equal(title, "Past L = 128?");
  assert_string_equal(scheme, "rope");
  assert_true(jsd == 0.012345);
  assert_string_equal(follows, "a \"b\", | <i> `x`\x1b[31m\n_");
  assert_string_equal(note, "Swapped in without retraining.");
  json_t *column = json_array_get(json_object_get(root, "columns"), 1);
  assert_int_equal(json_unpack(column, "{s:s, s:s}", "name", &name, "heading", &heading), 0);
  assert_string_equal(name, "jsd");
  assert_string_equal(heading, "mean divergence");
  json_decref(root);
  free(shown);
  table_free(&table);
}

static void test_numbers_as_shown(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0.012345, "0.0123"}, {1.2e-7, "1.2e-07"},     {0, "0"},       {-0.0, "0"},       {1024, "1024"},
               {1234.56, "1235"},    {65536, "65536"},        {NAN, "-"},     {INFINITY, "inf"}, {-INFINITY, "-inf"},
               {2.5, "2.5"},         {123456789, "1.23e+08"}, {99.5, "99.5"}, {-0.387, "-0.387"}};
  struct table table = {0};
  struct error err;
  assert_int_equal(table_column(&table, "x", "x", true, false, &err), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(table_number(&table, cases[i].value, &err), 0);
    assert_string_equal(table.cells[i].text, cases[i].text);
    assert_true(table.cells[i].is_number);
  }
  assert_int_equal(table_number_as(&table, 0.1, &err, "%.1f ± %.2f", 0.1, 0.02), 0);
  assert_string_equal(table.cells[table.n_cells - 1].text, "0.1 ± 0.02");
  table_free(&table);
}

static void test_bytes_that_are_not_utf8(void **state) {
  (void)state;
  struct error err;
  /* Latin-1, an overlong slash, a surrogate, beyond U+10FFFF, a cut character at the end */
  char *clean = printable_utf8("caf\xe9 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 ok\xc3", &err);
  assert_string_equal(clean, "caf\uFFFD \uFFFD\uFFFD \uFFFD\uFFFD\uFFFD \uFFFD\uFFFD\uFFFD\uFFFD ok\uFFFD");
  free(clean);
  char *line = printable_line("a\tb\r\n\x7f\xc2\x9b\u202ex", &err);
  assert_string_equal(line, "a b  \\x7f\\x9b\\u202ex");
  free(line);
}

static void test_stream_that_fails(void **state) {
  (void)state;
  struct table table = make_table();
  FILE *full = fopen("/dev/full", "w");
  assert_non_null(full);
  setvbuf(full, NULL, _IONBF, 0);
  struct error err;
  struct table_style style = {.format = TABLE_CSV};
  assert_int_equal(table_show(&table, &style, full, &err), ERROR_FILE_WRITE);
  assert_string_equal(err.text, "the output cannot be written: No space left on device");
  fclose(full);
  table_free(&table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_terminal_without_bound),
      cmocka_unit_test(test_terminal_folds_prose_and_headings),
      cmocka_unit_test(test_terminal_too_narrow_for_columns),
      cmocka_unit_test(test_color_is_bold_title_and_headings),
      cmocka_unit_test(test_csv),
      cmocka_unit_test(test_markdown),
      cmocka_unit_test(test_json),
      cmocka_unit_test(test_numbers_as_shown),
      cmocka_unit_test(test_bytes_that_are_not_utf8),
      cmocka_unit_test(test_stream_that_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
