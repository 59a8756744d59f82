/* What all pictures of a report share: size, fonts, colours, and how a scheme looks.
 */
#ifndef PE_RESULTS_REPORT_CANVAS_H
#define PE_RESULTS_REPORT_CANVAS_H

#include "base/record.h"
#include "base/text.h"
#include "results/report_hover.h"
#include "results/results.h"

enum canvas_kind { CANVAS_PAGE, CANVAS_SVG, CANVAS_PNG };

struct canvas {
  enum canvas_kind kind;
  const char *name;  /* [a-z0-9_]+ */
  int width, height; /* in pixels */
  bool narrow;       /* for a phone: less text, fewer ticks */
  /* what is told under the pointer; NULL for pictures that stand alone */
  struct hover *hover;
};

/* Terminal, encoding, and the look of borders and ticks. */
void canvas_begin(const struct canvas *canvas, struct text *script);

/* The colour of lines and text, and a quieter one that goes with light and dark. */
const char *canvas_ink(const struct canvas *canvas);
#define CANVAS_MUTED "#808080"

/* Colour `place` of the palette that schemes and stages have, over and over. */
const char *canvas_color(size_t place);

/* A label as letters, digits and underscores alone, for names of files and elements. */
void canvas_plain(char *out, size_t size, const char *label);

/* What a record's scheme is to the model, from its attribute `role`. */
enum look_role { LOOK_MODEL, LOOK_MAPPED, LOOK_SWAPPED_IN, LOOK_CONTROL, LOOK_OTHER };

/* How a scheme is drawn, everywhere in a report: its colour by the order in which labels first appear in the file, the
 * control grey; the model solid, swapped-in schemes dashed. Colours hold 3:1 against white and near-black. */
struct look {
  const char *color;
  int point; /* gnuplot's point type */
  int dash;  /* gnuplot's dash type */
  double width;
  enum look_role role;
};

struct look look_of(const struct results_file *file, const struct record *record);

/* The colour of the scheme of that label anywhere in the file; NULL where none has numbers. */
const char *color_of_scheme(const struct results_file *file, const char *label);

/* A record holds a scheme (it does not compare schemes) and has numbers. */
bool is_scheme_record(const struct record *record);

#endif
