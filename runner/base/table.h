/* A table for people: columns with headings, rows of cells, notes below. Made by experiments and commands, shown by
 * results (terminal table, JSON, CSV, Markdown, report).
 */
#ifndef PE_BASE_TABLE_H
#define PE_BASE_TABLE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct table_cell {
  char *text; /* as shown */
  bool is_number;
  double number; /* the full value behind the text, for machine formats */
};

struct table_column {
  char *heading;
  char *name; /* key in machine formats: [a-z][a-z0-9_]* */
  bool right; /* numbers: aligned right */
  bool wrap;  /* prose: may be folded to fit the width */
};

struct table {
  char *title;
  struct table_column *columns;
  size_t n_columns, columns_capacity;
  struct table_cell *cells; /* [n_rows][n_columns] */
  size_t n_cells, cells_capacity;
  char **notes;
  size_t n_notes, notes_capacity;
};

/* A table starts as {0}. All return 0 or ERROR_MEMORY and copy what they are given. Columns are added before the first
 * cell; cells fill rows from left to right. */
int table_title(struct table *table, struct error *err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int table_column(struct table *table, const char *name, const char *heading, bool right, bool wrap, struct error *err);
int table_text(struct table *table, struct error *err, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A number, shown with three significant digits and its whole part in full up to 1e7 ("0.0123", "1.2e-07", "0",
 * "1024"); NaN as "-". */
int table_number(struct table *table, double value, struct error *err);
/* The same with a text of its own. */
int table_number_as(struct table *table, double value, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int table_note(struct table *table, struct error *err, const char *format, ...) __attribute__((format(printf, 3, 4)));

size_t table_rows(const struct table *table);
void table_free(struct table *table);

#endif
