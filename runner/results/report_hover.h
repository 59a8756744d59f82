/* Values under the pointer or the finger: what a picture shows, as numbers beside it, and where in the picture each
 * stands. The page's script (report_script.h) reads both. A picture says the same values in every rendering, in the
 * same order; only the places differ. All functions do nothing where `hover` is NULL.
 */
#ifndef PE_RESULTS_REPORT_HOVER_H
#define PE_RESULTS_REPORT_HOVER_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct hover {
  bool places_only;         /* another rendering has said the values */
  struct text names, items; /* JSON: lists of names; grids and curves */
  struct text panels;       /* JSON: rectangles, and what stands in them */
  size_t n_names, n_items, n_panels, n_points;
};

/* From the left edge of a panel to the right one, or from the bottom to the top. */
struct hover_axis {
  double from, to;
  bool logarithmic;
};

/* A rectangle of the canvas in pixels, counted from its upper left corner; what is said next stands in it. */
void hover_panel(struct hover *hover, double left, double top, double width, double height, struct hover_axis x,
                 struct hover_axis y);

/* HOVER_POINTS: the pointer has to be near; HOVER_CELLS: a point stands for all that is nearer to it than to others. */
enum hover_kind { HOVER_POINTS, HOVER_INTERVALS, HOVER_CELLS };

/* A curve: `label` as it is and `says` are shown for its nearest point, with {x}, {y} and {v} of `says` exchanged for
 * numbers; with HOVER_INTERVALS also {l} and {h}. Points that are no numbers are left out. */
void hover_curve(struct hover *hover, const char *label, const char *says, enum hover_kind kind);
void hover_point(struct hover *hover, double x, double y, double value);
void hover_interval(struct hover *hover, double x, double y, double low, double high);

/* Names of rows or columns, one call each; returns a number for hover_grid. */
int hover_names(struct hover *hover);
void hover_name(struct hover *hover, const char *name);

enum { HOVER_NUMBERS = -1 };

/* Numbers of rows or columns: `first` and a step per element; or names. */
struct hover_side {
  size_t count;
  double first, step;
  int names; /* of hover_names, or HOVER_NUMBERS */
};

/* A matrix that fills the panel, row 0 at the top: `says` has {r}, {c} and {v}. values [rows][columns] are kept to 4
 * digits; NaN is "no value". */
void hover_grid(struct hover *hover, const char *label, const char *says, struct hover_side rows,
                struct hover_side columns, const double *values);

/* The JSON texts, to be freed; NULL with ERROR_MEMORY. */
char *hover_values(struct hover *hover, struct error *err);
char *hover_places(struct hover *hover, struct error *err);

void hover_free(struct hover *hover);

#endif
