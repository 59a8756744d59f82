/* Picture of which permutations of the input a scheme lets through: one row per scheme and mask. */
#include "results/gnuplot.h"
#include "results/report_curves.h"
#include "results/report_pictures.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 128, MOST_NAMED = 24, MOST_OTHERS = 40, ROW_PIXELS = 26 };

/* Kinds of permutations, in the order of the columns. */
enum kind { IDENTITY, REVERSAL, ROTATION, SWAP, OTHER, N_KINDS };
static const char *const kind_names[N_KINDS] = {"identity", "reversal", "rotations", "neighbours swapped", "others"};

struct row {
  const struct record *record;
  const struct tensor *deviation;
  size_t first; /* of its values in `deviation` */
  int mask;     /* value on the mask axis; -1: none */
  double bound; /* what rounding can do */
};

struct matrix {
  struct row rows[MOST_ROWS];
  size_t n_rows;
  const struct tensor *permutations; /* [permutation, position] */
  size_t n_permutations;
  size_t n_named;   /* columns of one permutation each, all kinds but OTHER, or all kinds where they are few */
  size_t n_columns; /* and further ones for the rest, in the order of each row's deviation */
  size_t *column;   /* [n_permutations] permutation shown in a column; the rest behind n_named */
  enum kind *kind;  /* [n_permutations] */
  double *values;   /* [n_rows][n_columns] */
};

static double place(const struct tensor *permutations, size_t p, size_t i) {
  return tensor_value(permutations, p * permutations->axis[1].length + i);
}

static enum kind kind_of(const struct tensor *permutations, size_t p) {
  size_t length = permutations->axis[1].length;
  size_t same = 0, reversed = 0, rotated = 0, swapped = 0;
  size_t by = length ? (size_t)place(permutations, p, 0) : 0;
  for (size_t i = 0; i < length; i++) {
    size_t from = (size_t)place(permutations, p, i);
    bool with_next = i + 1 < length && from == i + 1 && (size_t)place(permutations, p, i + 1) == i;
    same += from == i;
    reversed += from == length - 1 - i;
    rotated += from == (i + by) % length;
    swapped += with_next;
  }
  if (same == length) {
    return IDENTITY;
  }
  if (reversed == length) {
    return REVERSAL;
  }
  if (rotated == length) {
    return ROTATION;
  }
  return swapped == 1 && same == length - 2 ? SWAP : OTHER;
}

/* A record's rows: one per mask (and seed, of which the first is shown). */
static void add_rows(struct matrix *matrix, const struct record *record) {
  const struct tensor *deviation = record_find(record, "deviation");
  const struct tensor *permutations = record_find(record, "permutations");
  bool fits = is_scheme_record(record) && deviation && permutations && permutations->rank == 2 && deviation->rank &&
              !strcmp(deviation->axis[deviation->rank - 1].name, "permutation") &&
              deviation->axis[deviation->rank - 1].length == permutations->axis[0].length;
  if (!fits || (matrix->permutations && permutations->axis[0].length != matrix->n_permutations)) {
    return;
  }
  matrix->permutations = permutations;
  matrix->n_permutations = permutations->axis[0].length;
  const struct axis *mask = tensor_axis(deviation, "mask");
  const struct attribute *bound = attributes_find(&record->attributes, "rounding_bound");
  size_t n = mask ? mask->length : 1;
  for (size_t i = 0; i < n && matrix->n_rows < MOST_ROWS; i++) {
    matrix->rows[matrix->n_rows++] = (struct row){
        .record = record,
        .deviation = deviation,
        .first = i * matrix->n_permutations,
        .mask = mask ? (int)(mask->values ? mask->values[i] : (double)i) : -1,
        .bound = bound && bound->kind == ATTRIBUTE_REAL ? bound->real : 0,
    };
  }
}

/* Columns: kinds one after the other; of others, where they are many, a sample. */
static void order_columns(struct matrix *matrix) {
  size_t next = 0, others = 0;
  for (enum kind kind = IDENTITY; kind < N_KINDS; kind++) {
    for (size_t p = 0; p < matrix->n_permutations; p++) {
      if (kind_of(matrix->permutations, p) == kind) {
        matrix->column[next] = p;
        matrix->kind[next++] = kind;
        others += kind == OTHER;
      }
    }
  }
  bool few = matrix->n_permutations <= MOST_NAMED || others <= 1;
  matrix->n_named = few ? matrix->n_permutations : matrix->n_permutations - others;
  matrix->n_columns = matrix->n_named + (few ? 0 : others < MOST_OTHERS ? others : MOST_OTHERS);
}

static int matrix_fill(struct matrix *matrix, struct error *err) {
  size_t rest = matrix->n_permutations - matrix->n_named, shown = matrix->n_columns - matrix->n_named;
  double *sorted = memory_new(rest, sizeof *sorted, "permutations", err);
  matrix->values =
      sorted ? memory_new_3d(matrix->n_rows, matrix->n_columns, 1, sizeof(double), "permutations", err) : NULL;
  for (size_t r = 0; matrix->values && r < matrix->n_rows; r++) {
    const struct row *row = &matrix->rows[r];
    double *values = matrix->values + r * matrix->n_columns;
    for (size_t c = 0; c < matrix->n_named; c++) {
      values[c] = tensor_value(row->deviation, row->first + matrix->column[c]);
    }
    for (size_t i = 0; i < rest; i++) {
      sorted[i] = tensor_value(row->deviation, row->first + matrix->column[matrix->n_named + i]);
    }
    for (size_t i = 0; i < shown; i++) {
      values[matrix->n_named + i] = quantile_of(sorted, rest, ((double)i + 0.5) / (double)shown);
    }
  }
  free(sorted);
  return matrix->values ? 0 : (int)err->code;
}

static void matrix_free(struct matrix *matrix) {
  free(matrix->column);
  free(matrix->kind);
  free(matrix->values);
}

static int matrix_make(const struct picture_source *source, struct matrix *matrix, struct error *err) {
  *matrix = (struct matrix){0};
  for (size_t i = 0; i < source->experiment->count; i++) {
    add_rows(matrix, source->experiment->records[i]);
  }
  matrix->column = memory_new(matrix->n_permutations, sizeof *matrix->column, "permutations", err);
  matrix->kind = matrix->column ? memory_new(matrix->n_permutations, sizeof *matrix->kind, "permutations", err) : NULL;
  if (matrix->kind) {
    order_columns(matrix);
  }
  if (!matrix->kind || matrix_fill(matrix, err)) {
    matrix_free(matrix);
    return err->code;
  }
  return 0;
}

static bool applies(const struct picture_source *source) {
  struct matrix matrix = {0};
  for (size_t i = 0; i < source->experiment->count; i++) {
    add_rows(&matrix, source->experiment->records[i]);
  }
  return matrix.n_rows > 0;
}

static double value_at(const struct matrix *matrix, size_t row, size_t column) {
  return matrix->values[row * matrix->n_columns + column];
}

static void row_name(const struct row *row, char *name, size_t size) {
  static const char *const masks[] = {", no mask", ", causal"};
  snprintf(name, size, "%s%s", row->record->label, row->mask == 0 || row->mask == 1 ? masks[row->mask] : "");
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  struct matrix matrix;
  if (matrix_make(source, &matrix, err)) {
    return err->code;
  }
  text_append(caption,
              "The tokens are permuted; does the output follow? Blue: it does, to within rounding, so that this "
              "permutation is not seen. Orange: it does not (the number is the largest deviation; darker is "
              "more). An encoding that sees all order is blue at the identity alone.");
  if (matrix.n_columns > matrix.n_named) {
    text_printf(caption, " The %zu others stand in the order of their deviation.",
                matrix.n_permutations - matrix.n_named);
  }
  for (size_t r = 0; r < matrix.n_rows; r++) {
    char name[2 * RECORD_NAME];
    size_t kept = 0;
    for (size_t p = 0; p < matrix.n_permutations; p++) {
      kept += tensor_value(matrix.rows[r].deviation, matrix.rows[r].first + p) <= matrix.rows[r].bound;
    }
    row_name(&matrix.rows[r], name, sizeof name);
    text_printf(alternative, "%s%s: %zu of %zu permutations are not seen", r ? "; " : "", name, kept,
                matrix.n_permutations);
  }
  matrix_free(&matrix);
  return 0;
}

/* Blue where the output follows; else orange, over two powers of ten up to the largest deviation. */
static unsigned color_of(double value, double bound, double most) {
  static const double light[] = {0xf9, 0xd0, 0xa8}, dark[] = {0xb0, 0x3a, 0x00};
  if (isnan(value)) {
    return 0x808080;
  }
  if (value <= bound) {
    return 0x56a3d9;
  }
  double part = 1 + log(value / most) / log(100);
  unsigned color = 0;
  for (int i = 0; i < 3; i++) {
    color = color << 8 | (unsigned)lround(light[i] + (dark[i] - light[i]) * fmin(fmax(part, 0), 1));
  }
  return color;
}

static double largest(const struct matrix *matrix) {
  double most = 0;
  for (size_t r = 0; r < matrix->n_rows; r++) {
    for (size_t c = 0; c < matrix->n_columns; c++) {
      most = fmax(most, value_at(matrix, r, c));
    }
  }
  return most;
}

/* "0 2 1" under a column. */
static void append_permutation(const struct matrix *matrix, size_t column, struct text *script) {
  struct text name = {0};
  for (size_t i = 0; i < matrix->permutations->axis[1].length; i++) {
    text_printf(&name, "%s%.0f", i ? " " : "", place(matrix->permutations, matrix->column[column], i));
  }
  gnuplot_quote(script, name.failed || !name.data ? "" : name.data);
  text_free(&name);
}

/* Pixels for the names of the rows. */
static int left_of(const struct canvas *canvas, const struct matrix *matrix) {
  size_t longest = 0;
  for (size_t r = 0; r < matrix->n_rows; r++) {
    char name[2 * RECORD_NAME];
    row_name(&matrix->rows[r], name, sizeof name);
    longest = strlen(name) > longest ? strlen(name) : longest;
  }
  int left = (int)longest * 7 + 16;
  return left > canvas->width / 2 ? canvas->width / 2 : left;
}

/* The columns are wide enough for names, at least upright ones. */
static bool named(const struct canvas *canvas, const struct matrix *matrix) {
  int room = (canvas->width - left_of(canvas, matrix)) / (int)matrix->n_columns;
  return matrix->n_named <= MOST_NAMED && room >= 11;
}

/* The permutations' names stand upright where they would not fit side by side. */
static bool upright(const struct canvas *canvas, const struct matrix *matrix) {
  int room = (canvas->width - left_of(canvas, matrix)) / (int)matrix->n_columns;
  return room < (int)matrix->permutations->axis[1].length * 13;
}

static void set_ticks(const struct canvas *canvas, const struct matrix *matrix, struct text *script) {
  text_append(script, "set ytics scale 0 (");
  for (size_t r = 0; r < matrix->n_rows; r++) {
    char name[2 * RECORD_NAME];
    row_name(&matrix->rows[r], name, sizeof name);
    text_append(script, r ? ", " : "");
    gnuplot_quote(script, name);
    text_printf(script, " %zu", r);
  }
  text_append(script, ")\n");
  if (!named(canvas, matrix)) {
    text_append(script, "unset xtics\n");
    return;
  }
  text_append(script, upright(canvas, matrix) ? "set xtics scale 0 rotate by 90 right (" : "set xtics scale 0 (");
  for (size_t c = 0; c < matrix->n_named; c++) {
    text_append(script, c ? ", " : "");
    append_permutation(matrix, c, script);
    text_printf(script, " %zu", c);
  }
  text_append(script, ")\n");
}

/* A name above each group of columns, and a line between groups. */
static void mark_groups(const struct canvas *canvas, const struct matrix *matrix, struct text *script) {
  size_t start = 0;
  for (size_t c = 1; c <= matrix->n_columns; c++) {
    if (c < matrix->n_columns && matrix->kind[c] == matrix->kind[start]) {
      continue;
    }
    double room = (double)(c - start) / (double)matrix->n_columns * (canvas->width - left_of(canvas, matrix));
    bool wide_enough = room > (double)strlen(kind_names[matrix->kind[start]]) * 6.5;
    if (wide_enough) {
      text_append(script, "set label ");
      gnuplot_quote(script, kind_names[matrix->kind[start]]);
      text_printf(script, " at %.3f,graph 1 center offset 0,0.7 textcolor rgb '%s'\n",
                  ((double)start + (double)c - 1) / 2, canvas_ink(canvas));
    }
    if (c < matrix->n_columns) {
      text_printf(script, "set arrow from %.1f,graph 0 to %.1f,graph 1 nohead front lc rgb '%s' lw 2\n",
                  (double)c - 0.5, (double)c - 0.5, canvas_ink(canvas));
    }
    start = c;
  }
}

static void append_cells(const struct matrix *matrix, struct text *script) {
  double most = largest(matrix);
  text_append(script, "$cells << END\n");
  for (size_t r = 0; r < matrix->n_rows; r++) {
    for (size_t c = 0; c < matrix->n_columns; c++) {
      double value = value_at(matrix, r, c);
      unsigned color = color_of(value, matrix->rows[r].bound, most);
      unsigned ink = ((color >> 16) * 3 + (color >> 8 & 0xff) * 6 + (color & 0xff)) / 10 > 0x80 ? 0x000000 : 0xffffff;
      text_printf(script, "%zu %zu %u %.2g %u\n", c, r, color, isnan(value) ? 0 : value, ink);
    }
  }
  text_append(script, "END\n");
}

static int bottom_of(const struct canvas *canvas, const struct matrix *matrix) {
  int names = upright(canvas, matrix) ? (int)matrix->permutations->axis[1].length * 12 + 8 : 20;
  return (named(canvas, matrix) ? names : 0) + 34;
}

static void draw_matrix(const struct canvas *canvas, const struct matrix *matrix, struct text *script) {
  int left = left_of(canvas, matrix);
  canvas_begin(canvas, script);
  text_append(script, "unset border\nset yrange [] reverse\n");
  text_printf(script, "set lmargin at screen %.4f\nset rmargin at screen 0.985\n", (double)left / canvas->width);
  text_printf(script, "set tmargin at screen %.4f\nset bmargin at screen %.4f\n", 1 - 30.0 / canvas->height,
              (double)bottom_of(canvas, matrix) / canvas->height);
  text_printf(script, "set xrange [-0.5:%.1f]\nset yrange [%.1f:-0.5]\n", (double)matrix->n_columns - 0.5,
              (double)matrix->n_rows - 0.5);
  text_printf(script, "set label '%s' at graph 0.5,screen %.4f center textcolor rgb '%s'\n",
              canvas->narrow ? "permutation" : "permutation: the token that stands at each position",
              12.0 / canvas->height, canvas_ink(canvas));
  set_ticks(canvas, matrix, script);
  mark_groups(canvas, matrix, script);
  append_cells(matrix, script);
  text_append(script, "plot $cells using 1:2:(0.48):(0.45):3 with boxxyerror fs solid noborder fc rgb variable");
  if (matrix->n_columns <= (canvas->narrow ? 3u : 12u)) {
    text_append(script, ", $cells using 1:2:(sprintf('%.2g', $4)):5 with labels textcolor rgb variable font ',11'");
  }
  if (canvas->kind == CANVAS_PAGE && !canvas->narrow) {
    text_append(script, ", $cells using 1:2:(sprintf('deviation %.3g', $4)) with labels hypertext point pt 5 ps 1.4 lc "
                        "rgb '#ff000000'");
  }
  text_append(script, "\n");
}

static int height(const struct picture_source *source, bool narrow) {
  struct matrix matrix;
  struct error ignored;
  struct canvas canvas = {.width = narrow ? 370 : 760, .narrow = narrow};
  if (matrix_make(source, &matrix, &ignored)) {
    return 200; /* drawing will say why */
  }
  int pixels = (int)matrix.n_rows * ROW_PIXELS + 30 + bottom_of(&canvas, &matrix);
  matrix_free(&matrix);
  return pixels;
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  struct matrix matrix;
  if (matrix_make(source, &matrix, err)) {
    return err->code;
  }
  draw_matrix(canvas, &matrix, script);
  matrix_free(&matrix);
  return 0;
}

const struct picture picture_permutations = {
    "permutations", "Which permutations of the words does it not see?", applies, describe, height, draw};
