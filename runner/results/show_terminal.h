/* A table for a terminal. */
#ifndef PE_RESULTS_SHOW_TERMINAL_H
#define PE_RESULTS_SHOW_TERMINAL_H

#include "base/table.h"

/* The table as text: title, headings, rows, notes, folded at words so that no line is longer than `width` columns (0:
 * no bound). Where even folded columns do not fit, each row stands as a block of `heading: value` lines; nothing is
 * ever cut off. `color`: bold title and headings. To be freed; NULL with ERROR_MEMORY. */
char *terminal_of_table(const struct table *table, int width, bool color, struct error *err);

#endif
