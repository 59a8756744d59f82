#include "results/show_table.h"

#include "base/json_text.h"
#include "base/text.h"
#include "results/printable.h"
#include "results/show_terminal.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct table_cell *cell_at(const struct table *table, size_t row, size_t column) {
  return &table->cells[row * table->n_columns + column];
}

static json_t *json_text(const char *text, struct error *err) {
  char *clean = printable_utf8(text, err);
  json_t *json = clean ? json_string(clean) : NULL;
  free(clean);
  return json;
}

/* JSON has no NaN (null) and no infinity (the texts "inf", "-inf"). */
static json_t *json_cell(const struct table_cell *cell, struct error *err) {
  if (!cell->is_number) {
    return json_text(cell->text, err);
  }
  double value = cell->number;
  if (isnan(value)) {
    return json_null();
  }
  if (isinf(value)) {
    return json_string(value > 0 ? "inf" : "-inf");
  }
  bool whole = value == floor(value) && fabs(value) < 0x1p53;
  return whole ? json_integer((json_int_t)value) : json_real(value);
}

/* json_..._new report only lack of memory, and take NULL for a value that could not be made. */
static bool fill_json(json_t *root, const struct table *table, struct error *err) {
  json_t *columns = json_array();
  json_t *rows = json_array();
  json_t *notes = json_array();
  bool whole = !json_object_set_new(root, "title", json_text(table->title ? table->title : "", err));
  whole = !json_object_set_new(root, "columns", columns) && whole;
  whole = !json_object_set_new(root, "rows", rows) && whole;
  whole = !json_object_set_new(root, "notes", notes) && whole;
  for (size_t i = 0; whole && i < table->n_columns; i++) {
    json_t *column = json_object();
    whole = !json_array_append_new(columns, column);
    whole = whole && !json_object_set_new(column, "name", json_text(table->columns[i].name, err));
    whole = whole && !json_object_set_new(column, "heading", json_text(table->columns[i].heading, err));
  }
  for (size_t r = 0; whole && r < table_rows(table); r++) {
    json_t *row = json_object();
    whole = !json_array_append_new(rows, row);
    for (size_t i = 0; whole && i < table->n_columns; i++) {
      whole = !json_object_set_new(row, table->columns[i].name, json_cell(cell_at(table, r, i), err));
    }
  }
  for (size_t i = 0; whole && i < table->n_notes; i++) {
    whole = !json_array_append_new(notes, json_text(table->notes[i], err));
  }
  return whole;
}

static char *json_of_table(const struct table *table, struct error *err) {
  json_t *root = json_object();
  char *json = NULL;
  if (root && fill_json(root, table, err)) {
    json = json_to_text(root, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17), err);
  }
  json_decref(root);
  struct text out = {0};
  if (!json) {
    error_set(err, ERROR_MEMORY, "table '%s' as JSON: memory is not to be had", table->title ? table->title : "");
    return NULL;
  }
  text_append(&out, json);
  text_append(&out, "\n");
  free(json);
  return text_take(&out, err);
}

/* RFC 4180; a leading # is quoted as well, because # lines are notes here. */
static void csv_field(struct text *out, const char *text) {
  if (!strpbrk(text, ",\"\r\n#") && text[0] != ' ') {
    text_append(out, text);
    return;
  }
  text_append(out, "\"");
  for (; *text; text++) {
    text_append_bytes(out, text, 1);
    if (*text == '"') {
      text_append(out, "\"");
    }
  }
  text_append(out, "\"");
}

static void csv_cell(struct text *out, const struct table_cell *cell, struct error *err) {
  if (cell->is_number) {
    if (!isnan(cell->number)) {
      text_append_double(out, cell->number);
    }
    return;
  }
  char *clean = printable_utf8(cell->text, err);
  csv_field(out, clean ? clean : "");
  out->failed = out->failed || !clean;
  free(clean);
}

static void append_line(struct text *out, const char *before, const char *text, const char *after, struct error *err) {
  char *line = printable_line(text, err);
  text_append(out, before);
  text_append(out, line ? line : "");
  text_append(out, after);
  out->failed = out->failed || !line;
  free(line);
}

static char *csv_of_table(const struct table *table, struct error *err) {
  struct text out = {0};
  if (table->title) {
    append_line(&out, "# ", table->title, "\n", err);
  }
  for (size_t i = 0; i < table->n_columns; i++) {
    text_append(&out, i ? "," : "");
    csv_field(&out, table->columns[i].name);
  }
  text_append(&out, "\n");
  for (size_t r = 0; r < table_rows(table); r++) {
    for (size_t i = 0; i < table->n_columns; i++) {
      text_append(&out, i ? "," : "");
      csv_cell(&out, cell_at(table, r, i), err);
    }
    text_append(&out, "\n");
  }
  for (size_t i = 0; i < table->n_notes; i++) {
    append_line(&out, "# ", table->notes[i], "\n", err);
  }
  return text_take(&out, err);
}

/* Text stays text: what Markdown or the HTML within it would take as markup is escaped. An underscore inside a word is
 * none. */
static void markdown_text(struct text *out, const char *text, struct error *err) {
  char *line = printable_line(text, err);
  out->failed = out->failed || !line;
  for (const char *c = line ? line : ""; *c; c++) {
    bool inside = c > line && isalnum((unsigned char)c[-1]) && isalnum((unsigned char)c[1]);
    if (strchr("\\`*[]<>|~&#", *c) || (*c == '_' && !inside)) {
      text_append(out, "\\");
    }
    text_append_bytes(out, c, 1);
  }
  free(line);
}

static char *markdown_of_table(const struct table *table, struct error *err) {
  struct text out = {0};
  if (table->title) {
    text_append(&out, "### ");
    markdown_text(&out, table->title, err);
    text_append(&out, "\n\n");
  }
  for (size_t i = 0; i < table->n_columns; i++) {
    text_append(&out, "| ");
    markdown_text(&out, table->columns[i].heading, err);
    text_append(&out, " ");
  }
  text_append(&out, "|\n");
  for (size_t i = 0; i < table->n_columns; i++) {
    text_append(&out, table->columns[i].right ? "| ---: " : "| --- ");
  }
  text_append(&out, "|\n");
  for (size_t r = 0; r < table_rows(table); r++) {
    for (size_t i = 0; i < table->n_columns; i++) {
      text_append(&out, "| ");
      markdown_text(&out, cell_at(table, r, i)->text, err);
      text_append(&out, " ");
    }
    text_append(&out, "|\n");
  }
  for (size_t i = 0; i < table->n_notes; i++) {
    text_append(&out, i ? "" : "\n");
    text_append(&out, "- ");
    markdown_text(&out, table->notes[i], err);
    text_append(&out, "\n");
  }
  return text_take(&out, err);
}

int table_show(const struct table *table, const struct table_style *style, FILE *stream, struct error *err) {
  char *shown = NULL;
  switch (style->format) {
  case TABLE_TERMINAL:
    shown = terminal_of_table(table, style->width, style->color, err);
    break;
  case TABLE_JSON:
    shown = json_of_table(table, err);
    break;
  case TABLE_CSV:
    shown = csv_of_table(table, err);
    break;
  case TABLE_MARKDOWN:
    shown = markdown_of_table(table, err);
    break;
  }
  if (!shown) {
    return err->code;
  }
  errno = 0;
  bool failed = fputs(shown, stream) < 0 || ferror(stream);
  free(shown);
  return failed ? error_set(err, ERROR_FILE_WRITE, "the output cannot be written: %s", strerror(errno)) : 0;
}
