/* The tables of a run as one JSON text, kept in the results file under /run/tables, so that a report needs nothing but
 * the file.
 */
#ifndef PE_RESULTS_STORED_TABLES_H
#define PE_RESULTS_STORED_TABLES_H

#include "base/table.h"

struct experiment_tables {
  const char *experiment; /* label */
  const struct table *tables;
  size_t count;
};

/* {"<experiment>": [{"title", "columns": [{"name", "heading", "right", "wrap"}], "rows": [["text" or {"text",
 * "number"}]], "notes"}]}. To be freed; NULL with ERROR_MEMORY. */
char *stored_tables_write(const struct experiment_tables *list, size_t count, struct error *err);

struct stored_tables {
  struct experiment_tables *list;
  size_t count;
  struct table *tables; /* all of them, in order */
  size_t n_tables;
  char **labels;
};

/* Read them back. 0, ERROR_FILE_CONTENT where it is not such a text, or ERROR_MEMORY; then *out is empty. */
int stored_tables_read(const char *json, struct stored_tables *out, struct error *err);

/* The tables of an experiment; NULL where there are none. */
const struct experiment_tables *stored_tables_find(const struct stored_tables *tables, const char *experiment);

void stored_tables_free(struct stored_tables *tables);

#endif
