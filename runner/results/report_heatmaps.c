/* Pictures of saved matrices: attention weights and logits, one panel per scheme and head on one scale. */
#include "results/gnuplot.h"
#include "results/report_panels.h"
#include "results/report_pictures.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  NUMBER_PIXELS = 34, /* width of a cell into which a number is written */
  MOST_RECORDS = 64,
  PER_PART = 5,
  MOST_HEADS = 4,
  MOST_PIXELS = 64,
  WIDE_PANELS = 4,
  NARROW_PANELS = 2,
  TITLE_PIXELS = 22,
  BOTTOM_PIXELS = 48
};

/* [head, query, key], of the first seed where there are several. */
struct stack {
  const struct record *record;
  const struct tensor *tensor;
  size_t heads, queries, keys;
};

static bool is_axis(const struct axis *axis, const char *name, const char *other) {
  return !strcmp(axis->name, name) || !strcmp(axis->name, other);
}

static size_t find_stacks(const struct picture_source *source, const char *name, struct stack stacks[MOST_RECORDS],
                          size_t *all) {
  size_t count = 0;
  *all = 0;
  for (size_t i = 0; i < source->experiment->count; i++) {
    const struct record *record = source->experiment->records[i];
    const struct tensor *tensor = is_scheme_record(record) ? record_find(record, name) : NULL;
    unsigned rank = tensor ? tensor->rank : 0;
    bool fits = rank >= 3 && tensor->count && !strcmp(tensor->axis[rank - 3].name, "head") &&
                is_axis(&tensor->axis[rank - 2], "query", "saved_query") &&
                is_axis(&tensor->axis[rank - 1], "key", "saved_key");
    *all += fits;
    if (fits && count < MOST_RECORDS) {
      stacks[count++] = (struct stack){record, tensor, tensor->axis[rank - 3].length, tensor->axis[rank - 2].length,
                                       tensor->axis[rank - 1].length};
    }
  }
  return count;
}

static size_t heads_shown(const struct stack *stack) {
  return stack->heads < MOST_HEADS ? stack->heads : MOST_HEADS;
}

struct layout {
  size_t across, lines;      /* panels side by side; lines of them for one record */
  double step, width, panel; /* from one panel to the next; of a panel; its height with what stands around it */
};

static struct layout layout_for(const struct stack *stacks, size_t count, bool narrow) {
  size_t most = 1;
  for (size_t i = 0; i < count; i++) {
    most = heads_shown(&stacks[i]) > most ? heads_shown(&stacks[i]) : most;
  }
  struct layout layout = {.across = narrow ? NARROW_PANELS : WIDE_PANELS};
  layout.across = most < layout.across ? most : layout.across;
  layout.lines = (most + layout.across - 1) / layout.across;
  /* A few panels do not fill the width: their numbers would be small in large squares. */
  size_t slots = layout.across > 2 || narrow ? layout.across : 3;
  layout.step = (double)picture_width(narrow) / (double)(slots > 1 ? slots : 2);
  layout.width = 0.92 * layout.step;
  layout.panel = TITLE_PIXELS + layout.width + 4;
  return layout;
}

static int stacks_height(const struct picture_source *source, const char *name, bool narrow) {
  struct stack stacks[MOST_RECORDS];
  size_t all, first, found = find_stacks(source, name, stacks, &all);
  size_t count = picture_part(source, PER_PART, found, &first);
  struct layout layout = layout_for(stacks, found, narrow);
  return (int)((double)(count * layout.lines) * layout.panel) + BOTTOM_PIXELS;
}

/* Mean over a block of the matrix: large ones are shown at the resolution of the picture. */
static double block_mean(const struct stack *stack, size_t head, size_t q0, size_t q1, size_t k0, size_t k1) {
  double sum = 0;
  size_t n = 0;
  for (size_t q = q0; q < q1; q++) {
    for (size_t k = k0; k < k1; k++) {
      double value = tensor_value(stack->tensor, (head * stack->queries + q) * stack->keys + k);
      if (isfinite(value)) {
        sum += value;
        n++;
      }
    }
  }
  return n ? sum / (double)n : NAN;
}

static size_t shown(size_t length) {
  return length < MOST_PIXELS ? length : MOST_PIXELS;
}

struct scale {
  const char *palette;
  double low, high; /* of the values; around zero: -high ... high */
  bool around_zero;
};

/* Black or white: what can be read on the colour of a value. */
static unsigned ink_on(const struct scale *scale, double value) {
  double part = scale->around_zero ? fabs(value) / scale->high : (value - scale->low) / (scale->high - scale->low);
  bool light = scale->around_zero ? part < 0.6 : part > 0.4;
  return light ? 0x000000 : 0xffffff;
}

/* Value of a pixel: the mean over its block. */
static double pixel(const struct stack *stack, size_t head, size_t row, size_t column) {
  size_t rows = shown(stack->queries), columns = shown(stack->keys);
  return block_mean(stack, head, row * stack->queries / rows, (row + 1) * stack->queries / rows,
                    column * stack->keys / columns, (column + 1) * stack->keys / columns);
}

static void append_matrix(struct text *script, const struct stack *stack, size_t head, size_t number,
                          const struct scale *scale) {
  size_t rows = shown(stack->queries), columns = shown(stack->keys);
  text_printf(script, "$matrix%zu << END\n", number);
  for (size_t r = 0; r < rows; r++) {
    for (size_t c = 0; c < columns; c++) {
      double value = pixel(stack, head, r, c);
      text_printf(script, "%zu %zu ", c, r);
      gnuplot_number(script, value);
      text_printf(script, " %u\n", ink_on(scale, value));
    }
    text_append(script, "\n");
  }
  text_append(script, "END\n");
}

/* The range of all pixels, as the scale needs it. */
static void fit_scale(struct scale *scale, const struct stack *stacks, size_t count) {
  double low = 0, high = 0;
  for (size_t i = 0; i < count; i++) {
    size_t rows = shown(stacks[i].queries), columns = shown(stacks[i].keys);
    for (size_t k = 0; k < heads_shown(&stacks[i]) * rows * columns; k++) {
      double value = pixel(&stacks[i], k / (rows * columns), k / columns % rows, k % columns);
      low = isfinite(value) ? fmin(low, value) : low;
      high = isfinite(value) ? fmax(high, value) : high;
    }
  }
  double most = fmax(fabs(low), fabs(high));
  scale->low = scale->around_zero ? -most : low;
  scale->high = scale->around_zero ? most : high;
  if (!(scale->low < scale->high)) {
    scale->low = scale->around_zero ? -1 : 0;
    scale->high = 1;
  }
}

/* A panel's values are told as they are drawn. */
static void tell_panel(const struct canvas *canvas, const struct stack *stack, size_t head, const struct panel *panel,
                       const char *label) {
  struct error ignored; /* without memory the values are not told */
  struct shown_matrix matrix = {.rows = shown(stack->queries),
                                .columns = shown(stack->keys),
                                .all_rows = stack->queries,
                                .all_columns = stack->keys};
  matrix.values = memory_new_3d(matrix.rows, matrix.columns, 1, sizeof *matrix.values, "picture", &ignored);
  for (size_t i = 0; matrix.values && i < matrix.rows * matrix.columns; i++) {
    matrix.values[i] = pixel(stack, head, i / matrix.columns, i % matrix.columns);
  }
  if (matrix.values) {
    matrix_hover(canvas, panel, &matrix, label, ", query {r}, key {c}: {v}");
  }
  free(matrix.values);
}

static void draw_panel(const struct canvas *canvas, const struct stack *stack, size_t head, size_t number,
                       const struct panel *panel, struct text *script) {
  char title[2 * RECORD_NAME];
  snprintf(title, sizeof title, "%s, head %zu", stack->record->label, head);
  panel_begin(canvas, panel, title, canvas_ink(canvas), script);
  text_printf(script, "set xrange [-0.5:%.1f]\nset yrange [%.1f:-0.5]\n", (double)shown(stack->keys) - 0.5,
              (double)shown(stack->queries) - 0.5);
  text_printf(script, "plot $matrix%zu using 1:2:3 with image", number);
  if (panel->width / (double)stack->keys >= NUMBER_PIXELS) {
    text_printf(script, ", $matrix%zu using 1:2:(sprintf('%%.2f', $3)):4 with labels textcolor rgb variable font ',%d'",
                number, canvas->narrow ? 9 : 11);
  }
  text_append(script, "\n");
  if (canvas->hover) {
    tell_panel(canvas, stack, head, panel, title);
  }
}

static void draw_stacks(const struct picture_source *source, const char *name, struct scale scale,
                        const struct canvas *canvas, struct text *script) {
  struct stack stacks[MOST_RECORDS];
  size_t all, first, found = find_stacks(source, name, stacks, &all);
  size_t count = picture_part(source, PER_PART, found, &first);
  struct layout layout = layout_for(stacks, found, canvas->narrow);
  fit_scale(&scale, stacks, found);
  canvas_begin(canvas, script);
  for (size_t i = 0; i < count * MOST_HEADS; i++) {
    if (i % MOST_HEADS < heads_shown(&stacks[first + i / MOST_HEADS])) {
      append_matrix(script, &stacks[first + i / MOST_HEADS], i % MOST_HEADS, i, &scale);
    }
  }
  text_printf(script, "set palette defined (%s)\nset cbrange [%.9g:%.9g]\n", scale.palette, scale.low, scale.high);
  text_append(script, "unset tics\nset border 15 lc rgb '" CANVAS_MUTED "' lw 0.5\n");
  colorbox_at(canvas, 0.3 * canvas->width, canvas->height - 38, 0.4 * canvas->width, scale.low, scale.high, script);
  text_append(script, "set multiplot\n");
  double margin = (canvas->width - (double)layout.across * layout.step) / 2 + (layout.step - layout.width) / 2;
  for (size_t i = 0; i < count * MOST_HEADS; i++) {
    size_t head = i % MOST_HEADS, line = i / MOST_HEADS * layout.lines + head / layout.across;
    const struct stack *stack = &stacks[first + i / MOST_HEADS];
    struct panel panel = {margin + (double)(head % layout.across) * layout.step,
                          (double)line * layout.panel + TITLE_PIXELS, layout.width, layout.width};
    if (head < heads_shown(stack)) {
      draw_panel(canvas, stack, head, i, &panel, script);
      text_append(script, "unset colorbox\n");
    }
  }
  text_append(script, "unset multiplot\n");
}

static size_t count_stacks(const struct picture_source *source, const char *name) {
  struct stack stacks[MOST_RECORDS];
  size_t all;
  return find_stacks(source, name, stacks, &all);
}

static void say_size(const struct picture_source *source, const char *name, struct text *caption,
                     struct text *alternative) {
  struct stack stacks[MOST_RECORDS];
  size_t all, heads = 0, count = find_stacks(source, name, stacks, &all);
  text_append(caption, " Queries down, keys to the right; one colour scale for all.");
  if (stacks[0].queries > MOST_PIXELS || stacks[0].keys > MOST_PIXELS) {
    text_printf(caption, " %zu x %zu values, averaged over blocks.", stacks[0].queries, stacks[0].keys);
  }
  picture_say_seed(caption, stacks[0].tensor);
  picture_say_left_out(caption, count, all);
  for (size_t i = 0; i < count; i++) {
    heads = stacks[i].heads > heads ? stacks[i].heads : heads;
  }
  if (heads > MOST_HEADS) {
    text_printf(caption, " The first %d of %zu heads are drawn; the file has them all.", MOST_HEADS, heads);
  }
  for (size_t i = 0; i < count; i++) {
    text_printf(alternative, "%s%s: %zu heads of %zu x %zu", i ? "; " : " ", stacks[i].record->label, stacks[i].heads,
                stacks[i].queries, stacks[i].keys);
  }
}

static size_t weights_count(const struct picture_source *source) {
  return count_stacks(source, "attention_weights");
}

static int weights_describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                            struct error *err) {
  (void)err;
  text_append(caption, "How much each token attends to each other; the colour goes with the square root.");
  text_append(alternative, "Heat maps of attention weights.");
  say_size(source, "attention_weights", caption, alternative);
  return 0;
}

static int weights_height(const struct picture_source *source, bool narrow) {
  return stacks_height(source, "attention_weights", narrow);
}

static int weights_draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                        struct error *err) {
  /* viridis, by the square root: most weights are small */
  struct scale scale = {.palette = "0 '#440154', 1 '#3b528b', 4 '#21918c', 9 '#5ec962', 16 '#fde725'"};
  (void)err;
  draw_stacks(source, "attention_weights", scale, canvas, script);
  return 0;
}

const struct picture picture_weights = {"weights",        "Attention weights", weights_count, PER_PART,
                                        weights_describe, weights_height,      weights_draw};

static size_t logits_count(const struct picture_source *source) {
  return count_stacks(source, "logits");
}

static int logits_describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                           struct error *err) {
  (void)err;
  text_append(caption, "The scores before the softmax: red above zero, blue below.");
  text_append(alternative, "Heat maps of logits.");
  say_size(source, "logits", caption, alternative);
  return 0;
}

static int logits_height(const struct picture_source *source, bool narrow) {
  return stacks_height(source, "logits", narrow);
}

static int logits_draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                       struct error *err) {
  struct scale scale = {.palette = "-1 '#2166ac', 0 '#f7f7f7', 1 '#b2182b'", .around_zero = true};
  (void)err;
  draw_stacks(source, "logits", scale, canvas, script);
  return 0;
}

const struct picture picture_logits = {"logits",        "Logits",      logits_count, PER_PART,
                                       logits_describe, logits_height, logits_draw};
