#include "results/stored_tables.h"

#include "base/json_text.h"
#include "base/memory.h"
#include "results/printable.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *text_json(const char *text) {
  struct error ignored;
  char *clean = printable_utf8(text ? text : "", &ignored);
  json_t *json = clean ? json_string(clean) : NULL;
  free(clean);
  return json;
}

/* A number that JSON cannot hold stands in its text alone. */
static json_t *cell_json(const struct table_cell *cell) {
  if (!cell->is_number) {
    return text_json(cell->text);
  }
  json_t *number = isfinite(cell->number) ? json_real(cell->number) : json_null();
  return json_pack("{s:o, s:o}", "text", text_json(cell->text), "number", number);
}

static json_t *column_json(const struct table_column *column) {
  return json_pack("{s:o, s:o, s:b, s:b}", "name", text_json(column->name), "heading", text_json(column->heading),
                   "right", column->right, "wrap", column->wrap);
}

static bool fill_columns(json_t *columns, const struct table *table) {
  bool whole = columns != NULL;
  for (size_t i = 0; whole && i < table->n_columns; i++) {
    whole = !json_array_append_new(columns, column_json(&table->columns[i]));
  }
  return whole;
}

static bool fill_rows(json_t *rows, const struct table *table) {
  bool whole = rows != NULL;
  for (size_t r = 0; whole && r < table_rows(table); r++) {
    json_t *row = json_array();
    whole = !json_array_append_new(rows, row);
    for (size_t i = 0; whole && i < table->n_columns; i++) {
      whole = !json_array_append_new(row, cell_json(&table->cells[r * table->n_columns + i]));
    }
  }
  return whole;
}

static bool fill_notes(json_t *notes, const struct table *table) {
  bool whole = notes != NULL;
  for (size_t i = 0; whole && i < table->n_notes; i++) {
    whole = !json_array_append_new(notes, text_json(table->notes[i]));
  }
  return whole;
}

/* NULL for lack of memory. */
static json_t *table_json(const struct table *table) {
  json_t *columns = json_array(), *rows = json_array(), *notes = json_array();
  if (!fill_columns(columns, table) || !fill_rows(rows, table) || !fill_notes(notes, table)) {
    json_decref(columns);
    json_decref(rows);
    json_decref(notes);
    return NULL;
  }
  return json_pack("{s:o, s:o, s:o, s:o}", "title", text_json(table->title), "columns", columns, "rows", rows, "notes",
                   notes);
}

static bool fill(json_t *root, const struct experiment_tables *list, size_t count) {
  bool whole = root != NULL;
  for (size_t e = 0; whole && e < count; e++) {
    json_t *tables = json_array();
    whole = !json_object_set_new(root, list[e].experiment, tables);
    for (size_t i = 0; whole && i < list[e].count; i++) {
      whole = !json_array_append_new(tables, table_json(&list[e].tables[i]));
    }
  }
  return whole;
}

char *stored_tables_write(const struct experiment_tables *list, size_t count, struct error *err) {
  json_t *root = json_object();
  char *text = fill(root, list, count) ? json_to_text(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17), err) : NULL;
  json_decref(root);
  if (!text) {
    error_set(err, ERROR_MEMORY, "tables: memory is not to be had");
  }
  return text;
}

static int malformed(struct error *err) {
  return error_set(err, ERROR_FILE_CONTENT, "the tables in the results file are not as pe-run writes them");
}

static int read_column(const json_t *column, struct table *table, struct error *err) {
  const char *name = json_string_value(json_object_get(column, "name"));
  const char *heading = json_string_value(json_object_get(column, "heading"));
  bool right = json_is_true(json_object_get(column, "right")), wrap = json_is_true(json_object_get(column, "wrap"));
  return name && heading ? table_column(table, name, heading, right, wrap, err) : malformed(err);
}

static int read_cell(const json_t *cell, struct table *table, struct error *err) {
  if (json_is_string(cell)) {
    return table_text(table, err, "%s", json_string_value(cell));
  }
  const char *text = json_string_value(json_object_get(cell, "text"));
  const json_t *number = json_object_get(cell, "number");
  if (!text) {
    return malformed(err);
  }
  return table_number_as(table, json_is_number(number) ? json_number_value(number) : NAN, err, "%s", text);
}

static int read_row(const json_t *row, struct table *table, struct error *err) {
  if (json_array_size(row) != table->n_columns) {
    return malformed(err);
  }
  int failed = 0;
  for (size_t i = 0; !failed && i < table->n_columns; i++) {
    failed = read_cell(json_array_get(row, i), table, err);
  }
  return failed;
}

static int read_table(const json_t *json, struct table *table, struct error *err) {
  const char *title = json_string_value(json_object_get(json, "title"));
  const json_t *columns = json_object_get(json, "columns"), *rows = json_object_get(json, "rows");
  const json_t *notes = json_object_get(json, "notes");
  int failed = title ? table_title(table, err, "%s", title) : malformed(err);
  for (size_t i = 0; !failed && i < json_array_size(columns); i++) {
    failed = read_column(json_array_get(columns, i), table, err);
  }
  for (size_t i = 0; !failed && i < json_array_size(rows); i++) {
    failed = read_row(json_array_get(rows, i), table, err);
  }
  for (size_t i = 0; !failed && i < json_array_size(notes); i++) {
    const char *note = json_string_value(json_array_get(notes, i));
    failed = note ? table_note(table, err, "%s", note) : malformed(err);
  }
  return failed;
}

static int read_experiments(json_t *root, struct stored_tables *out, struct error *err) {
  const char *label;
  json_t *tables;
  int failed = 0;
  json_object_foreach(root, label, tables) {
    struct experiment_tables *entry = &out->list[out->count];
    *entry = (struct experiment_tables){.tables = out->tables + out->n_tables};
    entry->experiment = out->labels[out->count] = memory_copy_text(label, err);
    failed = entry->experiment ? 0 : (int)err->code;
    out->count += !failed;
    for (size_t i = 0; !failed && i < json_array_size(tables); i++) {
      failed = read_table(json_array_get(tables, i), &out->tables[out->n_tables++], err);
      entry->count++;
    }
    if (failed) {
      return failed;
    }
  }
  return failed;
}

int stored_tables_read(const char *json, struct stored_tables *out, struct error *err) {
  *out = (struct stored_tables){0};
  json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
  if (!json_is_object(root)) {
    json_decref(root);
    return malformed(err);
  }
  size_t most = 0;
  const char *label;
  json_t *tables;
  json_object_foreach(root, label, tables) {
    most += json_array_size(tables);
  }
  out->list = memory_new(json_object_size(root), sizeof *out->list, "tables", err);
  out->labels = out->list ? memory_new(json_object_size(root), sizeof *out->labels, "tables", err) : NULL;
  out->tables = out->labels ? memory_new(most, sizeof *out->tables, "tables", err) : NULL;
  int failed = out->tables ? read_experiments(root, out, err) : (int)err->code;
  json_decref(root);
  if (failed) {
    stored_tables_free(out);
  }
  return failed;
}

const struct experiment_tables *stored_tables_find(const struct stored_tables *tables, const char *experiment) {
  for (size_t i = 0; i < tables->count; i++) {
    if (!strcmp(tables->list[i].experiment, experiment)) {
      return &tables->list[i];
    }
  }
  return NULL;
}

void stored_tables_free(struct stored_tables *tables) {
  for (size_t i = 0; i < tables->n_tables; i++) {
    table_free(&tables->tables[i]);
  }
  for (size_t i = 0; i < tables->count; i++) {
    free(tables->labels[i]);
  }
  free(tables->labels);
  free(tables->tables);
  free(tables->list);
  *tables = (struct stored_tables){0};
}
