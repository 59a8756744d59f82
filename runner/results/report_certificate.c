/* Picture of the certificate: which rounded stage lets the score drift, and up to which position it can be trusted. */
#include "results/gnuplot.h"
#include "results/report_panels.h"
#include "results/report_pictures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  MOST_SCHEMES = 64,
  PER_PART = 4,
  MOST_FORMATS = 4,
  N_SHOWN = 8,
  /* pixels */
  LEFT = 66,
  TITLE = 24,
  GAP = 12,
  LINE = 17, /* of the legend */
  TICKS = 36
};

/* One stage each, and all of them: each has one colour. Combinations stay in the file. */
static const char *const shown[N_SHOWN] = {"position", "frequency", "angle",        "table",
                                           "product",  "output",    "accumulation", "all"};

struct scheme {
  const struct record *record;
  const struct tensor *drift, *fidelity, *bound; /* [stage, dtype, shift]; bound: of the fidelity, may be NULL */
  const struct tensor *longest, *outcome;        /* [stage, dtype], of the fidelity; may be NULL */
  const struct tensor *spread;                   /* one number, or [seed] */
  double tolerance;
  size_t seeds, stages, formats, shifts;
};

/* Behind an axis of seeds at most. */
static const struct tensor *stages_of(const struct record *record, const char *name, bool by_shift) {
  const struct tensor *tensor = record_find(record, name);
  unsigned rank = by_shift ? 3 : 2;
  unsigned seeds = tensor && tensor->rank && !strcmp(tensor->axis[0].name, "seed") ? 1 : 0;
  const struct axis *axes = tensor ? tensor->axis + seeds : NULL;
  bool fits = tensor && tensor->rank == rank + seeds && !strcmp(axes[0].name, "stage") &&
              !strcmp(axes[1].name, "dtype") && (!by_shift || !strcmp(axes[2].name, "shift"));
  return fits ? tensor : NULL;
}

static double spread_at(const struct scheme *scheme, size_t seed) {
  return tensor_value(scheme->spread, seed < scheme->spread->count ? seed : 0);
}

static bool read_scheme(const struct record *record, struct scheme *scheme) {
  *scheme = (struct scheme){.record = record};
  if (!is_scheme_record(record)) {
    return false;
  }
  scheme->spread = record_find(record, "certificate_spread");
  scheme->drift = stages_of(record, "drift_rms", true);
  scheme->fidelity = stages_of(record, "fidelity_rms", true);
  scheme->bound = stages_of(record, "fidelity_bound_rms", true);
  scheme->longest = stages_of(record, "fidelity_longest_position", false);
  scheme->outcome = stages_of(record, "fidelity_outcome", false);
  if (!scheme->spread || !scheme->spread->count || !scheme->drift || !scheme->fidelity ||
      !tensor_axis(scheme->drift, "shift")->values) {
    return false;
  }
  const struct attribute *tolerance = attributes_find(&scheme->drift->attributes, "tolerance");
  scheme->tolerance = tolerance && tolerance->kind == ATTRIBUTE_REAL ? tolerance->real : NAN;
  scheme->stages = tensor_axis(scheme->drift, "stage")->length;
  scheme->formats = tensor_axis(scheme->drift, "dtype")->length;
  scheme->shifts = tensor_axis(scheme->drift, "shift")->length;
  scheme->seeds = tensor_axis(scheme->drift, "seed") ? tensor_axis(scheme->drift, "seed")->length : 1;
  return spread_at(scheme, 0) > 0 && scheme->formats <= MOST_FORMATS && scheme->fidelity->count == scheme->drift->count;
}

/* Word `index` of a list of words; its number where there is none. */
static void name_of(const struct tensor *tensor, const char *attribute_name, size_t index, char *out, size_t size) {
  const struct attribute *attribute = attributes_find(&tensor->attributes, attribute_name);
  const char *word = attribute && attribute->kind == ATTRIBUTE_TEXT ? attribute->text : NULL;
  for (size_t i = 0; word && i < index; i++) {
    word = strchr(word, ' ');
    word = word ? word + 1 : NULL;
  }
  if (word) {
    snprintf(out, size, "%.*s", (int)strcspn(word, " "), word);
  } else {
    snprintf(out, size, "%zu", index);
  }
}

/* Place of a stage on the axis; its length where it is not there. */
static size_t stage_place(const struct scheme *scheme, const char *stage) {
  size_t i = 0;
  char name[RECORD_NAME];
  for (; i < scheme->stages; i++) {
    name_of(scheme->drift, "stage_names", i, name, sizeof name);
    if (!strcmp(name, stage)) {
      break;
    }
  }
  return i;
}

/* There is a number for all stages together. */
static bool all_measured(const struct scheme *scheme) {
  size_t stage = stage_place(scheme, "all"), size = scheme->formats * scheme->shifts;
  for (size_t i = 0; stage < scheme->stages && i < size; i++) {
    if (isfinite(tensor_value(scheme->fidelity, stage * size + i))) {
      return true;
    }
  }
  return false;
}

static size_t find_schemes(const struct picture_source *source, struct scheme *schemes, size_t *all) {
  size_t count = 0;
  *all = 0;
  for (int whole = 1; whole >= 0; whole--) { /* first those of which every stage can be rounded */
    for (size_t i = 0; i < source->experiment->count; i++) {
      struct scheme scheme;
      bool control = look_of(source->file, source->experiment->records[i]).role == LOOK_CONTROL;
      if (control || !read_scheme(source->experiment->records[i], &scheme) || all_measured(&scheme) != (whole == 1)) {
        continue;
      }
      ++*all;
      if (count < MOST_SCHEMES && (!count || scheme.formats == schemes[0].formats)) {
        schemes[count++] = scheme;
      }
    }
  }
  return count;
}

/* As a share of the spread of the scores; mean over seeds. */
static double error_at(const struct scheme *scheme, const struct tensor *tensor, size_t stage, size_t format,
                       size_t shift) {
  double sum = 0;
  size_t n = 0, seeds = tensor_axis(tensor, "seed") ? scheme->seeds : 1;
  for (size_t seed = 0; seed < seeds; seed++) {
    size_t place = ((seed * scheme->stages + stage) * scheme->formats + format) * scheme->shifts + shift;
    double share = tensor_value(tensor, place) / spread_at(scheme, seed);
    sum += isfinite(share) ? share : 0;
    n += isfinite(share) ? 1 : 0;
  }
  return n ? sum / (double)n : NAN;
}

/* Where the outcome of a stage stands, of the seed that leaves the tolerance first. */
static size_t outcome_place(const struct scheme *scheme, size_t stage, size_t format) {
  size_t size = scheme->stages * scheme->formats, worst = stage * scheme->formats + format;
  for (size_t i = worst + size; i < scheme->longest->count; i += size) {
    double longest = tensor_value(scheme->longest, i), least = tensor_value(scheme->longest, worst);
    worst = !isnan(least) && (isnan(longest) || longest < least) ? i : worst;
  }
  return worst;
}

/* The last position within the tolerance; NaN: none. */
static double longest_at(const struct scheme *scheme, size_t stage, size_t format) {
  return tensor_value(scheme->longest, outcome_place(scheme, stage, format));
}

struct layout {
  int across;
  double step, width, tall, block;
  int lines; /* of panels */
};

static struct layout layout_for(const struct scheme *schemes, size_t count, bool narrow) {
  struct layout layout = {.across = narrow ? 2 : (int)schemes[0].formats, .tall = narrow ? 120 : 150};
  layout.step = (picture_width(narrow) - LEFT - 8.0) / (layout.across < 2 ? 2 : layout.across);
  layout.width = layout.step - GAP;
  layout.block = TITLE + layout.tall + TICKS;
  layout.lines = (int)count * (((int)schemes[0].formats + layout.across - 1) / layout.across);
  return layout;
}

static int legend_height(bool narrow) {
  return LINE * (narrow ? 5 : 4) + 28;
}

/* Smallest and largest positive number that is drawn. */
static void error_range(const struct scheme *schemes, size_t count, double *low, double *high) {
  *low = INFINITY;
  *high = 0;
  for (size_t s = 0; s < count; s++) {
    const struct tensor *drawn[] = {schemes[s].drift, schemes[s].fidelity, schemes[s].bound};
    for (size_t t = 0; t < 3; t++) {
      for (size_t i = 0; drawn[t] && i < drawn[t]->count; i++) {
        double value = tensor_value(drawn[t], i) / spread_at(&schemes[s], i / (drawn[t]->count / schemes[s].seeds));
        *low = value > 0 && isfinite(value) ? fmin(*low, value) : *low;
        *high = value > 0 && isfinite(value) ? fmax(*high, value) : *high;
      }
    }
    *high = isnan(schemes[s].tolerance) ? *high : fmax(*high, schemes[s].tolerance);
  }
  *high = fmin(*high, 1e3);
  *low = fmax(*low, 1e-18);
}

/* $s<scheme>f<format>k<stage>: shift, fidelity, drift, bound. */
static void append_data(const struct scheme *schemes, size_t count, struct text *script) {
  for (size_t s = 0; s < count; s++) {
    const struct scheme *scheme = &schemes[s];
    for (size_t f = 0; f < scheme->formats; f++) {
      for (size_t k = 0; k < N_SHOWN; k++) {
        size_t stage = stage_place(scheme, shown[k]);
        if (stage == scheme->stages) {
          continue;
        }
        text_printf(script, "$s%zuf%zuk%zu << END\n", s, f, k);
        for (size_t i = 0; i < scheme->shifts; i++) {
          double shift = tensor_axis(scheme->drift, "shift")->values[i];
          if (shift > 0) {
            text_printf(script, "%.9g ", shift);
            gnuplot_number(script, error_at(scheme, scheme->fidelity, stage, f, i));
            text_append(script, " ");
            gnuplot_number(script, error_at(scheme, scheme->drift, stage, f, i));
            text_append(script, " ");
            gnuplot_number(script, scheme->bound ? error_at(scheme, scheme->bound, stage, f, i) : NAN);
            text_append(script, "\n");
          }
        }
        text_append(script, "END\n");
      }
    }
  }
}

/* "17k": a position in few letters. */
static void short_number(double value, char *out, size_t size) {
  static const char *const suffixes[] = {"", "k", "M"};
  size_t step = 0;
  while (value >= 9999.5 && step < 2) {
    value /= 1000;
    step++;
  }
  snprintf(out, size, "%.0f%s", value, suffixes[step]);
}

/* The outcome of a stage in words; false where there is none. */
static bool outcome_text(const struct scheme *scheme, size_t stage, size_t format, double longest, char *out,
                         size_t size) {
  char word[RECORD_NAME], number[16];
  size_t value = (size_t)tensor_value(scheme->outcome, outcome_place(scheme, stage, format));
  name_of(scheme->outcome, "flag_meanings", value, word, sizeof word);
  if (!strcmp(word, "not_measured")) {
    return false;
  }
  if (!strcmp(word, "limited_by_position") && longest >= 1) {
    short_number(longest, number, sizeof number);
    snprintf(out, size, "within up to %s", number);
    return true;
  }
  for (char *c = word; *c; c++) {
    *c = *c == '_' ? ' ' : *c;
  }
  snprintf(out, size, "%s", word);
  return true;
}

/* The tolerance, and on it the last position up to which all stages together stay within. */
static void mark_tolerance(const struct canvas *canvas, const struct scheme *scheme, size_t format, double last,
                           struct text *script) {
  if (isnan(scheme->tolerance)) {
    return;
  }
  const char *ink = canvas_ink(canvas);
  text_printf(script,
              "set arrow from graph 0,first %.6g to graph 1,first %.6g nohead front lc rgb '" CANVAS_MUTED "' lw 2\n",
              scheme->tolerance, scheme->tolerance);
  size_t all = stage_place(scheme, "all");
  if (!scheme->longest || !scheme->outcome || all == scheme->stages) {
    return;
  }
  double longest = longest_at(scheme, all, format);
  char text[2 * RECORD_NAME];
  if (!outcome_text(scheme, all, format, longest, text, sizeof text)) {
    return;
  }
  if (longest >= 1 && longest < last) {
    text_printf(script, "set label '' at %.9g,%.6g point pt 9 ps 1.1 lc rgb '%s' front\n", longest, scheme->tolerance,
                ink);
  }
  /* Where the curves leave room: at the upper left, or in two lines at the right. */
  bool within = longest >= 1;
  const char *second = within ? NULL : strstr(text, " by ");
  const char *lines[] = {text, second ? second + 1 : ""};
  for (int i = 0; i < (second ? 2 : 1); i++) {
    char label[3 * RECORD_NAME];
    int length = (int)(i || !second ? strlen(lines[i]) : (size_t)(second - text));
    snprintf(label, sizeof label, "%s%.*s", canvas->narrow || i ? "" : "all: ", length, lines[i]);
    text_append(script, "set label ");
    gnuplot_quote(script, label);
    text_printf(script, " at graph %g,graph %g %s front font ',%d' textcolor rgb '%s'\n", within ? 0.03 : 0.97,
                (within ? 0.93 : 0.34) - 0.09 * i, within ? "left" : "right", canvas->narrow ? 8 : 9, ink);
  }
}

/* All stages together stand out: in the colour of the text. */
static const char *stage_color(const struct canvas *canvas, size_t k) {
  return k == N_SHOWN - 1 ? canvas_ink(canvas) : canvas_color(k);
}

static void plot_stages(const struct canvas *canvas, const struct scheme *scheme, size_t s, size_t format,
                        struct text *script) {
  bool first = true;
  for (size_t k = 0; k < N_SHOWN; k++) {
    if (stage_place(scheme, shown[k]) == scheme->stages) {
      continue;
    }
    const char *color = stage_color(canvas, k);
    text_printf(script, "%s$s%zuf%zuk%zu using 1:4 with lines lw 1 dt 2 lc rgb '%s', ", first ? "plot " : ", ", s,
                format, k, color);
    text_printf(script, "'' using 1:3 with lines lw 0.8 lc rgb '%s', '' using 1:2 with lines lw 2.5 lc rgb '%s'", color,
                color);
    first = false;
  }
  text_append(script, first ? "plot NaN\n" : "\n");
}

/* Fidelity, drift and bound of every stage, as they are told; a zero, which has no place on the axis, at `low`. */
static void tell_stages(const struct canvas *canvas, const struct scheme *scheme, size_t format, const char *dtype,
                        double low) {
  const double *shifts = tensor_axis(scheme->drift, "shift")->values;
  const struct tensor *told[] = {scheme->fidelity, scheme->drift, scheme->bound};
  static const char *const names[] = {"fidelity", "drift", "bound of the fidelity"};
  for (size_t k = 0; k < N_SHOWN; k++) {
    size_t stage = stage_place(scheme, shown[k]);
    for (size_t t = 0; t < 3 && told[t] && stage < scheme->stages; t++) {
      char label[3 * RECORD_NAME];
      snprintf(label, sizeof label, "%s, %s in %s, %s", scheme->record->label, shown[k], dtype, names[t]);
      hover_curve(canvas->hover, label, " at shift {x}: {v} of the spread", HOVER_POINTS);
      for (size_t i = 0; i < scheme->shifts; i++) {
        double error = error_at(scheme, told[t], stage, format, i);
        hover_point(canvas->hover, shifts[i] > 0 ? shifts[i] : NAN, fmax(error, low), error);
      }
    }
  }
}

static void draw_panel(const struct canvas *canvas, const struct scheme *scheme, size_t s, size_t format,
                       const struct panel *panel, const char *color, bool first, double low, double high,
                       struct text *script) {
  char name[RECORD_NAME], title[3 * RECORD_NAME];
  const double *shifts = tensor_axis(scheme->drift, "shift")->values;
  double from = 1, to = fmax(shifts[scheme->shifts - 1], 10);
  name_of(scheme->drift, "dtype_names", format, name, sizeof name);
  snprintf(title, sizeof title, "%s, %s", scheme->record->label, name);
  panel_begin(canvas, panel, title, color, script);
  text_printf(script, "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n", from, to, low / 2, high * 2);
  text_printf(script,
              "set xtics scale 0.5 offset 0,0.4 textcolor rgb '%s' font ',%d' (%s'100' 100, '10k' 1e4, '1M' 1e6)\n",
              canvas_ink(canvas), canvas->narrow ? 8 : 10, first ? "'1' 1, " : "");
  if (first) {
    text_printf(script, "set ytics 1000 scale 0.5 offset 0.4,0 textcolor rgb '%s' font ',%d'\nset format y '%%.0e'\n",
                canvas_ink(canvas), canvas->narrow ? 8 : 10);
  } else {
    text_append(script, "unset ytics\n");
  }
  mark_tolerance(canvas, scheme, format, to, script);
  plot_stages(canvas, scheme, s, format, script);
  hover_panel(canvas->hover, panel->left, panel->top, panel->width, panel->height, (struct hover_axis){from, to, true},
              (struct hover_axis){low / 2, high * 2, true});
  tell_stages(canvas, scheme, format, name, low / 2);
}

/* Two rows of names in their colours, and what the kinds of lines are. */
static void draw_legend(const struct canvas *canvas, double top, struct text *script) {
  int across = canvas->narrow ? 3 : 4;
  double step = (canvas->width - 20.0) / across;
  for (size_t k = 0; k < N_SHOWN; k++) {
    double x = 14 + (double)((int)k % across) * step, y = top + (double)((int)k / across) * LINE;
    text_printf(script, "set arrow from screen %.4f,screen %.4f to screen %.4f,screen %.4f nohead lw 3 lc rgb '%s'\n",
                x / canvas->width, 1 - y / canvas->height, (x + 18) / canvas->width, 1 - y / canvas->height,
                stage_color(canvas, k));
    canvas_note(canvas, x + 24, y, "left", shown[k], stage_color(canvas, k), script);
  }
  double y = top + (canvas->narrow ? 3 : 2) * LINE;
  const char *thick = canvas->narrow ? "thick: fidelity; thin: drift"
                                     : "thick: fidelity, against the float64 score; thin: drift, against shift 0 of "
                                       "the same arithmetic";
  const char *dashed = canvas->narrow ? "dashed: bound; grey: tolerance"
                                      : "dashed: bound of the fidelity; grey line: tolerance, the triangle on it the "
                                        "longest position within";
  canvas_note(canvas, 14, y + 2, "left", thick, canvas_ink(canvas), script);
  canvas_note(canvas, 14, y + 2 + LINE, "left", dashed, canvas_ink(canvas), script);
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  struct scheme schemes[MOST_SCHEMES];
  size_t all, first, found = find_schemes(source, schemes, &all);
  size_t count = picture_part(source, PER_PART, found, &first);
  struct layout layout = layout_for(schemes, count, canvas->narrow);
  double low, high;
  (void)err;
  error_range(schemes, found, &low, &high);
  canvas_begin(canvas, script);
  append_data(schemes + first, count, script);
  text_append(script, "unset tics\nset border 15 lc rgb '" CANVAS_MUTED "' lw 0.5\nset multiplot\n"
                      "set logscale xy 10\nset mxtics 1\nset mytics 1\n");
  int line = 0;
  for (size_t s = 0; s < count; s++) {
    const struct scheme *scheme = &schemes[first + s];
    const char *color = look_of(source->file, scheme->record).color;
    for (size_t f = 0; f < scheme->formats; f++) {
      int place = (int)f % layout.across;
      line += f && !place;
      struct panel panel = {LEFT + place * layout.step, line * layout.block + TITLE, layout.width, layout.tall};
      draw_panel(canvas, scheme, s, f, &panel, color, place == 0, low, high, script);
    }
    line++;
  }
  struct panel whole = {0, 0, canvas->width, canvas->height};
  panel_begin(canvas, &whole, NULL, NULL, script);
  text_append(script, "unset logscale\nunset tics\nunset border\nset xrange [0:1]\nset yrange [0:1]\n");
  text_printf(script,
              "set label 'error / spread of the scores' at screen %.4f,screen 0.6 center rotate by 90 font "
              "',11' textcolor rgb '%s'\n",
              9.0 / canvas->width, canvas_ink(canvas));
  double bottom = layout.lines * layout.block;
  canvas_note(canvas, LEFT + (canvas->width - LEFT) / 2.0, bottom - 4, "center", "shift of all positions",
              canvas_ink(canvas), script);
  draw_legend(canvas, bottom + 20, script);
  text_append(script, "plot NaN\nunset multiplot\n");
  return 0;
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
  text_append(caption, "One stage of the arithmetic is rounded to a format, all others are float64: how far is the "
                       "score off when all positions move (rms, as a share of the spread of the scores)?");
  if (!isnan(schemes[0].tolerance)) {
    text_printf(caption,
                " Grey line: the tolerance of %g; the triangle on it is the last position up to which all stages "
                "together stay within.",
                schemes[0].tolerance);
  }
  text_append(caption, " A curve ends where its scheme is undefined or the format has no number.");
  if (schemes[0].seeds > 1) {
    text_printf(caption, " Errors are means over %zu seeds; the longest position is the least of them.",
                schemes[0].seeds);
  }
  picture_say_left_out(caption, count, all);
  text_append(alternative, "Error of the score against the shift of all positions. All stages rounded, longest "
                           "position within the tolerance:");
  for (size_t s = 0; s < count; s++) {
    size_t place = stage_place(&schemes[s], "all");
    for (size_t f = 0; schemes[s].longest && place < schemes[s].stages && f < schemes[s].formats; f++) {
      char name[RECORD_NAME];
      double longest = longest_at(&schemes[s], place, f);
      name_of(schemes[s].drift, "dtype_names", f, name, sizeof name);
      text_printf(alternative, isnan(longest) ? "%s %s %s none" : "%s %s %s %.0f", s || f ? ";" : "",
                  schemes[s].record->label, name, longest);
    }
  }
  return 0;
}

static int height(const struct picture_source *source, bool narrow) {
  struct scheme schemes[MOST_SCHEMES];
  size_t all, first, count = picture_part(source, PER_PART, find_schemes(source, schemes, &all), &first);
  struct layout layout = layout_for(schemes, count, narrow);
  return (int)(layout.lines * layout.block) + legend_height(narrow);
}

const struct picture picture_certificate = {
    "certificate", "Error against position", count_shown, PER_PART, describe, height, draw};
