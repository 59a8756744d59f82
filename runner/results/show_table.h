/* Tables on the terminal and in machine formats. */
#ifndef PE_RESULTS_SHOW_TABLE_H
#define PE_RESULTS_SHOW_TABLE_H

#include "base/table.h"

#include <stdio.h>

enum table_format { TABLE_TERMINAL, TABLE_JSON, TABLE_CSV, TABLE_MARKDOWN };

struct table_style {
  enum table_format format;
  int width; /* columns of the terminal; 0: as wide as it needs to be */
  bool color;
};

/* Print `table` with title and notes (machine formats: JSON as one object {"title", "columns", "rows", "notes"}; CSV
 * with full digits and notes as # lines). 0, ERROR_FILE_WRITE where the stream fails, or ERROR_MEMORY. */
int table_show(const struct table *table, const struct table_style *style, FILE *stream, struct error *err);

#endif
