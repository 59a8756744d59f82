/* gnuplot's SVG made fit to stand inside an HTML page.
 */
#ifndef PE_RESULTS_REPORT_SVG_H
#define PE_RESULTS_REPORT_SVG_H

#include "base/error.h"

/* The colour that scripts use for lines and text that follow the page's own colour, light or dark. */
#define SVG_INK "#010203"

/* The <svg> element alone: ids made unique by `name` ([a-z0-9_]+), SVG_INK exchanged for currentColor,
 * `alternative` as the text for those who do not see it. To be freed; NULL with ERROR_MEMORY, or ERROR_FILE_CONTENT
 * where it is no SVG. */
char *svg_inline(const char *svg, const char *name, const char *alternative, struct error *err);

/* A whole SVG file, without gnuplot's names of plots; ids and colours as they are. To be freed. */
char *svg_standalone(const char *svg, struct error *err);

#endif
