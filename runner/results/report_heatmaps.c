/* Pictures of saved matrices: attention weights and logits, one panel per scheme and head on one scale. */
#include "results/gnuplot.h"
#include "results/report_pictures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  NUMBER_PIXELS = 34, /* width of a cell into which a number is written */
  MOST_RECORDS = 8,
  MOST_PIXELS = 96,
  MOST_HOVERS = 256, /* values of a matrix that show themselves under the pointer */
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

static size_t find_stacks(const struct picture_source *source, const char *name, struct stack stacks[MOST_RECORDS]) {
  size_t count = 0;
  for (size_t i = 0; i < source->experiment->count && count < MOST_RECORDS; i++) {
    const struct record *record = source->experiment->records[i];
    const struct tensor *tensor = is_scheme_record(record) ? record_find(record, name) : NULL;
    unsigned rank = tensor ? tensor->rank : 0;
    if (rank >= 3 && !strcmp(tensor->axis[rank - 3].name, "head") && !strcmp(tensor->axis[rank - 2].name, "query") &&
        !strcmp(tensor->axis[rank - 1].name, "key")) {
      stacks[count++] = (struct stack){record, tensor, tensor->axis[rank - 3].length, tensor->axis[rank - 2].length,
                                       tensor->axis[rank - 1].length};
    }
  }
  return count;
}

static size_t panels_across(const struct stack *stacks, size_t count, bool narrow) {
  size_t most = 1;
  for (size_t i = 0; i < count; i++) {
    most = stacks[i].heads > most ? stacks[i].heads : most;
  }
  size_t room = narrow ? NARROW_PANELS : WIDE_PANELS;
  return most < room ? most : room;
}

static int stacks_height(const struct picture_source *source, const char *name, bool narrow) {
  struct stack stacks[MOST_RECORDS];
  size_t count = find_stacks(source, name, stacks);
  int across = (int)panels_across(stacks, count, narrow);
  int panel = (narrow ? 340 : 700) / (across > 2 ? across : 3);
  return (int)count * (panel + TITLE_PIXELS) + BOTTOM_PIXELS;
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
static void fit_scale(struct scale *scale, const struct stack *stacks, size_t count, size_t heads) {
  double low = 0, high = 0;
  for (size_t i = 0; i < count; i++) {
    size_t rows = shown(stacks[i].queries), columns = shown(stacks[i].keys);
    size_t panels = heads < stacks[i].heads ? heads : stacks[i].heads;
    for (size_t k = 0; k < panels * rows * columns; k++) {
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

static void draw_panel(const struct canvas *canvas, const struct stack *stack, size_t head, size_t number, double left,
                       double right, double top, double bottom, struct text *script) {
  char title[2 * RECORD_NAME];
  snprintf(title, sizeof title, "%s, head %zu", stack->record->label, head);
  text_printf(script, "set lmargin at screen %.4f\nset rmargin at screen %.4f\n", left, right);
  text_printf(script, "set tmargin at screen %.4f\nset bmargin at screen %.4f\n", top, bottom);
  text_append(script, "set title ");
  gnuplot_quote(script, title);
  text_printf(script, " offset 0,-0.7 font ',%d' textcolor rgb '%s'\n", canvas->narrow ? 10 : 12, canvas_ink(canvas));
  text_printf(script, "set xrange [-0.5:%.1f]\nset yrange [%.1f:-0.5]\n", (double)shown(stack->keys) - 0.5,
              (double)shown(stack->queries) - 0.5);
  text_printf(script, "plot $matrix%zu using 1:2:3 with image", number);
  double cell = (right - left) * canvas->width / (double)stack->keys;
  if (cell >= NUMBER_PIXELS) {
    text_printf(script, ", $matrix%zu using 1:2:(sprintf('%%.2f', $3)):4 with labels textcolor rgb variable font ',%d'",
                number, canvas->narrow ? 9 : 11);
  }
  if (canvas->kind == CANVAS_PAGE && !canvas->narrow && stack->queries * stack->keys <= MOST_HOVERS) {
    text_printf(script,
                ", $matrix%zu using 1:2:(sprintf('query %%g, key %%g: %%.3g', $2, $1, $3)) with labels hypertext point "
                "pt 5 ps 1.4 lc rgb '#ff000000'",
                number);
  }
  text_append(script, "\n");
}

static void draw_stacks(const struct picture_source *source, const char *name, struct scale scale,
                        const struct canvas *canvas, struct text *script) {
  struct stack stacks[MOST_RECORDS];
  size_t count = find_stacks(source, name, stacks);
  size_t across = panels_across(stacks, count, canvas->narrow);
  fit_scale(&scale, stacks, count, across);
  double middle = (scale.low + scale.high) / 2;
  canvas_begin(canvas, script);
  for (size_t i = 0; i < count; i++) {
    for (size_t h = 0; h < across && h < stacks[i].heads; h++) {
      append_matrix(script, &stacks[i], h, i * across + h, &scale);
    }
  }
  text_printf(script, "set palette defined (%s)\nset cbrange [%.9g:%.9g]\n", scale.palette, scale.low, scale.high);
  text_printf(
      script,
      "unset tics\nset border 15 lc rgb '" CANVAS_MUTED "' lw 0.5\nset colorbox horizontal user origin "
      "screen 0.3,%.4f size screen 0.4,%.4f\nset cbtics scale 0 textcolor rgb '%s' font ',10' ('%.2g' %.9g, '%.2g' "
      "%.9g, '%.2g' %.9g)\n",
      30.0 / canvas->height, 8.0 / canvas->height, canvas_ink(canvas), scale.low, scale.low, middle, middle, scale.high,
      scale.high);
  text_append(script, "set multiplot\n");
  double slots = (double)(across > 2 ? across : 3), first = (slots - (double)across) / 2;
  double panel_height = (1 - (double)BOTTOM_PIXELS / canvas->height) / (double)count;
  for (size_t i = 0; i < count; i++) {
    for (size_t h = 0; h < across && h < stacks[i].heads; h++) {
      double left = (first + (double)h + 0.04) / slots, right = (first + (double)h + 0.96) / slots;
      double top = 1 - (double)i * panel_height - (double)TITLE_PIXELS / canvas->height;
      draw_panel(canvas, &stacks[i], h, i * across + h, left, right, top, 1 - (double)(i + 1) * panel_height, script);
      text_append(script, i == 0 && h == 0 ? "unset colorbox\n" : "");
    }
  }
  text_append(script, "unset multiplot\n");
}

static bool has_stacks(const struct picture_source *source, const char *name) {
  struct stack stacks[MOST_RECORDS];
  return find_stacks(source, name, stacks) > 0;
}

static void say_size(const struct picture_source *source, const char *name, struct text *caption,
                     struct text *alternative) {
  struct stack stacks[MOST_RECORDS];
  size_t count = find_stacks(source, name, stacks);
  text_append(caption, " Queries down, keys to the right; one colour scale for all.");
  if (stacks[0].queries > MOST_PIXELS || stacks[0].keys > MOST_PIXELS) {
    text_printf(caption, " %zu x %zu values, averaged over blocks.", stacks[0].queries, stacks[0].keys);
  }
  for (size_t i = 0; i < count; i++) {
    text_printf(alternative, "%s%s: %zu heads of %zu x %zu", i ? "; " : " ", stacks[i].record->label, stacks[i].heads,
                stacks[i].queries, stacks[i].keys);
  }
}

static bool weights_applies(const struct picture_source *source) {
  return has_stacks(source, "attention_weights");
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

const struct picture picture_weights = {"weights",        "Attention weights", weights_applies,
                                        weights_describe, weights_height,      weights_draw};

static bool logits_applies(const struct picture_source *source) {
  return has_stacks(source, "logits");
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

const struct picture picture_logits = {"logits", "Logits", logits_applies, logits_describe, logits_height, logits_draw};
