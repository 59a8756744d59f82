#include "base/table.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 1, 0))) static char *format_text(const char *format, va_list arguments,
                                                               struct error *err) {
  va_list again;
  va_copy(again, arguments);
  int needed = vsnprintf(NULL, 0, format, arguments);
  char *text = NULL;
  if (needed < 0) {
    error_set(err, ERROR_MEMORY, "table: the text for '%s' cannot be made", format);
  } else {
    text = memory_new((size_t)needed + 1, 1, "table text", err);
  }
  if (text) {
    vsnprintf(text, (size_t)needed + 1, format, again);
  }
  va_end(again);
  return text;
}

/* Append a cell that takes over `text`. */
static int add_cell(struct table *table, char *text, bool is_number, double number, struct error *err) {
  assert(table->n_columns);
  if (!text) {
    return err->code;
  }
  struct table_cell *grown =
      memory_grow(table->cells, &table->cells_capacity, table->n_cells + 1, sizeof *grown, "table cells", err);
  if (!grown) {
    free(text);
    return err->code;
  }
  table->cells = grown;
  grown[table->n_cells++] = (struct table_cell){.text = text, .is_number = is_number, .number = number};
  return 0;
}

int table_title(struct table *table, struct error *err, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text(format, arguments, err);
  va_end(arguments);
  if (!text) {
    return err->code;
  }
  free(table->title);
  table->title = text;
  return 0;
}

int table_column(struct table *table, const char *name, const char *heading, bool right, bool wrap, struct error *err) {
  assert(!table->n_cells);
  struct table_column *grown =
      memory_grow(table->columns, &table->columns_capacity, table->n_columns + 1, sizeof *grown, "table columns", err);
  if (!grown) {
    return err->code;
  }
  table->columns = grown;
  char *heading_copy = memory_copy_text(heading, err);
  char *name_copy = heading_copy ? memory_copy_text(name, err) : NULL;
  if (!name_copy) {
    free(heading_copy);
    return err->code;
  }
  grown[table->n_columns++] =
      (struct table_column){.heading = heading_copy, .name = name_copy, .right = right, .wrap = wrap};
  return 0;
}

int table_text(struct table *table, struct error *err, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text(format, arguments, err);
  va_end(arguments);
  return add_cell(table, text, false, NAN, err);
}

int table_number(struct table *table, double value, struct error *err) {
  if (isnan(value)) {
    return table_number_as(table, value, err, "-");
  }
  /* Lengths and positions are never shown as 1.02e+03. */
  double size = fabs(value);
  bool in_full = size >= 100 && size < 1e7;
  return table_number_as(table, value, err, in_full ? "%.0f" : "%.3g", value == 0 ? 0.0 : value);
}

int table_number_as(struct table *table, double value, struct error *err, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text(format, arguments, err);
  va_end(arguments);
  return add_cell(table, text, true, value, err);
}

int table_note(struct table *table, struct error *err, const char *format, ...) {
  char **grown = memory_grow(table->notes, &table->notes_capacity, table->n_notes + 1, sizeof *grown, "notes", err);
  if (!grown) {
    return err->code;
  }
  table->notes = grown;
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text(format, arguments, err);
  va_end(arguments);
  if (!text) {
    return err->code;
  }
  grown[table->n_notes++] = text;
  return 0;
}

size_t table_rows(const struct table *table) {
  return table->n_columns ? table->n_cells / table->n_columns : 0;
}

void table_free(struct table *table) {
  for (size_t i = 0; i < table->n_columns; i++) {
    free(table->columns[i].heading);
    free(table->columns[i].name);
  }
  for (size_t i = 0; i < table->n_cells; i++) {
    free(table->cells[i].text);
  }
  for (size_t i = 0; i < table->n_notes; i++) {
    free(table->notes[i]);
  }
  free(table->title);
  free(table->columns);
  free(table->cells);
  free(table->notes);
  *table = (struct table){0};
}
