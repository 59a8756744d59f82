#include "results/report_panels.h"

#include "base/memory.h"
#include "results/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void panel_begin(const struct canvas *canvas, const struct panel *panel, const char *title, const char *color,
                 struct text *script) {
  double width = canvas->width, height = canvas->height;
  text_printf(script, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n", panel->left / width,
              (panel->left + panel->width) / width);
  text_printf(script, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n", 1 - panel->top / height,
              1 - (panel->top + panel->height) / height);
  text_append(script, "unset label\nunset arrow\nunset object\n");
  if (title) {
    text_append(script, "set title ");
    gnuplot_quote(script, title);
    text_printf(script, " offset 0,-0.7 font ',%d' textcolor rgb '%s'\n", canvas->narrow ? 10 : 12, color);
  } else {
    text_append(script, "unset title\n");
  }
}

void canvas_note(const struct canvas *canvas, double x, double y, const char *align, const char *text,
                 const char *color, struct text *script) {
  text_append(script, "set label ");
  gnuplot_quote(script, text);
  text_printf(script, " at screen %.5f,screen %.5f %s front font ',%d' textcolor rgb '%s'\n", x / canvas->width,
              1 - y / canvas->height, align, canvas->narrow ? 9 : 11, color);
}

/* Bytes of a letter; a byte that is none counts as one. */
static size_t letter_bytes(const char *text) {
  size_t bytes = 1;
  while ((text[bytes] & 0xc0) == 0x80) {
    bytes++;
  }
  return bytes;
}

bool name_mark(char c) {
  return c && strchr(" _-./:,", c);
}

void name_break(const char *text, size_t most, struct name_lines *lines) {
  *lines = (struct name_lines){0};
  while (*text && lines->count < NAME_LINES) {
    size_t letters = 0, bytes = 0, at_mark = 0, letters_at_mark = 0;
    while (text[bytes] && letters < most) {
      char c = text[bytes];
      bytes += letter_bytes(text + bytes);
      letters++;
      if (name_mark(c)) {
        at_mark = bytes;
        letters_at_mark = letters;
      }
    }
    if (text[bytes] && at_mark) {
      bytes = at_mark;
      letters = letters_at_mark;
    }
    bool cut = text[bytes] && lines->count + 1 == NAME_LINES;
    snprintf(lines->text[lines->count++], NAME_LINE, "%.*s%s", (int)bytes, text, cut ? "…" : "");
    lines->longest = letters > lines->longest ? letters : lines->longest;
    text += bytes;
    text += *text == ' ';
  }
}

void canvas_lines(const struct canvas *canvas, const struct name_lines *lines, double x, double y, const char *align,
                  const char *color, double line, struct text *script) {
  for (size_t i = 0; i < lines->count; i++) {
    canvas_note(canvas, x, y + ((double)i - ((double)lines->count - 1) / 2) * line, align, lines->text[i], color,
                script);
  }
}

/* Mean over a block of the last two axes and over all that stands before them. */
static double block_mean(const struct tensor *tensor, size_t first, size_t last, const size_t rows[2],
                         const size_t columns[2]) {
  size_t width = tensor->axis[tensor->rank - 1].length, size = tensor->axis[tensor->rank - 2].length * width;
  double sum = 0;
  size_t n = 0;
  for (size_t lead = first; lead < last; lead++) {
    for (size_t r = rows[0]; r < rows[1]; r++) {
      for (size_t c = columns[0]; c < columns[1]; c++) {
        double value = tensor_value(tensor, lead * size + r * width + c);
        sum += isfinite(value) ? value : 0;
        n += isfinite(value) ? 1 : 0;
      }
    }
  }
  return n ? sum / (double)n : NAN;
}

int matrix_shown(const struct tensor *tensor, int slice, size_t most_pixels, struct shown_matrix *out,
                 struct error *err) {
  size_t all_rows = tensor->axis[tensor->rank - 2].length, all_columns = tensor->axis[tensor->rank - 1].length;
  size_t leads = all_rows && all_columns ? tensor->count / (all_rows * all_columns) : 0;
  size_t first = slice < 0 ? 0 : (size_t)slice * (leads / tensor->axis[0].length);
  size_t last = slice < 0 ? leads : first + leads / tensor->axis[0].length;
  *out = (struct shown_matrix){.rows = all_rows < most_pixels ? all_rows : most_pixels,
                               .columns = all_columns < most_pixels ? all_columns : most_pixels,
                               .all_rows = all_rows,
                               .all_columns = all_columns};
  out->values = memory_new_3d(out->rows, out->columns, 1, sizeof *out->values, "picture", err);
  if (!out->values) {
    return err->code;
  }
  for (size_t r = 0; r < out->rows; r++) {
    size_t rows[] = {r * all_rows / out->rows, (r + 1) * all_rows / out->rows};
    for (size_t c = 0; c < out->columns; c++) {
      size_t columns[] = {c * all_columns / out->columns, (c + 1) * all_columns / out->columns};
      out->values[r * out->columns + c] = block_mean(tensor, first, last, rows, columns);
    }
  }
  return 0;
}

void matrix_append(const struct shown_matrix *matrix, const char *name, struct text *script) {
  double row = (double)matrix->all_rows / (double)matrix->rows;
  double column = (double)matrix->all_columns / (double)matrix->columns;
  text_printf(script, "$%s << END\n", name);
  for (size_t r = 0; r < matrix->rows; r++) {
    for (size_t c = 0; c < matrix->columns; c++) {
      text_printf(script, "%.6g %.6g ", ((double)c + 0.5) * column - 0.5, ((double)r + 0.5) * row - 0.5);
      gnuplot_number(script, matrix->values[r * matrix->columns + c]);
      text_append(script, "\n");
    }
    text_append(script, "\n");
  }
  text_append(script, "END\n");
}

void matrix_hover(const struct canvas *canvas, const struct panel *panel, const struct shown_matrix *matrix,
                  const char *label, const char *says) {
  struct hover_axis none = {0, 1, false};
  hover_panel(canvas->hover, panel->left, panel->top, panel->width, panel->height, none, none);
  hover_grid(
      canvas->hover, label, says,
      (struct hover_side){matrix->rows, 0, (double)matrix->all_rows / (double)matrix->rows, HOVER_NUMBERS},
      (struct hover_side){matrix->columns, 0, (double)matrix->all_columns / (double)matrix->columns, HOVER_NUMBERS},
      matrix->values);
}

void matrix_axes(const struct shown_matrix *matrix, struct text *script) {
  text_printf(script, "set xrange [-0.5:%.1f]\nset yrange [%.1f:-0.5]\n", (double)matrix->all_columns - 0.5,
              (double)matrix->all_rows - 0.5);
}

void palette_sequential(double low, double high, struct text *script) {
  text_append(script, "set palette defined (0 '#440154', 1 '#3b528b', 4 '#21918c', 9 '#5ec962', 16 '#fde725')\n");
  text_printf(script, "set cbrange [%.9g:%.9g]\n", low, high);
}

void palette_diverging(double most, struct text *script) {
  text_append(script, "set palette defined (-16 '#053061', -9 '#2166ac', -4 '#67a9cf', -1 '#d1e5f0', 0 '#f7f7f7', "
                      "1 '#fddbc7', 4 '#ef8a62', 9 '#b2182b', 16 '#67001f')\n");
  text_printf(script, "set cbrange [%.9g:%.9g]\n", -most, most);
}

void colorbox_at(const struct canvas *canvas, double left, double top, double width, double low, double high,
                 struct text *script) {
  double middle = (low + high) / 2;
  text_printf(script,
              "set colorbox horizontal user origin screen %.4f,%.4f size screen %.4f,%.4f\nset cbtics scale 0 offset "
              "0,0.4 textcolor rgb '%s' font ',10' ('%.3g' %.9g, '%.3g' %.9g, '%.3g' %.9g)\n",
              left / canvas->width, 1 - (top + 8) / canvas->height, width / canvas->width, 8.0 / canvas->height,
              canvas_ink(canvas), low, low, middle, middle, high, high);
}

double record_number(const struct record *record, const char *name) {
  const struct attribute *attribute = attributes_find(&record->attributes, name);
  if (attribute && attribute->kind == ATTRIBUTE_INT) {
    return (double)attribute->integer;
  }
  return attribute && attribute->kind == ATTRIBUTE_REAL ? attribute->real : NAN;
}
