/* docs/config.md lists every key with its default and meaning, as the tables have them. */
#include "base/text.h"
#include "config/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *read_docs(void) {
  FILE *file = fopen(TEST_SOURCE_DIR "/docs/config.md", "r");
  assert_non_null(file);
  struct text text = {0};
  char piece[4096];
  for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;) {
    text_append_bytes(&text, piece, got);
  }
  fclose(file);
  struct error err;
  return text_take(&text, &err);
}

static const char *default_of(const struct key_spec *spec) {
  return spec->flags & KEY_REQUIRED   ? "needed"
         : spec->flags & KEY_OPTIONAL ? "-"
         : spec->fallback             ? spec->fallback
                                      : "-";
}

/* Rows that the docs do not have; each is printed, to be copied. */
static int missing_rows(const char *docs, const struct key_table *table, const char *path) {
  int missing = 0;
  for (size_t i = 0; i < table->count; i++) {
    const struct key_spec *spec = &table->keys[i];
    char *name, *row;
    assert_true(asprintf(&name, "%s%s%s", path, path[0] ? "." : "", spec->key) > 0);
    assert_true(asprintf(&row, "| `%s` | %s | %s |\n", name, default_of(spec), spec->doc) > 0);
    if (!strstr(docs, row)) {
      print_error("%s", row);
      missing++;
    }
    if (spec->type == KEY_SECTION || spec->type == KEY_SECTIONS) {
      missing += missing_rows(docs, spec->section, name);
    }
    free(name);
    free(row);
  }
  return missing;
}

static void every_key_stands_in_the_docs(void **state) {
  (void)state;
  char *docs = read_docs();
  int missing = missing_rows(docs, config_root_table(), "");
  missing += missing_rows(docs, config_scheme_entry_table(), "");
  missing += missing_rows(docs, config_experiment_entry_table(), "");
  free(docs);
  assert_int_equal(missing, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_key_stands_in_the_docs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
