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
  MOST_SCHEMES = 10,
  MOST_PLACES = 6,
  MOST_TOKENS = 32,
  TOKEN_BYTES = 40,
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

/* All windows of the shape of the first one, the model's before the others. */
static size_t find_windows(const struct picture_source *source, struct window *windows) {
  size_t count = 0;
  for (int models = 1; models >= 0; models--) {
    for (size_t i = 0; i < source->experiment->count && count < MOST_SCHEMES; i++) {
      struct window window;
      const struct record *record = source->experiment->records[i];
      bool wanted = (look_of(source->file, record).role == LOOK_MODEL) == (models == 1);
      if (wanted && read_window(record, &window) &&
          (!count || (window.places == windows[0].places && window.tokens == windows[0].tokens &&
                      window.heads == windows[0].heads))) {
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

/* The larger weights alone, for hover texts: a page need not hold all others a second time. */
static void append_large(const struct window *window, size_t place, size_t head, size_t number, struct text *script) {
  text_printf(script, "$large%zu << END\n", number);
  for (size_t i = 0; i < window->tokens * window->tokens; i++) {
    size_t query = i / window->tokens, key = i % window->tokens;
    double weight = weight_at(window, place, head, query, key);
    if (weight >= 0.1) {
      text_printf(script, "%zu %zu %.3g\n", key, query, weight);
    }
  }
  text_append(script, "END\n");
}

/* Tokens along an axis. */
static void set_tokens(const struct canvas *canvas, const struct window *window, const char *axis, const char *how,
                       struct text *script) {
  text_printf(script, "set %s scale 0 %s textcolor rgb '%s' font ',8' (", axis, how, canvas_ink(canvas));
  for (size_t t = 0; t < window->tokens; t++) {
    char token[TOKEN_BYTES / 4];
    word_of(window->weights, "tokens", '\n', t, token, sizeof token);
    text_append(script, t ? ", " : "");
    gnuplot_quote(script, token + (strncmp(token, word_start, strlen(word_start)) ? 0 : strlen(word_start)));
    text_printf(script, " %zu", t);
  }
  text_append(script, ")\n");
}

/* The divergence in the upper right corner, on a dark ground. */
static void set_corner(const struct canvas *canvas, double change, struct text *script) {
  if (isnan(change)) {
    return;
  }
  double wide = canvas->narrow ? 0.42 : 0.27, high = canvas->narrow ? 0.2 : 0.13;
  text_printf(script,
              "set object rectangle from graph %.3f,graph %.3f to graph 1,graph 1 front fs transparent solid 0.75 "
              "noborder fc rgb '#000000'\n",
              1 - wide, 1 - high);
  text_printf(script, "set label '%.2f' at graph %.3f,graph %.3f right front font ',%d' textcolor rgb '#ffffff'\n",
              change, 0.98, 1 - high / 2, canvas->narrow ? 8 : 11);
}

static void draw_place(const struct canvas *canvas, const struct picture_source *source, const struct layout *layout,
                       const struct window *window, size_t row, size_t place, size_t head, bool last,
                       struct text *script) {
  size_t number = row * window->places + place;
  bool defined = defined_at(window, place, head);
  struct panel panel = {layout->left + (double)place * layout->step, HEAD + (double)row * layout->row + TITLE,
                        layout->side, layout->side};
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
  if (canvas->kind == CANVAS_PAGE && !canvas->narrow) {
    text_printf(script,
                ", $large%zu using 1:2:(sprintf('query %%g, key %%g: %%.2f', $2, $1, $3)) with labels hypertext point "
                "pt 5 ps 0.6 lc rgb '#ff000000'",
                number);
  }
  text_append(script, "\nunset colorbox\n");
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
  size_t count = find_windows(source, windows), head = head_shown(&windows[0]);
  struct layout layout = layout_for(&windows[0], canvas->narrow);
  double most = largest(windows, count, head);
  (void)err;
  canvas_begin(canvas, script);
  for (size_t i = 0; i < count * windows[0].places; i++) {
    append_weights(&windows[i / windows[0].places], i % windows[0].places, head, i, script);
    append_large(&windows[i / windows[0].places], i % windows[0].places, head, i, script);
  }
  text_append(script, "unset tics\nset border 15 lc rgb '" CANVAS_MUTED "' lw 0.5\nset multiplot\n");
  palette_sequential(0, most, script);
  colorbox_at(canvas, canvas->width / 2.0 - 110, canvas->height - BOX + 12, 220, 0, most, script);
  for (size_t i = 0; i < count * windows[0].places; i++) {
    size_t row = i / windows[0].places;
    draw_place(canvas, source, &layout, &windows[row], row, i % windows[0].places, head, row + 1 == count, script);
  }
  text_append(script, "unset multiplot\n");
  return 0;
}

static bool applies(const struct picture_source *source) {
  struct window windows[MOST_SCHEMES];
  return find_windows(source, windows) > 0;
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  struct window windows[MOST_SCHEMES];
  size_t count = find_windows(source, windows), head = head_shown(&windows[0]);
  (void)err;
  text_printf(caption,
              "%zu tokens at four places; queries down, keys to the right; head %zu, which changes most in %s (all "
              "heads are in the file). In the corner: the divergence in nats from the same tokens at positions 0 and "
              "on. One colour scale, by the square root.",
              windows[0].tokens, head, windows[0].record->label);
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
  size_t count = find_windows(source, windows);
  struct layout layout = layout_for(&windows[0], narrow);
  return (int)(HEAD + (double)count * layout.row) + (narrow ? 0 : FOOT) + BOX;
}

const struct picture picture_window = {"window", "Same tokens, moved", applies, describe, height, draw};
