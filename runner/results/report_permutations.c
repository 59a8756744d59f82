/* Picture of which permutations of the input a scheme lets through: one row per scheme and mask. */
#include "results/gnuplot.h"
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
  size_t first;         /* of its values in `deviation`, of the first seed */
  size_t seeds, stride; /* and from one seed to the next */
  int mask;             /* value on the mask axis; -1: none */
};

struct matrix {
  struct row rows[MOST_ROWS];
  size_t n_rows, n_all;              /* drawn, and all there are */
  const struct tensor *permutations; /* [permutation, position], of the first seed */
  size_t n_permutations;
  size_t n_named;   /* columns of one permutation each, all kinds but OTHER, or all kinds where they are few */
  size_t n_columns; /* and further ones for the rest, in the order of each row's deviation */
  size_t *column;   /* [n_permutations] permutation shown in a column; the rest behind n_named */
  enum kind *kind;  /* [n_permutations] */
  double *values;   /* [n_rows][n_columns] largest deviation */
  bool *kept;       /* [n_rows][n_columns] within rounding */
};

static size_t length_of(const struct tensor *permutations) {
  return permutations->axis[permutations->rank - 1].length;
}

static double place(const struct tensor *permutations, size_t p, size_t i) {
  return tensor_value(permutations, p * length_of(permutations) + i);
}

/* What rounding can do, of one seed. */
static double bound_of(const struct record *record, size_t seed) {
  const struct attribute *each = attributes_find(&record->attributes, "rounding_bound_by_seed");
  const struct attribute *one = attributes_find(&record->attributes, "rounding_bound");
  if (each && each->kind == ATTRIBUTE_REAL_LIST && seed < each->count) {
    return each->list[seed];
  }
  return one && one->kind == ATTRIBUTE_REAL ? one->real : 0;
}

/* The largest deviation over seeds; *kept: within rounding in all of them. NaN is not. */
static double deviation_of(const struct row *row, size_t permutation, bool *kept) {
  double most = NAN;
  *kept = true;
  for (size_t seed = 0; seed < row->seeds; seed++) {
    double value = tensor_value(row->deviation, row->first + seed * row->stride + permutation);
    *kept = *kept && value <= bound_of(row->record, seed);
    most = fmax(most, value);
  }
  return most;
}

static enum kind kind_of(const struct tensor *permutations, size_t p) {
  size_t length = length_of(permutations);
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

/* The permutations of a record: [permutation, position], behind an axis of seeds at most. NULL: it has none. */
static const struct tensor *permutations_of(const struct record *record) {
  const struct tensor *tensor = record_find(record, "permutations");
  bool stacked = tensor && tensor->rank == 3 && !strcmp(tensor->axis[0].name, "seed");
  return tensor && (tensor->rank == 2 || stacked) && tensor->count ? tensor : NULL;
}

/* Every seed has the same permutations, as where none is left out; else each has drawn its own sample. */
static bool same_for_seeds(const struct tensor *permutations) {
  size_t size = permutations->rank == 3 ? permutations->count / permutations->axis[0].length : permutations->count;
  for (size_t i = size; i < permutations->count; i++) {
    if (tensor_value(permutations, i) != tensor_value(permutations, i - size)) {
      return false;
    }
  }
  return true;
}

/* A record's rows: one per mask, of all seeds where they can be compared, else of the first. */
static void add_rows(struct matrix *matrix, const struct record *record) {
  const struct tensor *deviation = record_find(record, "deviation"), *permutations = permutations_of(record);
  size_t n_permutations = permutations ? permutations->axis[permutations->rank - 2].length : 0;
  bool fits = is_scheme_record(record) && deviation && deviation->count && permutations && deviation->rank &&
              !strcmp(deviation->axis[deviation->rank - 1].name, "permutation") &&
              deviation->axis[deviation->rank - 1].length == n_permutations;
  if (!fits || (matrix->permutations && n_permutations != matrix->n_permutations)) {
    return;
  }
  matrix->permutations = permutations;
  matrix->n_permutations = n_permutations;
  const struct axis *mask = tensor_axis(deviation, "mask"), *seed = tensor_axis(deviation, "seed");
  size_t masks = mask ? mask->length : 1, seeds = seed ? seed->length : 1;
  matrix->n_all += masks;
  for (size_t i = 0; i < masks && matrix->n_rows < MOST_ROWS; i++) {
    matrix->rows[matrix->n_rows++] = (struct row){
        .record = record,
        .deviation = deviation,
        .first = i * matrix->n_permutations,
        .seeds = same_for_seeds(permutations) ? seeds : 1,
        .stride = deviation->count / seeds,
        .mask = mask ? (int)(mask->values ? mask->values[i] : (double)i) : -1,
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

/* One of the permutations that stand in the order of their deviation. */
struct other {
  double deviation;
  bool kept;
};

static int compare_others(const void *a, const void *b) {
  double x = ((const struct other *)a)->deviation, y = ((const struct other *)b)->deviation;
  return (x > y) - (x < y);
}

static void fill_row(struct matrix *matrix, size_t r, struct other *others) {
  size_t rest = matrix->n_permutations - matrix->n_named, shown = matrix->n_columns - matrix->n_named;
  double *values = matrix->values + r * matrix->n_columns;
  bool *kept = matrix->kept + r * matrix->n_columns;
  for (size_t c = 0; c < matrix->n_named; c++) {
    values[c] = deviation_of(&matrix->rows[r], matrix->column[c], &kept[c]);
  }
  for (size_t i = 0; i < rest; i++) {
    others[i].deviation = deviation_of(&matrix->rows[r], matrix->column[matrix->n_named + i], &others[i].kept);
  }
  qsort(others, rest, sizeof *others, compare_others);
  for (size_t i = 0; i < shown; i++) {
    const struct other *other = &others[(2 * i + 1) * rest / (2 * shown)];
    values[matrix->n_named + i] = other->deviation;
    kept[matrix->n_named + i] = other->kept;
  }
}

static int matrix_fill(struct matrix *matrix, struct error *err) {
  size_t cells = matrix->n_rows * matrix->n_columns;
  struct other *others = memory_new(matrix->n_permutations, sizeof *others, "permutations", err);
  matrix->values = others ? memory_new(cells, sizeof *matrix->values, "permutations", err) : NULL;
  matrix->kept = matrix->values ? memory_new(cells, sizeof *matrix->kept, "permutations", err) : NULL;
  for (size_t r = 0; matrix->kept && r < matrix->n_rows; r++) {
    fill_row(matrix, r, others);
  }
  free(others);
  return matrix->kept ? 0 : (int)err->code;
}

static void matrix_free(struct matrix *matrix) {
  free(matrix->column);
  free(matrix->kind);
  free(matrix->values);
  free(matrix->kept);
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

static size_t count_shown(const struct picture_source *source) {
  struct matrix matrix = {0};
  for (size_t i = 0; i < source->experiment->count; i++) {
    add_rows(&matrix, source->experiment->records[i]);
  }
  return matrix.n_rows;
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
  if (matrix.rows[0].seeds > 1) {
    text_printf(caption, " Deviations are the largest over %zu seeds.", matrix.rows[0].seeds);
  } else {
    picture_say_seed(caption, matrix.rows[0].deviation);
  }
  if (matrix.n_rows < matrix.n_all) {
    text_printf(caption, " The first %zu of %zu rows are drawn; the file has them all.", matrix.n_rows, matrix.n_all);
  }
  for (size_t r = 0; r < matrix.n_rows; r++) {
    char name[2 * RECORD_NAME];
    size_t kept = 0;
    for (size_t p = 0; p < matrix.n_permutations; p++) {
      bool is_kept;
      deviation_of(&matrix.rows[r], p, &is_kept);
      kept += is_kept;
    }
    row_name(&matrix.rows[r], name, sizeof name);
    text_printf(alternative, "%s%s: %zu of %zu permutations are not seen", r ? "; " : "", name, kept,
                matrix.n_permutations);
  }
  matrix_free(&matrix);
  return 0;
}

/* Blue where the output follows; else orange, over two powers of ten up to the largest deviation. */
static unsigned color_of(double value, bool kept, double most) {
  static const double light[] = {0xf9, 0xd0, 0xa8}, dark[] = {0xb0, 0x3a, 0x00};
  if (isnan(value)) {
    return 0x808080;
  }
  if (kept) {
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
static void permutation_name(const struct matrix *matrix, size_t column, struct text *name) {
  for (size_t i = 0; i < length_of(matrix->permutations); i++) {
    text_printf(name, "%s%.0f", i ? " " : "", place(matrix->permutations, matrix->column[column], i));
  }
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
  return room < (int)length_of(matrix->permutations) * 13;
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
    struct text name = {0};
    permutation_name(matrix, c, &name);
    text_append(script, c ? ", " : "");
    gnuplot_quote(script, name.failed || !name.data ? "" : name.data);
    text_printf(script, " %zu", c);
    text_free(&name);
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
      unsigned color = color_of(value, matrix->kept[r * matrix->n_columns + c], most);
      unsigned ink = ((color >> 16) * 3 + (color >> 8 & 0xff) * 6 + (color & 0xff)) / 10 > 0x80 ? 0x000000 : 0xffffff;
      text_printf(script, "%zu %zu %u %.2g %u\n", c, r, color, isnan(value) ? 0 : value, ink);
    }
  }
  text_append(script, "END\n");
}

static int bottom_of(const struct canvas *canvas, const struct matrix *matrix) {
  int names = upright(canvas, matrix) ? (int)length_of(matrix->permutations) * 12 + 8 : 20;
  return (named(canvas, matrix) ? names : 0) + 34;
}

static void tell_cells(const struct canvas *canvas, const struct matrix *matrix, double left, double top, double width,
                       double height) {
  struct hover_axis none = {0, 1, false};
  int rows = hover_names(canvas->hover);
  for (size_t r = 0; r < matrix->n_rows; r++) {
    char name[2 * RECORD_NAME];
    row_name(&matrix->rows[r], name, sizeof name);
    hover_name(canvas->hover, name);
  }
  int columns = hover_names(canvas->hover);
  for (size_t c = 0; c < matrix->n_columns; c++) {
    struct text name = {0};
    if (c < matrix->n_named) {
      text_printf(&name, "%s ", matrix->kind[c] == OTHER ? "permutation" : kind_names[matrix->kind[c]]);
      permutation_name(matrix, c, &name);
    } else {
      text_printf(&name, "of the %zu others, %.0f %% deviate less", matrix->n_permutations - matrix->n_named,
                  100 * ((double)(c - matrix->n_named) + 0.5) / (double)(matrix->n_columns - matrix->n_named));
    }
    hover_name(canvas->hover, name.failed || !name.data ? "" : name.data);
    text_free(&name);
  }
  hover_panel(canvas->hover, left, top, width, height, none, none);
  hover_grid(canvas->hover, "", "{r}, {c}: deviation {v}", (struct hover_side){matrix->n_rows, 0, 1, rows},
             (struct hover_side){matrix->n_columns, 0, 1, columns}, matrix->values);
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
  text_append(script, "\n");
  double top = 30, bottom = bottom_of(canvas, matrix);
  tell_cells(canvas, matrix, left, top, 0.985 * canvas->width - left, canvas->height - top - bottom);
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
    "permutations", "Which permutations of the words does it not see?", count_shown, 0, describe, height, draw};
