/* Lines that differ between two texts: private to the comparison.
 */
#ifndef PE_RESULTS_DIFF_TEXT_H
#define PE_RESULTS_DIFF_TEXT_H

#include "base/table.h"

/* Append a row (where, line in a, line in b) for each line that differs, by a longest common subsequence; changed lines
 * stand side by side. Texts of more than 4000 lines get one row. 0 or ERROR_MEMORY. */
int diff_text(struct table *table, const char *where, const char *a, const char *b, struct error *err);

#endif
