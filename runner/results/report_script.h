/* The script of a report: it shows the value under the pointer or the finger (report_hover.h). It writes text alone,
 * never markup, and needs no network.
 */
#ifndef PE_RESULTS_REPORT_SCRIPT_H
#define PE_RESULTS_REPORT_SCRIPT_H

#include "base/text.h"

/* The <script> element, to stand behind what it looks at. */
void report_script_append(struct text *page);

/* The <meta> element that lets a page run this script and no other, and open nothing from anywhere. */
void report_script_policy(struct text *page);

#endif
