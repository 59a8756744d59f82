/* Picture of the encodings themselves: the logit of a word with itself by both positions, its profile against distance,
 * and the rows that additive schemes add.
 */
#include "results/gnuplot.h"
#include "results/report_panels.h"
#include "results/report_pictures.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_SCHEMES = 64,
  PER_PART = 8,
  MOST_LINES = PER_PART + 1,
  PIXELS = 64,
  /* pixels */
  TITLE = 26,
  PROFILE = 56,
  GAP = 12,
  TICKS = 14,
  BOX = 44,
  LEFT = 52,
  RIGHT = 8
};

struct scheme {
  const struct record *record;
  const struct tensor *logit, *profile,
      *rows;                  /* [.., query, key], [.., distance], [position, model_channel]; may be NULL */
  struct shown_matrix matrix; /* the logit less its mean */
  struct shown_matrix added;  /* rows */
  double *curve;              /* [distance] mean of heads less the mean of the logit */
};

struct layout {
  int across, down;          /* panels */
  double side, step;         /* of a panel; from one to the next */
  double rows;               /* height of a panel of rows */
  double top[MOST_LINES];    /* [down + 1] of a line of panels, and the end */
  bool additive[MOST_LINES]; /* a scheme of the line adds rows */
};

static const struct tensor *with_axes(const struct record *record, const char *name, const char *last,
                                      const char *before) {
  const struct tensor *tensor = record_find(record, name);
  bool fits = tensor && tensor->count && tensor->rank >= (before ? 2 : 1) &&
              !strcmp(tensor->axis[tensor->rank - 1].name, last) &&
              (!before || !strcmp(tensor->axis[tensor->rank - 2].name, before));
  return fits ? tensor : NULL;
}

static size_t find_schemes(const struct picture_source *source, struct scheme *schemes, size_t *all) {
  size_t count = 0;
  *all = 0;
  for (size_t i = 0; i < source->experiment->count; i++) {
    const struct record *record = source->experiment->records[i];
    const struct tensor *logit = is_scheme_record(record) ? with_axes(record, "expected_logit", "key", "query") : NULL;
    *all += logit != NULL;
    if (logit && count < MOST_SCHEMES) {
      schemes[count++] = (struct scheme){.record = record,
                                         .logit = logit,
                                         .profile = with_axes(record, "profile", "distance", NULL),
                                         .rows = with_axes(record, "position_encoding", "model_channel", "position")};
    }
  }
  return count;
}

static struct layout layout_for(const struct scheme *schemes, size_t count, int width, bool narrow) {
  struct layout layout = {.across = narrow ? 2 : 4};
  layout.down = ((int)count + layout.across - 1) / layout.across;
  layout.step = (double)(width - LEFT - RIGHT) / layout.across;
  layout.side = layout.step - GAP;
  layout.rows = narrow ? 60 : 80;
  for (size_t i = 0; i < count; i++) {
    layout.additive[(int)i / layout.across] |= schemes[i].rows != NULL;
  }
  for (int line = 0; line < layout.down; line++) {
    double rows = layout.additive[line] ? GAP + layout.rows : 0;
    layout.top[line + 1] = layout.top[line] + TITLE + layout.side + PROFILE + rows + 2 * (GAP + TICKS);
  }
  return layout;
}

static double mean_of(const struct shown_matrix *matrix) {
  double sum = 0;
  size_t n = 0;
  for (size_t i = 0; i < matrix->rows * matrix->columns; i++) {
    sum += isnan(matrix->values[i]) ? 0 : matrix->values[i];
    n += isnan(matrix->values[i]) ? 0 : 1;
  }
  return n ? sum / (double)n : 0;
}

/* Mean over heads and seeds, less `middle`. */
static int fill_curve(struct scheme *scheme, double middle, struct error *err) {
  const struct tensor *profile = scheme->profile;
  size_t count = profile->axis[profile->rank - 1].length, leads = profile->count / count;
  scheme->curve = memory_new(count, sizeof *scheme->curve, "profile", err);
  for (size_t i = 0; scheme->curve && i < count; i++) {
    double sum = 0;
    for (size_t lead = 0; lead < leads; lead++) {
      sum += tensor_value(profile, lead * count + i);
    }
    scheme->curve[i] = sum / (double)leads - middle;
  }
  return scheme->curve ? 0 : (int)err->code;
}

static void free_schemes(struct scheme *schemes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(schemes[i].matrix.values);
    free(schemes[i].added.values);
    free(schemes[i].curve);
  }
}

static int fill_schemes(struct scheme *schemes, size_t count, struct error *err) {
  for (size_t i = 0; i < count; i++) {
    struct scheme *scheme = &schemes[i];
    int failed = matrix_shown(scheme->logit, -1, PIXELS, &scheme->matrix, err);
    double middle = failed ? 0 : mean_of(&scheme->matrix);
    for (size_t k = 0; !failed && k < scheme->matrix.rows * scheme->matrix.columns; k++) {
      scheme->matrix.values[k] -= middle;
    }
    failed = failed || !scheme->profile ? failed : fill_curve(scheme, middle, err);
    failed = failed || !scheme->rows ? failed : matrix_shown(scheme->rows, -1, PIXELS, &scheme->added, err);
    if (failed) {
      free_schemes(schemes, i + 1);
      return err->code;
    }
  }
  return 0;
}

static double largest(const struct shown_matrix *matrix) {
  double most = 0;
  for (size_t i = 0; matrix->values && i < matrix->rows * matrix->columns; i++) {
    most = fmax(most, fabs(matrix->values[i]));
  }
  return most;
}

/* Ticks along x: "0 L 2L", as far as the axis goes, or with `both` also the negative ones. */
static void set_ticks(const struct canvas *canvas, double length, double last, bool both, struct text *script) {
  text_printf(script, "set xtics scale 0 offset 0,0.6 textcolor rgb '%s' font ',%d' ('0' 0", canvas_ink(canvas),
              canvas->narrow ? 8 : 10);
  for (int times = 1; times <= 4 && times * length <= (both ? 0.9 * last : last + 1); times++) {
    char name[8];
    snprintf(name, sizeof name, times > 1 ? "%dL" : "L", times);
    text_printf(script, ", '%s' %.6g", name, fmin(times * length, last));
    if (both) {
      text_printf(script, ", '-%s' %.6g", name, -fmin(times * length, last));
    }
  }
  text_append(script, ")\n");
}

/* A dashed line across the panel where a position or distance passes the training length. */
static void mark(const char *color, double at, bool upright, struct text *script) {
  text_printf(script,
              upright ? "set arrow from %.6g,graph 0 to %.6g,graph 1 nohead front lc rgb '%s' lw 1 dt 2\n"
                      : "set arrow from graph 0,first %.6g to graph 1,first %.6g nohead front lc rgb '%s' lw 1 dt 2\n",
              at, at, color);
}

/* The word where the last rows have no numbers, as far as there is room for it. */
static void say_undefined(const struct canvas *canvas, const struct shown_matrix *matrix, const struct panel *panel,
                          struct text *script) {
  size_t blank = 0; /* rows at the end */
  bool empty = true;
  while (empty && blank < matrix->rows) {
    const double *row = matrix->values + (matrix->rows - 1 - blank) * matrix->columns;
    for (size_t c = 0; c < matrix->columns; c++) {
      empty = empty && isnan(row[c]);
    }
    blank += empty;
  }
  double part = (double)blank / (double)matrix->rows;
  if (part * panel->height >= 14) {
    text_printf(script, "set label 'undefined' at graph 0.5,graph %.4f center front font ',%d' textcolor rgb '%s'\n",
                part / 2, canvas->narrow ? 9 : 11, canvas_ink(canvas));
  }
}

static void draw_logit(const struct canvas *canvas, const struct scheme *scheme, const struct panel *panel, size_t i,
                       const char *color, double length, struct text *script) {
  panel_begin(canvas, panel, scheme->record->label, color, script);
  matrix_axes(&scheme->matrix, script);
  set_ticks(canvas, length, (double)scheme->matrix.all_columns - 1, false, script);
  if (length < (double)scheme->matrix.all_rows) {
    mark("#000000", length - 0.5, true, script);
    mark("#000000", length - 0.5, false, script);
  }
  say_undefined(canvas, &scheme->matrix, panel, script);
  text_printf(script, "plot $logit%zu using 1:2:3 with image\n", i);
  matrix_hover(canvas, panel, &scheme->matrix, scheme->record->label, ", query {r}, key {c}: {v}");
}

static void draw_profile(const struct canvas *canvas, const struct scheme *scheme, const struct panel *panel, size_t i,
                         const struct look *look, double length, double most, struct text *script) {
  const struct axis *axis = &scheme->profile->axis[scheme->profile->rank - 1];
  double low = axis->values ? axis->values[0] : 0;
  double high = axis->values ? axis->values[axis->length - 1] : (double)axis->length - 1;
  panel_begin(canvas, panel, NULL, NULL, script);
  text_printf(script, "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n", low, high, -1.05 * most, 1.05 * most);
  set_ticks(canvas, length, high, true, script);
  mark(CANVAS_MUTED, 0, true, script);
  if (length < high) {
    mark(canvas_ink(canvas), length, true, script);
    mark(canvas_ink(canvas), -length, true, script);
  }
  text_printf(script, "plot $profile%zu using 1:2 with lines lw 2 lc rgb '%s'", i, look->color);
  text_append(script, "\n");
  struct hover_axis none = {0, 1, false};
  hover_panel(canvas->hover, panel->left, panel->top, panel->width, panel->height, none, none);
  hover_grid(canvas->hover, scheme->record->label, ", distance {c}: {v}", (struct hover_side){1, 0, 1, HOVER_NUMBERS},
             (struct hover_side){axis->length, low, (high - low) / ((double)axis->length - 1), HOVER_NUMBERS},
             scheme->curve);
}

static void append_data(const struct scheme *schemes, size_t count, struct text *script) {
  char name[32];
  for (size_t i = 0; i < count; i++) {
    snprintf(name, sizeof name, "logit%zu", i);
    matrix_append(&schemes[i].matrix, name, script);
    if (schemes[i].added.values) {
      snprintf(name, sizeof name, "rows%zu", i);
      matrix_append(&schemes[i].added, name, script);
    }
    if (schemes[i].profile) {
      const struct axis *axis = &schemes[i].profile->axis[schemes[i].profile->rank - 1];
      text_printf(script, "$profile%zu << END\n", i);
      for (size_t k = 0; k < axis->length; k++) {
        text_printf(script, "%.6g ", axis->values ? axis->values[k] : (double)k);
        gnuplot_number(script, schemes[i].curve[k]);
        text_append(script, "\n");
      }
      text_append(script, "END\n");
    }
  }
}

/* What the lines of panels are, at the left. */
static void name_line(const struct canvas *canvas, const struct layout *layout, int line, struct text *script) {
  double x = LEFT - 8, top = layout->top[line] + TITLE, profile = top + layout->side + TICKS + GAP;
  const char *ink = canvas_ink(canvas);
  canvas_note(canvas, x, top + layout->side / 2 - 8, "right", "logit", ink, script);
  canvas_note(canvas, x, top + layout->side / 2 + 6, "right", "m ↓", ink, script);
  canvas_note(canvas, x, top + layout->side / 2 + 20, "right", "n →", ink, script);
  canvas_note(canvas, x, profile + PROFILE / 2.0, "right", "profile", ink, script);
  if (layout->additive[line]) {
    canvas_note(canvas, x, profile + PROFILE + TICKS + GAP + layout->rows / 2 - 7, "right", "rows", ink, script);
    canvas_note(canvas, x, profile + PROFILE + TICKS + GAP + layout->rows / 2 + 7, "right", "added", ink, script);
  }
}

static void draw_scheme(const struct canvas *canvas, const struct picture_source *source, const struct layout *layout,
                        const struct scheme *scheme, size_t i, double most, struct text *script) {
  struct look look = look_of(source->file, scheme->record);
  double length = record_number(scheme->record, "train_length");
  double top = layout->top[(int)i / layout->across] + TITLE;
  struct panel panel = {LEFT + (double)((int)i % layout->across) * layout->step, top, layout->side, layout->side};
  draw_logit(canvas, scheme, &panel, i, look.color, length, script);
  text_append(script, "unset colorbox\n");
  panel.top += layout->side + TICKS + GAP;
  panel.height = PROFILE;
  if (scheme->profile) {
    draw_profile(canvas, scheme, &panel, i, &look, length, most, script);
  }
  panel.top += PROFILE + TICKS + GAP;
  panel.height = layout->rows;
  if (scheme->added.values) {
    double range = largest(&scheme->added);
    panel_begin(canvas, &panel, NULL, NULL, script);
    matrix_axes(&scheme->added, script);
    palette_diverging(range > 0 ? range : 1, script);
    text_append(script, "unset xtics\n");
    mark("#000000", length - 0.5, false, script);
    say_undefined(canvas, &scheme->added, &panel, script);
    text_printf(script, "plot $rows%zu using 1:2:3 with image\n", i);
    matrix_hover(canvas, &panel, &scheme->added, scheme->record->label, " adds at position {r}, channel {c}: {v}");
    palette_diverging(most, script);
  }
}

static void draw_schemes(const struct canvas *canvas, const struct picture_source *source, const struct scheme *schemes,
                         size_t all, struct text *script) {
  double most = 0;
  for (size_t i = 0; i < all; i++) {
    most = fmax(most, largest(&schemes[i].matrix));
  }
  most = most > 0 ? most : 1;
  size_t first, count = picture_part(source, PER_PART, all, &first);
  schemes += first;
  struct layout layout = layout_for(schemes, count, canvas->width, canvas->narrow);
  canvas_begin(canvas, script);
  append_data(schemes, count, script);
  text_append(script, "unset tics\nset border 15 lc rgb '" CANVAS_MUTED "' lw 0.5\nset multiplot\n");
  palette_diverging(most, script);
  colorbox_at(canvas, canvas->width / 2.0 - 130, canvas->height - BOX + 12, 260, -most, most, script);
  for (size_t i = 0; i < count; i++) {
    draw_scheme(canvas, source, &layout, &schemes[i], i, most, script);
  }
  /* Names stand in a plot of their own, which clears no label of the panels. */
  struct panel whole = {0, 0, canvas->width, canvas->height};
  panel_begin(canvas, &whole, NULL, NULL, script);
  text_append(script, "unset xtics\n");
  for (int line = 0; line < layout.down; line++) {
    name_line(canvas, &layout, line, script);
  }
  text_append(script, "unset border\nset xrange [0:1]\nset yrange [0:1]\nplot NaN\nunset multiplot\n");
}

static size_t count_shown(const struct picture_source *source) {
  struct scheme schemes[MOST_SCHEMES];
  size_t all;
  return find_schemes(source, schemes, &all);
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  struct scheme schemes[MOST_SCHEMES];
  size_t all, count = find_schemes(source, schemes, &all);
  (void)err;
  text_append(caption,
              "The logit of a word with itself at query position m and key position n, mean of words and heads, less "
              "its mean (softmax does not see a constant); red above, blue below, one scale for all, colour by the "
              "square root. Dashed: the training length L. Equal colours along diagonals: the distance alone counts. "
              "Below: the mean along each diagonal against the distance m - n, all on one scale.");
  const char *rows = "";
  for (size_t i = 0; i < count; i++) {
    rows = schemes[i].rows ? " Last: the rows that additive schemes add, position down, channel to the right, each on "
                             "its own scale."
                           : rows;
  }
  text_append(caption, rows);
  picture_say_left_out(caption, count, all);
  text_printf(alternative, "Heat maps of the expected logit on equal tokens, positions 0 to %zu:",
              schemes[0].logit->axis[schemes[0].logit->rank - 1].length - 1);
  for (size_t i = 0; i < count; i++) {
    text_printf(alternative, "%s %s%s", i ? "," : "", schemes[i].record->label,
                schemes[i].rows ? " (with the rows it adds)" : "");
  }
  return 0;
}

static int height(const struct picture_source *source, bool narrow) {
  struct scheme schemes[MOST_SCHEMES];
  size_t all, first, count = picture_part(source, PER_PART, find_schemes(source, schemes, &all), &first);
  struct layout layout = layout_for(schemes + first, count, picture_width(narrow), narrow);
  return (int)layout.top[layout.down] + BOX;
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  struct scheme schemes[MOST_SCHEMES];
  size_t all, count = find_schemes(source, schemes, &all);
  if (fill_schemes(schemes, count, err)) {
    return err->code;
  }
  draw_schemes(canvas, source, schemes, count, script);
  free_schemes(schemes, count);
  return 0;
}

const struct picture picture_encoding = {"encoding", "The encoding itself", count_shown, PER_PART, describe, height,
                                         draw};
