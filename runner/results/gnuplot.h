/* gnuplot through a pipe: scripts made of our own words, numbers, and text in single quotes, in which gnuplot expands
 * nothing.
 */
#ifndef PE_RESULTS_GNUPLOT_H
#define PE_RESULTS_GNUPLOT_H

#include "base/text.h"

/* Append `text` to a script as a quoted string: control characters shown, quotes doubled. */
void gnuplot_quote(struct text *script, const char *text);

/* Append a number as gnuplot reads it; what is not finite as NaN, which it leaves out. */
void gnuplot_number(struct text *script, double value);

/* Run a script without the user's settings and give back all that it printed (with a NUL behind it), to be freed.
 * *count is its length, without the NUL. NULL with ERROR_FILE_READ, which says that gnuplot is not installed or what it
 * complained of, or ERROR_MEMORY. */
char *gnuplot_run(const struct text *script, size_t *count, struct error *err);

#endif
