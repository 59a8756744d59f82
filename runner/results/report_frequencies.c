/* Picture of what frequencies have not seen in training, and what scaling costs. */
#include "results/gnuplot.h"
#include "results/report_panels.h"
#include "results/report_pictures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  MOST_SCHEMES = 64,
  PER_PART = 8,
  MOST_FREQUENCIES = 32,
  /* pixels */
  LEFT = 66,
  TITLE = 26,
  GAP = 12,
  TICKS = 30,
  RESOLUTION = 54,
  BOX = 56
};

struct scheme {
  const struct record *record;
  const struct tensor *unseen;            /* [frequency, length], 0 to 1 */
  const struct tensor *wavelength;        /* [frequency, length] or [frequency] */
  const struct tensor *near, *near_plain; /* [length] neighbour resolution, and unscaled; may be NULL */
  const struct axis *length;
  double train_length;
};

/* A tensor with these last axes, behind an axis of seeds at most: indices from the start then mean the first seed. */
static const struct tensor *along(const struct record *record, const char *first, const char *last, const char *name) {
  const struct tensor *tensor = record_find(record, name);
  unsigned rank = last ? 2 : 1;
  unsigned seeds = tensor && tensor->rank && !strcmp(tensor->axis[0].name, "seed") ? 1 : 0;
  bool fits = tensor && tensor->rank == rank + seeds && !strcmp(tensor->axis[seeds].name, first) &&
              (!last || !strcmp(tensor->axis[seeds + 1].name, last));
  return fits ? tensor : NULL;
}

static size_t find_schemes(const struct picture_source *source, struct scheme *schemes, size_t *all) {
  size_t count = 0;
  *all = 0;
  for (size_t i = 0; i < source->experiment->count; i++) {
    const struct record *record = source->experiment->records[i];
    if (!is_scheme_record(record)) {
      continue;
    }
    struct scheme scheme = {.record = record,
                            .unseen = along(record, "frequency", "length", "unseen_share"),
                            .wavelength = along(record, "frequency", "length", "wavelength"),
                            .near = along(record, "length", NULL, "neighbour_resolution"),
                            .near_plain = along(record, "length", NULL, "neighbour_resolution_unscaled"),
                            .train_length = record_number(record, "train_length")};
    scheme.wavelength = scheme.wavelength ? scheme.wavelength : along(record, "frequency", NULL, "wavelength");
    scheme.length = scheme.unseen ? tensor_axis(scheme.unseen, "length") : NULL;
    bool fits =
        scheme.unseen && scheme.unseen->count && scheme.wavelength && scheme.length->values && scheme.train_length > 0;
    *all += fits;
    if (fits && count < MOST_SCHEMES) {
      schemes[count++] = scheme;
    }
  }
  return count;
}

static double wavelength_at(const struct scheme *scheme, size_t frequency, size_t length) {
  size_t place = tensor_axis(scheme->wavelength, "length") ? frequency * scheme->length->length + length : frequency;
  return tensor_value(scheme->wavelength, place);
}

/* Of all wavelengths; low > high where there is none. */
static void wavelength_range(const struct scheme *schemes, size_t count, double *low, double *high) {
  *low = INFINITY;
  *high = 0;
  for (size_t s = 0; s < count; s++) {
    for (size_t i = 0; i < schemes[s].wavelength->count; i++) {
      double value = tensor_value(schemes[s].wavelength, i);
      if (isfinite(value) && value > 0) {
        *low = fmin(*low, value);
        *high = fmax(*high, value);
      }
    }
  }
}

/* Half a step on the logarithmic axis of lengths, to one side. */
static double edge(const struct scheme *scheme, size_t i, bool upper) {
  const double *x = scheme->length->values;
  size_t n = scheme->length->length;
  if (n < 2) {
    return upper ? M_SQRT2 * x[i] : x[i] / M_SQRT2;
  }
  if (upper) {
    return i + 1 < n ? sqrt(x[i] * x[i + 1]) : x[i] * sqrt(x[i] / x[i - 1]);
  }
  return i ? sqrt(x[i] * x[i - 1]) : x[i] / sqrt(x[1] / x[0]);
}

/* One rectangle per frequency and length; every n-th frequency where they are many. */
static void append_cells(const struct scheme *scheme, size_t number, struct text *script) {
  size_t frequencies = tensor_axis(scheme->unseen, "frequency")->length, lengths = scheme->length->length;
  size_t every = (frequencies + MOST_FREQUENCIES - 1) / MOST_FREQUENCIES;
  size_t shown = (frequencies + every - 1) / every;
  text_printf(script, "$cells%zu << END\n", number);
  for (size_t l = 0; l < lengths; l++) {
    double low, high;
    wavelength_range(scheme, 1, &low, &high);
    double half = shown > 1 && high > low ? sqrt(pow(high / low, 1 / ((double)shown - 1))) : M_SQRT2;
    for (size_t f = 0; f < frequencies; f += every) {
      double wave = wavelength_at(scheme, f, l), unseen = tensor_value(scheme->unseen, f * lengths + l);
      double before = f >= every ? wavelength_at(scheme, f - every, l) : NAN;
      double after = f + every < frequencies ? wavelength_at(scheme, f + every, l) : NAN;
      if (isfinite(wave) && wave > 0 && isfinite(unseen)) {
        double left = edge(scheme, l, false) / scheme->train_length;
        double right = edge(scheme, l, true) / scheme->train_length;
        /* To the middle between neighbours, which stand in the order of their wavelengths. */
        double bottom = before > 0 && before < wave ? sqrt(before * wave) : wave / half;
        double top = after > wave ? sqrt(after * wave) : wave * half;
        text_printf(script, "%.6g %.6g %.6g %.6g %.6g %.6g %.6g\n", scheme->length->values[l] / scheme->train_length,
                    wave, left, right, bottom, top, unseen);
      }
    }
  }
  text_append(script, "END\n");
  text_printf(script, "$near%zu << END\n", number);
  for (size_t l = 0; scheme->near && scheme->near_plain && l < lengths; l++) {
    text_printf(script, "%.6g ", scheme->length->values[l] / scheme->train_length);
    gnuplot_number(script, tensor_value(scheme->near, l) / tensor_value(scheme->near_plain, l));
    text_append(script, "\n");
  }
  text_append(script, "END\n");
}

struct layout {
  int across, down;
  double step, width, tall, block;
};

static struct layout layout_for(size_t count, bool narrow) {
  struct layout layout = {.across = narrow ? 2 : 4, .tall = narrow ? 120 : 150};
  layout.across = (int)count < layout.across ? (int)count : layout.across;
  layout.down = ((int)count + layout.across - 1) / layout.across;
  layout.step = (picture_width(narrow) - LEFT - 8.0) / (layout.across < 2 ? 2 : layout.across);
  layout.width = layout.step - GAP;
  layout.block = TITLE + layout.tall + GAP + RESOLUTION + TICKS;
  return layout;
}

static struct hover_axis length_axis(const struct scheme *scheme) {
  return (struct hover_axis){edge(scheme, 0, false) / scheme->train_length,
                             edge(scheme, scheme->length->length - 1, true) / scheme->train_length, true};
}

static void set_length_axis(const struct canvas *canvas, const struct scheme *scheme, bool ticks, struct text *script) {
  double low = length_axis(scheme).from, high = length_axis(scheme).to;
  text_printf(script, "set logscale x 2\nset xrange [%.6g:%.6g]\nunset xtics\n", low, high);
  if (!ticks) {
    return;
  }
  text_printf(script, "set xtics scale 0.5 offset 0,0.5 textcolor rgb '%s' font ',%d' (", canvas_ink(canvas),
              canvas->narrow ? 8 : 10);
  bool first = true;
  for (int power = (int)ceil(log2(low)); power <= (int)floor(log2(high)); power++) {
    double value = ldexp(1, power);
    text_append(script, first ? "" : ", ");
    text_printf(script, power < 0 ? "'1/%.0f' %.6g" : "'%.0f' %.6g", power < 0 ? 1 / value : value, value);
    first = false;
  }
  text_append(script, ")\n");
}

/* The cells as they are told; the first frequency of a block stands for it, as it does in the picture. */
static void tell_cells(const struct canvas *canvas, const struct scheme *scheme, const struct panel *panel, double low,
                       double high) {
  size_t frequencies = tensor_axis(scheme->unseen, "frequency")->length, lengths = scheme->length->length;
  size_t every = (frequencies + MOST_FREQUENCIES - 1) / MOST_FREQUENCIES;
  hover_panel(canvas->hover, panel->left, panel->top, panel->width, panel->height, length_axis(scheme),
              (struct hover_axis){low / 1.2, high * 1.2, true});
  hover_curve(canvas->hover, scheme->record->label, ", length {x} L, wavelength {y}: unseen share {v}", HOVER_CELLS);
  for (size_t l = 0; l < lengths; l++) {
    for (size_t f = 0; f < frequencies; f += every) {
      double wave = wavelength_at(scheme, f, l);
      hover_point(canvas->hover, scheme->length->values[l] / scheme->train_length, wave > 0 ? wave : NAN,
                  tensor_value(scheme->unseen, f * lengths + l));
    }
  }
}

static void draw_cells(const struct canvas *canvas, const struct scheme *scheme, const struct panel *panel,
                       const char *color, size_t number, bool first, double low, double high, struct text *script) {
  panel_begin(canvas, panel, scheme->record->label, color, script);
  set_length_axis(canvas, scheme, false, script);
  text_printf(script, "set logscale y 10\nset yrange [%.6g:%.6g]\n", low / 1.2, high * 1.2);
  if (first) {
    text_printf(script,
                "set ytics scale 0.5 offset 0.4,0 textcolor rgb '%s' font ',10' ('1' 1, '10' 10, '100' 100, '1k' 1e3, "
                "'10k' 1e4, '100k' 1e5, '1M' 1e6, '10M' 1e7)\n",
                canvas_ink(canvas));
  } else {
    text_append(script, "unset ytics\n");
  }
  const char *ink = "#505050"; /* seen on light cells and on a dark page */
  text_printf(script, "set arrow from 1,graph 0 to 1,graph 1 nohead front lc rgb '%s' lw 1 dt 2\n", ink);
  text_printf(script, "set arrow from graph 0,first %.6g to graph 1,first %.6g nohead front lc rgb '%s' lw 1 dt 2\n",
              scheme->train_length, scheme->train_length, ink);
  text_printf(script, "plot $cells%zu using 1:2:3:4:5:6:7 with boxxyerror fs solid noborder lc palette", number);
  text_append(script, "\nunset colorbox\n");
  tell_cells(canvas, scheme, panel, low, high);
}

static void draw_near(const struct canvas *canvas, const struct scheme *scheme, const struct panel *panel,
                      const char *color, size_t number, bool first, struct text *script) {
  panel_begin(canvas, panel, NULL, NULL, script);
  set_length_axis(canvas, scheme, true, script);
  text_append(script, "unset logscale y\nset yrange [0:1.25]\nset format y '%g'\n");
  if (first) {
    text_printf(script, "set ytics (0, 1) scale 0.5 offset 0.4,0 textcolor rgb '%s' font ',10'\n", canvas_ink(canvas));
  } else {
    text_append(script, "unset ytics\n");
  }
  text_printf(script, "set arrow from graph 0,first 1 to graph 1,first 1 nohead lc rgb '" CANVAS_MUTED "' dt 3\n");
  if (!scheme->near || !scheme->near_plain) {
    text_append(script, "plot NaN\n");
    return;
  }
  text_printf(script, "plot $near%zu using 1:2 with linespoints lw 2 pt 7 ps 0.4 lc rgb '%s'", number, color);
  text_append(script, "\n");
  hover_panel(canvas->hover, panel->left, panel->top, panel->width, panel->height, length_axis(scheme),
              (struct hover_axis){0, 1.25, false});
  hover_curve(canvas->hover, scheme->record->label, ", length {x} L: {v} of the plain resolution", HOVER_CELLS);
  for (size_t l = 0; l < scheme->length->length; l++) {
    double share = tensor_value(scheme->near, l) / tensor_value(scheme->near_plain, l);
    hover_point(canvas->hover, scheme->length->values[l] / scheme->train_length, share, share);
  }
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  struct scheme schemes[MOST_SCHEMES];
  size_t all, first, drawn = find_schemes(source, schemes, &all), count = picture_part(source, PER_PART, drawn, &first);
  struct layout layout = layout_for(count, canvas->narrow);
  const char *ink = canvas_ink(canvas);
  double low, high;
  (void)err;
  wavelength_range(schemes, drawn, &low, &high);
  canvas_begin(canvas, script);
  for (size_t i = 0; i < count; i++) {
    append_cells(&schemes[first + i], i, script);
  }
  text_append(script, "unset tics\nset border 15 lc rgb '" CANVAS_MUTED "' lw 0.5\nset multiplot\n");
  text_append(script, "set palette defined (0 '#dfe7ee', 0.5 '#f0a35e', 1 '#8c2d04')\nset cbrange [0:1]\n");
  colorbox_at(canvas, canvas->width / 2.0 - 60, canvas->height - BOX + 30, 220, 0, 1, script);
  for (size_t i = 0; i < count; i++) {
    const struct scheme *scheme = &schemes[first + i];
    const char *color = look_of(source->file, scheme->record).color;
    int line = (int)i / layout.across, place = (int)i % layout.across;
    struct panel panel = {LEFT + place * layout.step, line * layout.block + TITLE, layout.width, layout.tall};
    draw_cells(canvas, scheme, &panel, color, i, place == 0, low, high, script);
    panel.top += layout.tall + GAP;
    panel.height = RESOLUTION;
    draw_near(canvas, scheme, &panel, color, i, place == 0, script);
  }
  struct panel whole = {0, 0, canvas->width, canvas->height};
  panel_begin(canvas, &whole, NULL, NULL, script);
  text_append(script, "unset logscale\nunset tics\nunset border\nset xrange [0:1]\nset yrange [0:1]\n");
  for (int line = 0; line < layout.down; line++) {
    double top = line * layout.block + TITLE;
    text_printf(script,
                "set label 'wavelength' at screen %.4f,screen %.4f center rotate by 90 font ',11' textcolor rgb "
                "'%s'\n",
                10.0 / canvas->width, 1 - (top + layout.tall / 2) / canvas->height, ink);
    text_printf(script,
                "set label 'resolution' at screen %.4f,screen %.4f center rotate by 90 font ',%d' textcolor "
                "rgb '%s'\n",
                10.0 / canvas->width, 1 - (top + layout.tall + GAP + RESOLUTION / 2.0) / canvas->height,
                canvas->narrow ? 9 : 10, ink);
  }
  canvas_note(canvas, LEFT + (canvas->width - LEFT) / 2.0, canvas->height - BOX + 8, "center",
              "length / training length", ink, script);
  canvas_note(canvas, canvas->width / 2.0 - 70, canvas->height - BOX + 34, "right", "unseen share", ink, script);
  text_append(script, "plot NaN\nunset multiplot\n");
  return 0;
}

static size_t count_shown(const struct picture_source *source) {
  struct scheme schemes[MOST_SCHEMES];
  double low, high;
  size_t all, count = find_schemes(source, schemes, &all);
  wavelength_range(schemes, count, &low, &high);
  return low <= high ? count : 0;
}

/* The largest share at the longest length. */
static double worst(const struct scheme *scheme) {
  size_t lengths = scheme->length->length;
  double most = NAN;
  for (size_t f = 0; f < tensor_axis(scheme->unseen, "frequency")->length; f++) {
    most = fmax(most, tensor_value(scheme->unseen, f * lengths + lengths - 1));
  }
  return most;
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  struct scheme schemes[MOST_SCHEMES];
  size_t all, count = find_schemes(source, schemes, &all);
  (void)err;
  text_append(caption, "Of the angles that a frequency takes up to a length, the share that training never showed. "
                       "Dashed: the training length L, as length and as wavelength: slower frequencies do not turn "
                       "once within L. No colour: no frequency has that wavelength. Under each, what scaling costs: "
                       "how well neighbours are told apart, relative to "
                       "the same scheme unscaled (1).");
  for (size_t i = 0; i < count; i++) {
    if (tensor_axis(schemes[i].unseen, "frequency")->length > MOST_FREQUENCIES) {
      text_printf(caption, " Of many frequencies, about %d are drawn.", MOST_FREQUENCIES);
      break;
    }
  }
  picture_say_seed(caption, schemes[0].unseen);
  picture_say_left_out(caption, count, all);
  text_append(alternative, "Unseen share by wavelength and length. The largest share at the longest length:");
  for (size_t i = 0; i < count; i++) {
    text_printf(alternative, "%s %s %.2g", i ? ";" : "", schemes[i].record->label, worst(&schemes[i]));
    const struct scheme *scheme = &schemes[i];
    size_t last = scheme->length->length - 1;
    if (scheme->near && scheme->near_plain) {
      text_printf(alternative, " (resolution %.2g of plain)",
                  tensor_value(scheme->near, last) / tensor_value(scheme->near_plain, last));
    }
  }
  return 0;
}

static int height(const struct picture_source *source, bool narrow) {
  struct scheme schemes[MOST_SCHEMES];
  size_t all, first;
  struct layout layout =
      layout_for(picture_part(source, PER_PART, find_schemes(source, schemes, &all), &first), narrow);
  return (int)(layout.down * layout.block) + BOX;
}

const struct picture picture_frequencies = {
    "frequencies", "Frequencies: what training never showed", count_shown, PER_PART, describe, height, draw};
