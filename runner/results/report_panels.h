/* Small multiples of a report: panels at places given in pixels, and matrices in them.
 */
#ifndef PE_RESULTS_REPORT_PANELS_H
#define PE_RESULTS_REPORT_PANELS_H

#include "results/report_canvas.h"

/* A rectangle of the canvas in pixels, counted from its upper left corner. */
struct panel {
  double left, top, width, height;
};

/* All that is drawn next stands in this panel, its title (may be NULL) above it in `color`. */
void panel_begin(const struct canvas *canvas, const struct panel *panel, const char *title, const char *color,
                 struct text *script);

/* A text at a place of the canvas in pixels; `align` is left, right or center. */
void canvas_note(const struct canvas *canvas, double x, double y, const char *align, const char *text,
                 const char *color, struct text *script);

/* A name or a title in lines of at most so many letters. */
enum { NAME_LINES = 6, NAME_LINE = 448 };

struct name_lines {
  char text[NAME_LINES][NAME_LINE];
  size_t count, longest; /* lines, and letters of the longest */
};

/* Broken behind a mark where there is one, else anywhere; what is longer than all lines ends in an ellipsis. `most` is
 * at most 110. */
void name_break(const char *text, size_t most, struct name_lines *lines);

/* A blank, or what else names are broken behind. */
bool name_mark(char c);

/* The lines one below the other around `y`, `line` pixels apart. */
void canvas_lines(const struct canvas *canvas, const struct name_lines *lines, double x, double y, const char *align,
                  const char *color, double line, struct text *script);

/* A matrix at no more than the resolution of a picture. */
struct shown_matrix {
  size_t rows, columns; /* shown: at most MOST_PIXELS each */
  double *values;       /* [rows][columns] means over blocks; NaN: no value */
  size_t all_rows, all_columns;
};

/* The last two axes of a tensor, averaged over all others (heads, seeds) and over blocks; `slice` >= 0 takes one
 * element of the first axis alone. What is not a number is left out. 0 or ERROR_MEMORY; free with free(values). */
int matrix_shown(const struct tensor *tensor, int slice, size_t most_pixels, struct shown_matrix *out,
                 struct error *err);

/* As a data block `$name`: x (column), y (row), value; x and y are the indices of the whole matrix. */
void matrix_append(const struct shown_matrix *matrix, const char *name, struct text *script);

/* What it tells under the pointer in `panel`; `says` as hover_grid has it. */
void matrix_hover(const struct canvas *canvas, const struct panel *panel, const struct shown_matrix *matrix,
                  const char *label, const char *says);

/* Ranges of both axes, rows downwards, without ticks or border decoration. */
void matrix_axes(const struct shown_matrix *matrix, struct text *script);

/* Sequential (viridis) and diverging (blue to red, light in the middle) palettes in which colour goes with the square
 * root, and the range that goes with them. */
void palette_sequential(double low, double high, struct text *script);
void palette_diverging(double most, struct text *script);

/* A horizontal colour box at a place in pixels with ticks at its ends and in the middle; to be set before the first
 * plot that uses the palette; `unset colorbox` after it. */
void colorbox_at(const struct canvas *canvas, double left, double top, double width, double low, double high,
                 struct text *script);

/* A number attribute, int or real; NAN where there is none. */
double record_number(const struct record *record, const char *name);

#endif
