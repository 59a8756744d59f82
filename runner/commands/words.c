#include "commands/words.h"

#include "base/text.h"
#include "pe/plugin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *words_sites(unsigned sites) {
  static const char *const words[8] = {
      "nothing", "embedding",         "query and key",         "embedding, query and key",
      "scores",  "embedding, scores", "query and key, scores", "embedding, query and key, scores",
  };
  return words[sites & 7u];
}

static const char *type_word(enum key_type type) {
  static const char *const words[] = {
      [KEY_BOOL] = "true or false",
      [KEY_INT] = "whole number",
      [KEY_REAL] = "number",
      [KEY_CHOICE] = "word",
      [KEY_TEXT] = "text",
      [KEY_PATH] = "path",
      [KEY_INT_LIST] = "whole numbers",
      [KEY_REAL_LIST] = "numbers",
      [KEY_CHOICE_LIST] = "words",
      [KEY_TEXT_LIST] = "texts",
      [KEY_PATH_LIST] = "paths",
      [KEY_MATRIX] = "matrix",
      [KEY_TENSOR] = "tensor: lists, FILE:/dataset or FILE.npy",
      [KEY_SECTION] = "section",
      [KEY_SECTIONS] = "sections",
  };
  return words[type];
}

/* The allowed values: choices, or the range where one side is bounded. */
static void append_range(const struct key_spec *spec, struct text *text) {
  for (size_t i = 0; spec->choices && spec->choices[i]; i++) {
    text_printf(text, "%s%s", i ? " | " : "", spec->choices[i]);
  }
  bool number = spec->type == KEY_INT || spec->type == KEY_REAL || spec->type == KEY_INT_LIST ||
                spec->type == KEY_REAL_LIST || (spec->flags & KEY_OR_LIST);
  if (number && (isfinite(spec->min) || isfinite(spec->max)) && !(spec->choices && spec->min == spec->max)) {
    text_append(text, spec->choices ? " | " : "");
    text_append_double(text, spec->min);
    text_append(text, " to ");
    text_append_double(text, spec->max);
  }
  if (spec->flags & KEY_AUTO) {
    text_append(text, text->length ? " | auto" : "auto");
  }
}

static int add_row(const struct key_spec *spec, struct table *table, struct error *err) {
  struct text range = {0};
  append_range(spec, &range);
  char *allowed = text_take(&range, err);
  if (!allowed) {
    return err->code;
  }
  int status = table_text(table, err, "%s", spec->key);
  status = status ? status : table_text(table, err, "%s", type_word(spec->type));
  status = status ? status
                  : table_text(table, err, "%s",
                               spec->flags & KEY_REQUIRED ? "required"
                               : spec->fallback           ? spec->fallback
                                                          : "absent");
  status = status ? status : table_text(table, err, "%s", allowed);
  status = status ? status : table_text(table, err, "%s", spec->doc);
  free(allowed);
  return status;
}

int words_keys(const struct key_table *keys, struct table *table, struct error *err) {
  int status = table_column(table, "key", "key", false, false, err);
  status = status ? status : table_column(table, "type", "type", false, true, err);
  status = status ? status : table_column(table, "default", "default", false, false, err);
  status = status ? status : table_column(table, "allowed", "allowed", false, true, err);
  status = status ? status : table_column(table, "meaning", "meaning", false, true, err);
  for (size_t i = 0; !status && i < keys->count; i++) {
    status = add_row(&keys->keys[i], table, err);
  }
  return status;
}
