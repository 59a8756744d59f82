/* Tables kept in the results file come back as they were. */
#include "results/show_table.h"
#include "results/stored_tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct table make_table(const char *title) {
  struct table table = {0};
  struct error err;
  assert_int_equal(table_title(&table, &err, "%s", title), 0);
  assert_int_equal(table_column(&table, "scheme", "Scheme", false, false, &err), 0);
  assert_int_equal(table_column(&table, "jsd", "divergence", true, false, &err), 0);
  assert_int_equal(table_column(&table, "follows", "what follows", false, true, &err), 0);
  assert_int_equal(table_text(&table, &err, "rope"), 0);
  assert_int_equal(table_number_as(&table, 0.1, &err, "0.1 ± 0.02"), 0);
  assert_int_equal(table_text(&table, &err, "\"</script>\\ größer"), 0);
  assert_int_equal(table_text(&table, &err, "none"), 0);
  assert_int_equal(table_number(&table, NAN, &err), 0);
  assert_int_equal(table_text(&table, &err, "%s", ""), 0);
  assert_int_equal(table_note(&table, &err, "A note."), 0);
  return table;
}

static char *show(const struct table *table, enum table_format format) {
  char *shown = NULL;
  size_t size;
  FILE *stream = open_memstream(&shown, &size);
  struct error err;
  struct table_style style = {.format = format, .width = 60};
  assert_int_equal(table_show(table, &style, stream, &err), 0);
  fclose(stream);
  return shown;
}

static void test_round_trip(void **state) {
  (void)state;
  struct table tables[] = {make_table("first"), make_table("second")};
  struct experiment_tables list[] = {{"extrapolation", tables, 2}, {"attention", NULL, 0}};
  struct error err;
  char *json = stored_tables_write(list, 2, &err);
  assert_non_null(json);
  struct stored_tables back;
  assert_int_equal(stored_tables_read(json, &back, &err), 0);
  assert_int_equal(back.count, 2);
  assert_int_equal(stored_tables_find(&back, "attention")->count, 0);
  assert_null(stored_tables_find(&back, "equivariance"));
  const struct experiment_tables *found = stored_tables_find(&back, "extrapolation");
  assert_int_equal(found->count, 2);
  for (size_t i = 0; i < 2; i++) {
    for (int format = TABLE_TERMINAL; format <= TABLE_MARKDOWN; format++) {
      char *before = show(&tables[i], (enum table_format)format);
      char *after = show(&found->tables[i], (enum table_format)format);
      assert_string_equal(before, after);
      free(before);
      free(after);
    }
    table_free(&tables[i]);
  }
  stored_tables_free(&back);
  free(json);
}

static void test_other_texts_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {
      "",
      "[]",
      "{\"a\": [{}]}",
      "{\"a\": [{\"title\": \"t\", \"columns\": [{\"name\": 1}]}]}",
      "{\"a\": [{\"title\": \"t\", \"columns\": [{\"name\": \"a\", \"heading\": \"a\"}], \"rows\": [[\"a\", \"b\"]]}]}",
      "{\"a\": [{\"title\": \"t\", \"columns\": [{\"name\": \"a\", \"heading\": \"a\"}], \"rows\": [[1]]}]}",
      "{\"a\": [{\"title\": \"t\", \"notes\": [1]}]}"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct stored_tables tables;
    struct error err;
    assert_int_equal(stored_tables_read(texts[i], &tables, &err), ERROR_FILE_CONTENT);
    assert_null(tables.list);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_other_texts_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
