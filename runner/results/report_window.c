/* Picture of one window of tokens at four places: the attention of one head, scheme by scheme. */
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
  PER_PART = 5,
  MOST_PLACES = 6,
  MOST_TOKENS = 32,
  TOKEN_BYTES = 40,
  SHOWN_BYTES = 9, /* of a token along an axis */
  /* pixels */
  HEAD = 34, /* the names of the columns */
  TITLE = 20,
  GAP = 10,
  FOOT = 54,
  BOX = 40
};

/* [.., place, head, window_query, window_key]; of the first seed where there are several. */
struct window {
  const struct record *record;
  const struct tensor *weights;
  const struct tensor *change; /* [.., place, head]; may be NULL */
  size_t places, heads, tokens;
};

static bool has_axis(const struct tensor *tensor, unsigned from_end, const char *name) {
  return tensor->rank >= from_end && !strcmp(tensor->axis[tensor->rank - from_end].name, name);
}

static bool read_window(const struct record *record, struct window *window) {
  const struct tensor *weights = is_scheme_record(record) ? record_find(record, "window_attention") : NULL;
  if (!weights || !weights->count || !has_axis(weights, 4, "place") || !has_axis(weights, 3, "head") ||
      !has_axis(weights, 2, "window_query") || !has_axis(weights, 1, "window_key")) {
    return false;
  }
  const struct axis *axes = weights->axis + weights->rank - 4;
  const struct tensor *change = record_find(record, "window_attention_jsd");
  bool fits = change && has_axis(change, 2, "place") && has_axis(change, 1, "head") &&
              change->axis[change->rank - 2].length == axes[0].length &&
              change->axis[change->rank - 1].length == axes[1].length;
  *window = (struct window){record, weights, fits ? change : NULL, axes[0].length, axes[1].length, axes[2].length};
  return axes[0].length <= MOST_PLACES && axes[2].length == axes[3].length && axes[2].length <= MOST_TOKENS;
}

static bool same_shape(const struct window *a, const struct window *b) {
  return a->places == b->places && a->tokens == b->tokens && a->heads == b->heads;
}

/* All windows of the shape of the first one: the model's, its own behind maps of positions, the others', the control's.
 * *all: how many there are of any shape. */
static size_t find_windows(const struct picture_source *source, struct window *windows, size_t *all) {
  static const enum look_role order[] = {LOOK_MODEL, LOOK_MAPPED, LOOK_SWAPPED_IN, LOOK_OTHER, LOOK_CONTROL};
  size_t count = 0;
  *all = 0;
  for (size_t r = 0; r < sizeof order / sizeof *order; r++) {
    for (size_t i = 0; i < source->experiment->count; i++) {
      struct window window;
      const struct record *record = source->experiment->records[i];
      if (look_of(source->file, record).role != order[r] || !read_window(record, &window)) {
        continue;
      }
      ++*all;
      if (count < MOST_SCHEMES && (!count || same_shape(&window, &windows[0]))) {
        windows[count++] = window;
      }
    }
  }
  return count;
}

static double weight_at(const struct window *window, size_t place, size_t head, size_t query, size_t key) {
  return tensor_value(window->weights,
                      ((place * window->heads + head) * window->tokens + query) * window->tokens + key);
}

static double change_at(const struct window *window, size_t place, size_t head) {
  return window->change ? tensor_value(window->change, place * window->heads + head) : NAN;
}

/* The head that changes most in the first row, which is the model's where there is one. */
static size_t head_shown(const struct window *window) {
  size_t head = 0;
  double most = -1;
  for (size_t h = 0; h < window->heads; h++) {
    for (size_t p = 0; p < window->places; p++) {
      double change = change_at(window, p, h);
      head = change > most ? h : head;
      most = change > most ? change : most;
    }
  }
  return head;
}

/* Word `index` of a text attribute whose words are separated by `separator`; the number where there is none. */
static void word_of(const struct tensor *tensor, const char *name, char separator, size_t index, char *out,
                    size_t size) {
  const struct attribute *attribute = attributes_find(&tensor->attributes, name);
  const char *word = attribute && attribute->kind == ATTRIBUTE_TEXT ? attribute->text : NULL;
  for (size_t i = 0; word && i < index; i++) {
    word = strchr(word, separator);
    word = word ? word + 1 : NULL;
  }
  if (!word) {
    snprintf(out, size, "%zu", index);
    return;
  }
  const char *end = strchr(word, separator);
  size_t length = end ? (size_t)(end - word) : strlen(word);
  length = length < size ? length : size - 1;
  /* Not within a character. */
  while (length && word[length] && ((unsigned char)word[length] & 0xc0) == 0x80) {
    length--;
  }
  memcpy(out, word, length);
  out[length] = '\0';
}

/* "just past, from 128": the name of a column. */
static void place_name(const struct window *window, size_t place, bool narrow, char *out, size_t size) {
  static const char *const ours[][2] = {
      {"inside", "inside L"}, {"straddling", "straddling L"}, {"just_past", "just past L"}, {"four_L", "at 4 L"}};
  char word[48];
  const struct attribute *offsets = attributes_find(&window->weights->attributes, "place_offsets");
  word_of(window->weights, "place_names", ' ', place, word, sizeof word);
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
    if (!strcmp(word, ours[i][0])) {
      snprintf(word, sizeof word, "%s", ours[i][1]);
      break;
    }
  }
  if (offsets && offsets->kind == ATTRIBUTE_REAL_LIST && place < offsets->count && !narrow) {
    snprintf(out, size, "%s, from %.0f", word, offsets->list[place]);
  } else {
    snprintf(out, size, "%s", word);
  }
}

struct layout {
  double left, step, side, row;
};

static struct layout layout_for(const struct window *window, bool narrow) {
  struct layout layout = {.left = narrow ? 6 : 76};
  layout.step = (picture_width(narrow) - layout.left - 4) / (double)window->places;
  layout.side = layout.step - (narrow ? 6 : GAP);
  layout.row = TITLE + layout.side + GAP;
  return layout;
}

static struct panel panel_at(const struct layout *layout, size_t row, size_t place) {
  return (struct panel){layout->left + (double)place * layout->step, HEAD + (double)row * layout->row + TITLE,
                        layout->side, layout->side};
}

static bool defined_at(const struct window *window, size_t place, size_t head) {
  for (size_t i = 0; i < window->tokens * window->tokens; i++) {
    if (isfinite(weight_at(window, place, head, i / window->tokens, i % window->tokens))) {
      return true;
    }
  }
  return false;
}

static void append_weights(const struct window *window, size_t place, size_t head, size_t number, struct text *script) {
  text_printf(script, "$window%zu << END\n", number);
  for (size_t q = 0; q < window->tokens; q++) {
    for (size_t k = 0; k < window->tokens; k++) {
      text_printf(script, "%zu %zu ", k, q);
      gnuplot_number(script, weight_at(window, place, head, q, k));
      text_append(script, "\n");
    }
    text_append(script, "\n");
  }
  text_append(script, "END\n");
}

/* How SentencePiece writes the space before a word. */
static const char word_start[] = "\u2581";

/* A token without the sign of a space before it. */
static void token_of(const struct window *window, size_t t, size_t size, char *out) {
  size_t start = strlen(word_start);
  word_of(window->weights, "tokens", '\n', t, out, size);
  if (!strncmp(out, word_start, start)) {
    memmove(out, out + start, strlen(out + start) + 1);
  }
}

/* To `most` bytes, not within a character. */
static void cut(char *text, size_t most) {
  if (strlen(text) > most) {
    while (most && ((unsigned char)text[most] & 0xc0) == 0x80) {
      most--;
    }
    text[most] = '\0';
  }
}

/* Tokens along an axis. */
static void set_tokens(const struct canvas *canvas, const struct window *window, const char *axis, const char *how,
                       struct text *script) {
  text_printf(script, "set %s scale 0 %s textcolor rgb '%s' font ',8' (", axis, how, canvas_ink(canvas));
  for (size_t t = 0; t < window->tokens; t++) {
    char token[TOKEN_BYTES];
    token_of(window, t, sizeof token, token);
    cut(token, SHOWN_BYTES);
    text_append(script, t ? ", " : "");
    gnuplot_quote(script, token);
    text_printf(script, " %zu", t);
  }
  text_append(script, ")\n");
}

/* The divergence in the upper right corner, on a dark ground. */
static void set_corner(const struct canvas *canvas, double change, struct text *script) {
  if (isnan(change)) {
    return;
  }
  double wide = canvas->narrow ? 0.31 : 0.18, high = canvas->narrow ? 0.15 : 0.085;
  text_printf(script,
              "set object rectangle from graph %.3f,graph %.3f to graph 1,graph 1 front fs transparent solid 0.75 "
              "noborder fc rgb '#000000'\n",
              1 - wide, 1 - high);
  text_printf(script, "set label '%.2f' at graph %.3f,graph %.3f right front font ',%d' textcolor rgb '#ffffff'\n",
              change, 0.99, 1 - high / 2, canvas->narrow ? 8 : 10);
}

static void draw_place(const struct canvas *canvas, const struct picture_source *source, const struct layout *layout,
                       const struct window *window, size_t row, size_t place, size_t head, bool last,
                       struct text *script) {
  size_t number = row * window->places + place;
  bool defined = defined_at(window, place, head);
  struct panel panel = panel_at(layout, row, place);
  panel_begin(canvas, &panel, NULL, NULL, script);
  text_printf(script, "set xrange [-0.5:%.1f]\nset yrange [%.1f:-0.5]\nunset xtics\nunset ytics\n",
              (double)window->tokens - 0.5, (double)window->tokens - 0.5);
  if (!canvas->narrow && place == 0) {
    set_tokens(canvas, window, "ytics", "offset 0.6,0", script);
  }
  if (!canvas->narrow && last) {
    set_tokens(canvas, window, "xtics", "rotate by 90 right offset 0,0.3", script);
  }
  if (place == 0) {
    canvas_note(canvas, panel.left, panel.top - 9, "left", window->record->label,
                look_of(source->file, window->record).color, script);
  }
  if (row == 0) {
    char name[80];
    place_name(window, place, canvas->narrow, name, sizeof name);
    canvas_note(canvas, panel.left + layout->side / 2, 12, "center", name, canvas_ink(canvas), script);
  }
  if (!defined) {
    text_printf(script, "set label 'undefined' at graph 0.5,graph 0.5 center textcolor rgb '%s'\nplot NaN\n",
                canvas_ink(canvas));
    return;
  }
  set_corner(canvas, change_at(window, place, head), script);
  text_printf(script, "plot $window%zu using 1:2:3 with image", number);
  text_append(script, "\nunset colorbox\n");
}

/* "3 cat": the tokens of a window as names of rows and columns. */
static int tell_tokens(const struct canvas *canvas, const struct window *window) {
  int names = hover_names(canvas->hover);
  for (size_t t = 0; t < window->tokens; t++) {
    char token[TOKEN_BYTES], name[TOKEN_BYTES + 24];
    token_of(window, t, sizeof token, token);
    bool numbered = !attributes_find(&window->weights->attributes, "tokens");
    snprintf(name, sizeof name, numbered ? "%zu" : "%zu '%s'", t, token);
    hover_name(canvas->hover, name);
  }
  return names;
}

static void tell_place(const struct canvas *canvas, const struct panel *panel, const struct window *window,
                       size_t place, size_t head, int names, double *values) {
  char label[RECORD_NAME + 96], name[80];
  struct hover_axis none = {0, 1, false};
  struct hover_side side = {window->tokens, 0, 1, names};
  for (size_t i = 0; i < window->tokens * window->tokens; i++) {
    values[i] = weight_at(window, place, head, i / window->tokens, i % window->tokens);
  }
  place_name(window, place, true, name, sizeof name);
  snprintf(label, sizeof label, "%s, %s", window->record->label, name);
  hover_panel(canvas->hover, panel->left, panel->top, panel->width, panel->height, none, none);
  hover_grid(canvas->hover, label, ", query {r}, key {c}: {v}", side, side, values);
}

static double largest(const struct window *windows, size_t count, size_t head) {
  double most = 0;
  for (size_t w = 0; w < count; w++) {
    size_t square = windows[w].tokens * windows[w].tokens;
    for (size_t i = 0; i < windows[w].places * square; i++) {
      size_t rest = i % square;
      most = fmax(most, weight_at(&windows[w], i / square, head, rest / windows[w].tokens, rest % windows[w].tokens));
    }
  }
  return most > 0 ? most : 1;
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  struct window windows[MOST_SCHEMES];
  size_t all, first, found = find_windows(source, windows, &all), head = head_shown(&windows[0]);
  size_t count = picture_part(source, PER_PART, found, &first), places = windows[0].places;
  struct layout layout = layout_for(&windows[0], canvas->narrow);
  double most = largest(windows, found, head);
  double *values = memory_new_3d(windows[0].tokens, windows[0].tokens, 1, sizeof *values, "picture", err);
  if (!values) {
    return err->code;
  }
  canvas_begin(canvas, script);
  for (size_t i = 0; i < count * places; i++) {
    append_weights(&windows[first + i / places], i % places, head, i, script);
  }
  text_append(script, "unset tics\nset border 15 lc rgb '" CANVAS_MUTED "' lw 0.5\nset multiplot\n");
  palette_sequential(0, most, script);
  colorbox_at(canvas, canvas->width / 2.0 - 110, canvas->height - BOX + 12, 220, 0, most, script);
  int names = tell_tokens(canvas, &windows[0]);
  for (size_t i = 0; i < count * places; i++) {
    size_t row = i / places, place = i % places;
    struct panel panel = panel_at(&layout, row, place);
    draw_place(canvas, source, &layout, &windows[first + row], row, place, head, row + 1 == count, script);
    tell_place(canvas, &panel, &windows[first + row], place, head, names, values);
  }
  text_append(script, "unset multiplot\n");
  free(values);
  return 0;
}

static size_t count_shown(const struct picture_source *source) {
  struct window windows[MOST_SCHEMES];
  size_t all;
  return find_windows(source, windows, &all);
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  struct window windows[MOST_SCHEMES];
  size_t all, count = find_windows(source, windows, &all), head = head_shown(&windows[0]);
  (void)err;
  text_printf(caption,
              "%zu tokens at four places; queries down, keys to the right; head %zu, which changes most in %s (all "
              "heads are in the file). In the corner: the divergence in nats from the same tokens at positions 0 and "
              "on. One colour scale, by the square root.",
              windows[0].tokens, head, windows[0].record->label);
  picture_say_seed(caption, windows[0].weights);
  picture_say_left_out(caption, count, all);
  text_printf(alternative,
              "Heat maps of the attention of head %zu on the same %zu tokens; divergence from position 0:", head,
              windows[0].tokens);
  for (size_t w = 0; w < count; w++) {
    text_printf(alternative, "%s %s", w ? ";" : "", windows[w].record->label);
    for (size_t p = 0; p < windows[w].places; p++) {
      char name[80];
      place_name(&windows[w], p, true, name, sizeof name);
      double change = change_at(&windows[w], p, head);
      text_printf(alternative, isnan(change) ? " %s undefined" : " %s %.2g", name, change);
    }
  }
  return 0;
}

static int height(const struct picture_source *source, bool narrow) {
  struct window windows[MOST_SCHEMES];
  size_t all, first, count = picture_part(source, PER_PART, find_windows(source, windows, &all), &first);
  struct layout layout = layout_for(&windows[0], narrow);
  return (int)(HEAD + (double)count * layout.row) + (narrow ? 0 : FOOT) + BOX;
}

const struct picture picture_window = {"window", "Same tokens, moved", count_shown, PER_PART, describe, height, draw};
