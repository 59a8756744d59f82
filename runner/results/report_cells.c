#include "results/report_cells.h"

#include "base/memory.h"
#include "results/gnuplot.h"
#include "results/report_pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  PER_BLOCK = 12, /* columns side by side; further ones stand below */
  /* pixels */
  GAP = 18,
  PANEL_TITLE = 24,
  SCALE = 68,
  RIGHT = 10,
  WIDEST_CELL = 96
};

int cells_new(struct cells_drawing *drawing, struct error *err) {
  size_t rows = drawing->n_rows, columns = drawing->n_columns;
  drawing->rows = memory_new(rows + columns, sizeof *drawing->rows, "picture", err);
  drawing->matrices = drawing->rows ? memory_new(drawing->n_matrices, sizeof *drawing->matrices, "picture", err) : NULL;
  struct cell *cells =
      drawing->matrices ? memory_new_3d(drawing->n_matrices, rows, columns, sizeof *cells, "picture", err) : NULL;
  if (!cells) {
    free(drawing->rows);
    free(drawing->matrices);
    return err->code;
  }
  drawing->columns = drawing->rows + rows;
  for (size_t m = 0; m < drawing->n_matrices; m++) {
    drawing->matrices[m].cells = cells + m * rows * columns;
  }
  return 0;
}

void cells_free(struct cells_drawing *drawing) {
  if (drawing->matrices) {
    free(drawing->matrices[0].cells);
  }
  free(drawing->matrices);
  free(drawing->rows);
  *drawing = (struct cells_drawing){0};
}

struct layout {
  bool turned; /* names of columns are read upwards */
  size_t row_letters, column_letters;
  size_t blocks, across; /* blocks of columns; columns in a block */
  double left, cell, row;
  double names;      /* height of the names of columns */
  double top, block; /* of the first block; from one to the next */
  double letter;     /* width of one */
  double line;       /* height of one of a name */
  size_t title_letters;
};

static size_t longest_name(const struct cell_name *names, size_t count, size_t most, size_t *most_lines) {
  size_t longest = 0;
  *most_lines = 1;
  for (size_t i = 0; i < count; i++) {
    struct name_lines lines;
    name_break(names[i].text, most, &lines);
    longest = lines.longest > longest ? lines.longest : longest;
    *most_lines = lines.count > *most_lines ? lines.count : *most_lines;
  }
  return longest;
}

/* As few lines as a turned name must have to stay above its column. */
static size_t turned_letters(const struct cells_drawing *drawing, const struct layout *layout, size_t *longest) {
  static const size_t letters[] = {24, 36, 56, 96};
  size_t lines, i = 0;
  *longest = longest_name(drawing->columns, drawing->n_columns, letters[i], &lines);
  while (i + 1 < sizeof letters / sizeof *letters && (double)lines * layout->line > layout->cell) {
    *longest = longest_name(drawing->columns, drawing->n_columns, letters[++i], &lines);
  }
  return letters[i];
}

static struct layout layout_for(const struct cells_drawing *drawing, bool narrow) {
  struct layout layout = {.letter = narrow ? 5.8 : 6.9,
                          .line = narrow ? 12 : 14,
                          .row_letters = narrow ? 17 : 30,
                          .title_letters = narrow ? 58 : 100};
  size_t row_lines, column_lines, most_letters = strlen(drawing->rows_are) + 2;
  size_t longest_row = longest_name(drawing->rows, drawing->n_rows, layout.row_letters, &row_lines);
  most_letters = strlen(drawing->columns_are) + 2 > most_letters ? strlen(drawing->columns_are) + 2 : most_letters;
  most_letters = most_letters > layout.row_letters ? layout.row_letters : most_letters;
  most_letters = longest_row > most_letters ? longest_row : most_letters;
  layout.left = (double)most_letters * layout.letter + 12;
  layout.blocks = (drawing->n_columns + PER_BLOCK - 1) / PER_BLOCK;
  layout.across = (drawing->n_columns + layout.blocks - 1) / layout.blocks;
  layout.cell = fmin((picture_width(narrow) - layout.left - RIGHT) / (double)layout.across, WIDEST_CELL);
  /* A name stands upright above its column where it fits, broken at its marks; else it is turned. */
  size_t fits = (size_t)fmax((layout.cell - 4) / layout.letter, 1);
  size_t longest_column = longest_name(drawing->columns, drawing->n_columns, fits, &column_lines);
  bool breaks_well = column_lines <= 3 && longest_column <= fits;
  for (size_t i = 0; i < drawing->n_columns && breaks_well; i++) {
    struct name_lines lines;
    name_break(drawing->columns[i].text, fits, &lines);
    for (size_t l = 0; l + 1 < lines.count; l++) {
      size_t length = strlen(lines.text[l]);
      breaks_well = breaks_well && name_mark(lines.text[l][length - 1]);
    }
  }
  layout.turned = !breaks_well;
  layout.column_letters = layout.turned ? turned_letters(drawing, &layout, &longest_column) : fits;
  layout.row = fmax(narrow ? 24 : 26, (double)row_lines * layout.line + 4);
  layout.names = layout.turned ? (double)longest_column * layout.letter + 8 : (double)column_lines * layout.line + 6;
  layout.names = fmax(layout.names, 2 * layout.line + 4); /* what the names are stands beside them */
  struct name_lines title;
  name_break(drawing->title, layout.title_letters, &title);
  layout.top = (double)title.count * (layout.line + 3) + 6;
  layout.block = PANEL_TITLE + layout.names + (double)drawing->n_rows * layout.row + GAP;
  return layout;
}

int cells_height(const struct cells_drawing *drawing, bool narrow) {
  struct layout layout = layout_for(drawing, narrow);
  return (int)(layout.top + (double)(drawing->n_matrices * layout.blocks) * layout.block) + SCALE;
}

/* ---- colours ---- */

struct scale {
  double low, high;
  bool diverging;
};

static const struct cell *cell_at(const struct cells_drawing *drawing, size_t matrix, size_t row, size_t column) {
  return &drawing->matrices[matrix].cells[row * drawing->n_columns + column];
}

static bool has_value(const struct cell *cell) {
  return cell->state == CELL_MEASURED && isfinite(cell->value);
}

/* From 0 on, but where all values are far from it; on both sides alike where values have both signs. */
static struct scale scale_for(const struct cells_drawing *drawing) {
  double low = INFINITY, high = -INFINITY;
  size_t count = drawing->n_rows * drawing->n_columns;
  for (size_t i = 0; i < drawing->n_matrices * count; i++) {
    const struct cell *cell = &drawing->matrices[i / count].cells[i % count];
    low = has_value(cell) ? fmin(low, cell->value) : low;
    high = has_value(cell) ? fmax(high, cell->value) : high;
  }
  if (low < 0 && high > 0) {
    double most = fmax(-low, high);
    return (struct scale){-most, most, true};
  }
  bool near = low < high && fmin(fabs(low), fabs(high)) > 0.5 * fmax(fabs(low), fabs(high));
  if (!near) {
    low = fmin(low, 0);
    high = fmax(high, 0);
  }
  return low < high ? (struct scale){low, high, false} : (struct scale){0, 1, false};
}

/* Black or white: what can be read on the colour of a value. */
static const char *ink_on(const struct scale *scale, double value) {
  double part = scale->diverging ? fabs(value) / scale->high : (value - scale->low) / (scale->high - scale->low);
  bool light = scale->diverging ? part < 0.4 : part > 0.22;
  return light ? "#000000" : "#ffffff";
}

/* "nat", or nothing where numbers have no unit. */
static const char *unit_of(const struct cells_drawing *drawing) {
  return drawing->units && strcmp(drawing->units, "1") != 0 ? drawing->units : "";
}

/* Three digits; whole numbers that are not long in full. */
static int print_value(char *out, size_t size, int digits, double value) {
  bool whole = fabs(value) >= 1000 && fabs(value) < 1e5;
  return whole ? snprintf(out, size, "%.0f", value) : snprintf(out, size, "%.*g", digits, value);
}

static void say_scale(const struct cells_drawing *drawing, const struct scale *scale, char *out, size_t size) {
  const char *unit = unit_of(drawing), *blank = *unit ? " " : "";
  char low[40], high[40];
  print_value(low, sizeof low, 3, scale->low);
  print_value(high, sizeof high, 3, scale->high);
  snprintf(out, size,
           scale->diverging ? "blue: down to %s%s%s; white: 0; red: up to %s%s%s; by the square root"
                            : "dark: %s%s%s; light: %s%s%s; colour by the square root",
           low, blank, unit, high, blank, unit);
}

/* ---- drawing ---- */

static void draw_turned(const struct canvas *canvas, const struct name_lines *lines, double x, double y,
                        const char *color, double line, struct text *script) {
  for (size_t i = 0; i < lines->count; i++) {
    double at = x + ((double)i - ((double)lines->count - 1) / 2) * line;
    text_append(script, "set label ");
    gnuplot_quote(script, lines->text[i]);
    text_printf(script, " at screen %.5f,screen %.5f left rotate by 90 front font ',%d' textcolor rgb '%s'\n",
                at / canvas->width, 1 - y / canvas->height, canvas->narrow ? 9 : 11, color);
  }
}

static const char *color_of(const struct canvas *canvas, const struct cell_name *name) {
  return name->color ? name->color : canvas_ink(canvas);
}

/* What stands around a block of columns. */
static void draw_names(const struct canvas *canvas, const struct cells_drawing *drawing, const struct layout *layout,
                       const struct panel *panel, size_t first, size_t count, struct text *script) {
  char text[RECORD_NAME + 8];
  struct name_lines lines;
  snprintf(text, sizeof text, "%s →", drawing->columns_are);
  canvas_note(canvas, layout->left - 6, panel->top - 6 - 1.5 * layout->line, "right", text, CANVAS_MUTED, script);
  snprintf(text, sizeof text, "%s ↓", drawing->rows_are);
  canvas_note(canvas, layout->left - 6, panel->top - 6 - 0.5 * layout->line, "right", text, CANVAS_MUTED, script);
  for (size_t r = 0; r < drawing->n_rows; r++) {
    name_break(drawing->rows[r].text, layout->row_letters, &lines);
    canvas_lines(canvas, &lines, layout->left - 6, panel->top + ((double)r + 0.5) * layout->row, "right",
                 color_of(canvas, &drawing->rows[r]), layout->line, script);
  }
  for (size_t c = 0; c < count; c++) {
    const struct cell_name *name = &drawing->columns[first + c];
    double x = panel->left + ((double)c + 0.5) * layout->cell;
    name_break(name->text, layout->column_letters, &lines);
    if (layout->turned) {
      draw_turned(canvas, &lines, x, panel->top - 4, color_of(canvas, name), layout->line, script);
    } else {
      canvas_lines(canvas, &lines, x, panel->top - 4 - (double)lines.count * layout->line / 2, "center",
                   color_of(canvas, name), layout->line, script);
    }
  }
}

/* "undefined", or less where there is less room, or nothing. */
static const char *word_for(enum cell_state state, double room) {
  static const char *const words[][2] = {[CELL_UNDEFINED] = {"undefined", "undef."},
                                         [CELL_FAILED] = {"failed", "failed"},
                                         [CELL_NOT_RUN] = {"not run", "not run"}};
  for (size_t i = 0; i < 2; i++) {
    if ((double)strlen(words[state][i]) + 1 <= room) {
      return words[state][i];
    }
  }
  return NULL;
}

static enum cell_state state_of(const struct cell *cell) {
  return cell->state == CELL_MEASURED && !isfinite(cell->value) ? CELL_UNDEFINED : cell->state;
}

static void write_in_cell(const struct canvas *canvas, const char *text, size_t row, size_t column, const char *color,
                          struct text *script) {
  text_append(script, "set label ");
  gnuplot_quote(script, text);
  text_printf(script, " at first %zu,first %zu center front font ',%d' textcolor rgb '%s'\n", column, row,
              canvas->narrow ? 9 : 11, color);
}

/* A cell without a value has no colour of the scale: the word for it, or one stroke (undefined) or two (failed). */
static void draw_without_value(const struct canvas *canvas, enum cell_state state, size_t row, size_t column,
                               double room, struct text *script) {
  const char *word = word_for(state, room);
  double x = (double)column, y = (double)row;
  text_printf(script,
              "set object rectangle from first %.1f,first %.1f to first %.1f,first %.1f front fs empty border lc rgb "
              "'" CANVAS_MUTED "' lw 1\n",
              x - 0.5, y - 0.5, x + 0.5, y + 0.5);
  if (word) {
    write_in_cell(canvas, word, row, column, canvas_ink(canvas), script);
    return;
  }
  for (int stroke = 0; stroke < (state == CELL_FAILED ? 2 : state == CELL_UNDEFINED ? 1 : 0); stroke++) {
    double side = stroke ? -0.4 : 0.4;
    text_printf(script, "set arrow from first %.1f,first %.1f to first %.1f,first %.1f nohead front lc rgb '%s' lw 1\n",
                x - side, y + 0.4, x + side, y - 0.4, canvas_ink(canvas));
  }
}

/* A value in as many digits as there is room for; false: none fits. */
static bool value_text(double value, double room, char *out, size_t size) {
  for (int digits = 3; digits > 0; digits--) {
    if ((double)print_value(out, size, digits, value) + 0.5 <= room) {
      return true;
    }
  }
  return false;
}

/* Black and white, so that it is seen on every colour. */
static void draw_frame(const struct layout *layout, size_t row, size_t column, struct text *script) {
  static const char *const looks[] = {"'#ffffff' lw 4", "'#000000' lw 2"};
  double x = 0.5 - 2.5 / layout->cell, y = 0.5 - 2.5 / layout->row;
  for (size_t i = 0; i < 2; i++) {
    text_printf(script,
                "set object rectangle from first %.4f,first %.4f to first %.4f,first %.4f front fs empty border lc rgb "
                "%s\n",
                (double)column - x, (double)row - y, (double)column + x, (double)row + y, looks[i]);
  }
}

static void draw_cells(const struct canvas *canvas, const struct cells_drawing *drawing, const struct layout *layout,
                       const struct scale *scale, size_t matrix, size_t first, size_t count, struct text *script) {
  double room = layout->cell / (layout->letter * 0.94); /* in letters */
  for (size_t r = 0; r < drawing->n_rows; r++) {
    for (size_t c = 0; c < count; c++) {
      const struct cell *cell = cell_at(drawing, matrix, r, first + c);
      char text[40];
      if (!has_value(cell)) {
        draw_without_value(canvas, state_of(cell), r, c, room, script);
      } else if (value_text(cell->value, room, text, sizeof text)) {
        write_in_cell(canvas, text, r, c, ink_on(scale, cell->value), script);
      }
      if (cell->framed) {
        draw_frame(layout, r, c, script);
      }
    }
  }
}

/* ---- under the pointer ---- */

static void tell_block(const struct canvas *canvas, const struct cells_drawing *drawing, const struct layout *layout,
                       size_t matrix, const struct panel *panel, size_t first, size_t count, const double *values) {
  static const char *const why[] = {
      [CELL_UNDEFINED] = "undefined there", [CELL_FAILED] = "the job failed", [CELL_NOT_RUN] = "not run"};
  const char *title = drawing->matrices[matrix].title, *unit = unit_of(drawing);
  const struct hover_axis none = {0, 1, false};
  const double nothing = NAN;
  char says[3 * RECORD_NAME + 600];
  /* What has no value comes first: of two places under the pointer the first one speaks. */
  for (size_t i = 0; i < drawing->n_rows * count; i++) {
    size_t r = i / count, c = i % count;
    const struct cell *cell = cell_at(drawing, matrix, r, first + c);
    if (!has_value(cell)) {
      snprintf(says, sizeof says, "%s%s%s %s, %s %s: no value, %s", title, *title ? ": " : "", drawing->rows_are,
               drawing->rows[r].text, drawing->columns_are, drawing->columns[first + c].text, why[state_of(cell)]);
      hover_panel(canvas->hover, panel->left + (double)c * layout->cell, panel->top + (double)r * layout->row,
                  layout->cell, layout->row, none, none);
      hover_grid(canvas->hover, says, "", (struct hover_side){1, 0, 1, HOVER_NUMBERS},
                 (struct hover_side){1, 0, 1, HOVER_NUMBERS}, &nothing);
    }
  }
  int rows = hover_names(canvas->hover);
  for (size_t r = 0; r < drawing->n_rows; r++) {
    hover_name(canvas->hover, drawing->rows[r].text);
  }
  int columns = hover_names(canvas->hover);
  for (size_t c = 0; c < count; c++) {
    hover_name(canvas->hover, drawing->columns[first + c].text);
  }
  snprintf(says, sizeof says, "%s%s {r}, %s {c}: {v}%s%s", *title ? ": " : "", drawing->rows_are, drawing->columns_are,
           *unit ? " " : "", unit);
  hover_panel(canvas->hover, panel->left, panel->top, panel->width, panel->height, none, none);
  hover_grid(canvas->hover, title, says, (struct hover_side){drawing->n_rows, 0, 1, rows},
             (struct hover_side){count, 0, 1, columns}, values);
}

/* ---- all of it ---- */

static void draw_block(const struct canvas *canvas, const struct cells_drawing *drawing, const struct layout *layout,
                       const struct scale *scale, size_t matrix, size_t block, double *values, struct text *script) {
  char name[48];
  size_t first = block * layout->across, left = drawing->n_columns - first;
  size_t count = left < layout->across ? left : layout->across;
  double top = layout->top + (double)(matrix * layout->blocks + block) * layout->block;
  struct panel panel = {layout->left, top + PANEL_TITLE + layout->names, (double)count * layout->cell,
                        (double)drawing->n_rows * layout->row};
  for (size_t i = 0; i < drawing->n_rows * count; i++) {
    const struct cell *cell = cell_at(drawing, matrix, i / count, first + i % count);
    values[i] = has_value(cell) ? cell->value : NAN;
  }
  struct shown_matrix shown = {drawing->n_rows, count, values, drawing->n_rows, count};
  snprintf(name, sizeof name, "cells%zub%zu", matrix, block);
  matrix_append(&shown, name, script);
  panel_begin(canvas, &panel, NULL, NULL, script);
  matrix_axes(&shown, script);
  canvas_note(canvas, canvas->narrow ? 6 : layout->left, top + 10, "left", drawing->matrices[matrix].title,
              canvas_ink(canvas), script);
  draw_names(canvas, drawing, layout, &panel, first, count, script);
  draw_cells(canvas, drawing, layout, scale, matrix, first, count, script);
  text_printf(script, "plot $%s using 1:2:3 with image\nunset colorbox\n", name);
  tell_block(canvas, drawing, layout, matrix, &panel, first, count, values);
}

int cells_draw(const struct canvas *canvas, const struct cells_drawing *drawing, struct text *script,
               struct error *err) {
  char words[160];
  struct name_lines title;
  struct layout layout = layout_for(drawing, canvas->narrow);
  struct scale scale = scale_for(drawing);
  double *values = memory_new_3d(drawing->n_rows, layout.across, 1, sizeof *values, "picture", err);
  if (!values) {
    return err->code;
  }
  canvas_begin(canvas, script);
  if (scale.diverging) {
    palette_diverging(scale.high, script);
  } else {
    palette_sequential(scale.low, scale.high, script);
  }
  text_append(script, "unset tics\nset border 15 lc rgb '" CANVAS_MUTED "' lw 0.5\n");
  colorbox_at(canvas, 0.3 * canvas->width, canvas->height - SCALE + 4, 0.4 * canvas->width, scale.low, scale.high,
              script);
  text_append(script, "set multiplot\n");
  for (size_t i = 0; i < drawing->n_matrices * layout.blocks; i++) {
    draw_block(canvas, drawing, &layout, &scale, i / layout.blocks, i % layout.blocks, values, script);
  }
  free(values);
  struct panel whole = {0, 0, canvas->width, canvas->height};
  panel_begin(canvas, &whole, NULL, NULL, script);
  name_break(drawing->title, layout.title_letters, &title);
  canvas_lines(canvas, &title, canvas->narrow ? 6 : layout.left, layout.top / 2, "left", canvas_ink(canvas),
               layout.line + 3, script);
  say_scale(drawing, &scale, words, sizeof words);
  canvas_note(canvas, canvas->width / 2.0, canvas->height - 16, "center", words, canvas_ink(canvas), script);
  text_append(script, "unset border\nset xrange [0:1]\nset yrange [0:1]\nplot NaN\nunset multiplot\n");
  return 0;
}

/* ---- in words ---- */

void cells_say_values(const struct cells_drawing *drawing, struct text *out) {
  const char *unit = unit_of(drawing);
  text_append(out, drawing->title);
  for (size_t m = 0; m < drawing->n_matrices; m++) {
    size_t counts[CELL_NOT_RUN + 1] = {0};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < drawing->n_rows * drawing->n_columns; i++) {
      const struct cell *cell = &drawing->matrices[m].cells[i];
      counts[state_of(cell)]++;
      low = has_value(cell) ? fmin(low, cell->value) : low;
      high = has_value(cell) ? fmax(high, cell->value) : high;
    }
    text_printf(out, "%s %s:", m ? ";" : ",", drawing->matrices[m].title);
    text_printf(out, low <= high ? " %.3g to %.3g%s%s" : " no value", low, high, *unit ? " " : "", unit);
    static const char *const words[] = {
        [CELL_UNDEFINED] = "undefined", [CELL_FAILED] = "failed", [CELL_NOT_RUN] = "not run"};
    for (size_t state = CELL_UNDEFINED; state <= CELL_NOT_RUN; state++) {
      if (counts[state]) {
        text_printf(out, ", %zu %s", counts[state], words[state]);
      }
    }
  }
}
