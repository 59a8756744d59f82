/* A results file as one self-contained HTML page: question and verdicts, then for each experiment its pictures and
 * tables, provenance last. It opens from disk and needs no network; its one script shows the value under the pointer.
 */
#ifndef PE_RESULTS_REPORT_H
#define PE_RESULTS_REPORT_H

#include "results/results.h"

/* The page, to be freed. Without gnuplot it has its tables and says what is missing. NULL with ERROR_FILE_CONTENT (the
 * stored tables are not whole) or ERROR_MEMORY. */
char *report_page(const struct results_file *file, struct error *err);

/* Every picture as a file of its own, <folder>/<experiment>_<picture>.svg or .png, _2 and on for further parts; *count
 * is how many. 0, ERROR_FILE_READ (no gnuplot), ERROR_FILE_WRITE or ERROR_MEMORY. */
int report_pictures(const struct results_file *file, const char *folder, bool png, size_t *count, struct error *err);

#endif
