/* HTML of a report: text stays text, tables become tables.
 */
#ifndef PE_RESULTS_REPORT_HTML_H
#define PE_RESULTS_REPORT_HTML_H

#include "base/table.h"
#include "base/text.h"

/* Append `text` so that a browser shows it as it is, in an element or a quoted attribute: markup escaped, control
 * characters shown, bytes that are not UTF-8 replaced. */
void html_text(struct text *page, const char *text);

/* The same, line ends kept, for <pre>. */
void html_lines(struct text *page, const char *text);

/* A table with its notes. Its cells carry their heading, so that a narrow page can show rows as cards. */
void html_table(struct text *page, const struct table *table);

#endif
