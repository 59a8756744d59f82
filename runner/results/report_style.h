/* The style sheet of a report: light and dark, phone and paper.
 */
#ifndef PE_RESULTS_REPORT_STYLE_H
#define PE_RESULTS_REPORT_STYLE_H

/* Constant CSS, to stand in <style>. */
extern const char report_style[];

#endif
