/* Heat maps whose rows and columns have names, with a value in each cell: what a sweep gave.
 */
#ifndef PE_RESULTS_REPORT_CELLS_H
#define PE_RESULTS_REPORT_CELLS_H

#include "results/report_panels.h"

enum cell_state { CELL_MEASURED, CELL_UNDEFINED, CELL_FAILED, CELL_NOT_RUN };

struct cell {
  double value;
  enum cell_state state; /* a value that is no number counts as undefined */
  bool framed;           /* stands out */
};

/* A row or a column. */
struct cell_name {
  char text[RECORD_NAME + 32];
  const char *color; /* NULL: that of the text */
};

/* One matrix; those of a drawing have the same names and share one colour scale. */
struct cells {
  char title[256];    /* above it, and under the pointer: "sequence length 256" */
  struct cell *cells; /* [rows][columns] */
};

struct cells_drawing {
  const char *title;       /* what is measured, above all */
  const char *units;       /* "" or "1": none */
  const char *rows_are;    /* what the names are: "trained with" */
  const char *columns_are; /* "applied" */
  struct cell_name *rows, *columns;
  size_t n_rows, n_columns;
  struct cells *matrices;
  size_t n_matrices;
};

/* Memory for the names and cells of a drawing whose numbers of rows, columns and matrices are set, all empty. 0 or
 * ERROR_MEMORY; to be freed with cells_free. */
int cells_new(struct cells_drawing *drawing, struct error *err);
void cells_free(struct cells_drawing *drawing);

/* Height of the canvas that the drawing needs in pixels. */
int cells_height(const struct cells_drawing *drawing, bool narrow);

/* 0 or ERROR_MEMORY. */
int cells_draw(const struct canvas *canvas, const struct cells_drawing *drawing, struct text *script,
               struct error *err);

/* "title, sequence length 64: 0 to 0.6 nat, 6 undefined; sequence length 256: ..." for those who do not see it. */
void cells_say_values(const struct cells_drawing *drawing, struct text *out);

#endif
