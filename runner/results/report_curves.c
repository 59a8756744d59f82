#include "results/report_curves.h"

#include "base/memory.h"
#include "results/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CURVES = 64, LABEL_PIXELS = 17 };

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double quantile_of(double *values, size_t count, double part) {
  if (!count) {
    return NAN;
  }
  qsort(values, count, sizeof *values, compare_doubles);
  double place = part * (double)(count - 1);
  size_t below = (size_t)place;
  size_t above = below + 1 < count ? below + 1 : below;
  return values[below] + (place - (double)below) * (values[above] - values[below]);
}

/* Index of an axis by name; tensor->rank where there is none. */
static unsigned axis_index(const struct tensor *tensor, const char *name) {
  unsigned i = 0;
  while (i < tensor->rank && (!name || strcmp(tensor->axis[i].name, name) != 0)) {
    i++;
  }
  return i;
}

/* Place of element `index` on axis `axis`; 0 on an axis that is not there. */
static size_t place_on(const struct tensor *tensor, size_t index, unsigned axis) {
  if (axis >= tensor->rank) {
    return 0;
  }
  size_t stride = 1;
  for (unsigned i = axis + 1; i < tensor->rank; i++) {
    stride *= tensor->axis[i].length;
  }
  return index / stride % tensor->axis[axis].length;
}

/* sum and n [along][unit]: over all other axes, of what is a number. */
static void add_up(const struct tensor *tensor, unsigned along, unsigned unit, size_t units, double *sum, double *n) {
  for (size_t i = 0; i < tensor->count; i++) {
    double value = tensor_value(tensor, i);
    size_t cell = place_on(tensor, i, along) * units + place_on(tensor, i, unit);
    if (!isnan(value)) {
      sum[cell] += value;
      n[cell] += 1;
    }
  }
}

static void summarise(struct curve *curve, const double *sum, const double *n, size_t units, double *sample) {
  for (size_t i = 0; i < curve->count; i++) {
    size_t count = 0;
    double total = 0;
    for (size_t u = 0; u < units; u++) {
      curve->samples[i * units + u] = n[i * units + u] > 0 ? sum[i * units + u] / n[i * units + u] : NAN;
      if (n[i * units + u] > 0) {
        sample[count] = curve->samples[i * units + u];
        total += sample[count++];
      }
    }
    curve->middle[i] = count ? total / (double)count : NAN;
    curve->low[i] = quantile_of(sample, count, 0.025);
    curve->high[i] = quantile_of(sample, count, 0.975);
  }
}

int curve_make(const struct record *record, const struct tensor *tensor, const char *along, const char *unit,
               double divisor, struct curve *curve, struct error *err) {
  unsigned axis = axis_index(tensor, along), unit_axis = axis_index(tensor, unit);
  *curve = (struct curve){.record = record};
  if (axis == tensor->rank) {
    return 0;
  }
  size_t count = tensor->axis[axis].length;
  size_t units = unit_axis < tensor->rank ? tensor->axis[unit_axis].length : 1;
  double *values = memory_new_3d(4 + units, count, 1, sizeof *values, "curve", err);
  /* sums and numbers [count][units], one sample [units] */
  double *work = values ? memory_new_3d(2 * count + 1, units, 1, sizeof *work, "curve", err) : NULL;
  if (!work) {
    free(values);
    return err->code;
  }
  curve->count = count;
  curve->units = units;
  curve->x = values;
  curve->middle = values + count;
  curve->low = values + 2 * count;
  curve->high = values + 3 * count;
  curve->samples = values + 4 * count;
  for (size_t i = 0; i < count; i++) {
    curve->x[i] = (tensor->axis[axis].values ? tensor->axis[axis].values[i] : (double)i) / divisor;
  }
  double *sum = work, *n = work + count * units;
  add_up(tensor, axis, unit_axis, units, sum, n);
  summarise(curve, sum, n, units, work + 2 * count * units);
  free(work);
  return 0;
}

void curve_free(struct curve *curve) {
  free(curve->x);
  *curve = (struct curve){0};
}

/* The last point that is a number; count where there is none. */
static size_t last_point(const struct curve *curve) {
  size_t last = curve->count;
  for (size_t i = 0; i < curve->count; i++) {
    last = isnan(curve->middle[i]) ? last : i;
  }
  return last;
}

struct range {
  double low, high;
};

static void widen(struct range *range, double value, bool logarithmic) {
  if (isfinite(value) && (!logarithmic || value > 0)) {
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
  }
}

static struct range x_range(const struct chart *chart, const struct curve *curves, size_t count) {
  struct range range = {INFINITY, -INFINITY};
  if (chart->x_low < chart->x_high) {
    return (struct range){chart->x_low, chart->x_high};
  }
  for (size_t c = 0; c < count; c++) {
    for (size_t i = 0; i < curves[c].count; i++) {
      widen(&range, curves[c].x[i], chart->log_x);
    }
  }
  if (!(range.low < range.high)) {
    double only = isfinite(range.low) ? range.low : 1;
    return chart->log_x ? (struct range){only / 2, 2 * only} : (struct range){only - 1, only + 1};
  }
  /* Up to a power of two that is all but reached, for its tick. */
  double power = chart->log_x ? exp2(round(log2(range.high))) : 0;
  range.high = power > range.high && power < 1.05 * range.high ? power : range.high;
  return range;
}

static struct range y_range(const struct chart *chart, const struct curve *curves, size_t count) {
  struct range range = {INFINITY, -INFINITY};
  if (chart->y_low < chart->y_high) {
    return (struct range){chart->y_low, chart->y_high};
  }
  for (size_t c = 0; c < count; c++) {
    for (size_t i = 0; i < curves[c].count; i++) {
      widen(&range, curves[c].low[i], chart->log_y);
      widen(&range, curves[c].high[i], chart->log_y);
    }
  }
  widen(&range, chart->level, chart->log_y);
  if (range.low == range.high && range.low != 0) {
    double only = range.low;
    return chart->log_y ? (struct range){only / 2, 2 * only}
                        : (struct range){only - fabs(only) / 2, only + fabs(only) / 2};
  }
  if (!(range.low < range.high)) {
    return (struct range){chart->log_y ? 0.1 : 0, 1};
  }
  double margin = chart->log_y ? pow(range.high / range.low, 0.06) : 0.06 * (range.high - range.low);
  return chart->log_y ? (struct range){range.low / margin, range.high * margin}
                      : (struct range){range.low - margin, range.high + margin};
}

/* Height of a value in the plot: 0 at the bottom, 1 at the top, within. */
static double height_of(const struct chart *chart, struct range y, double value) {
  double part = chart->log_y ? log(value / y.low) / log(y.high / y.low) : (value - y.low) / (y.high - y.low);
  return isnan(part) ? 0 : fmin(fmax(part, 0), 1);
}

/* Labels at the right, as near to their curves' ends as they can be without covering each other. */
struct label {
  const struct curve *curve;
  double end, at; /* heights of the curve's end and of the label */
};

static int compare_labels(const void *a, const void *b) {
  double x = ((const struct label *)a)->end, y = ((const struct label *)b)->end;
  return (x > y) - (x < y);
}

static void spread_labels(struct label *labels, size_t count, double gap) {
  qsort(labels, count, sizeof *labels, compare_labels);
  for (size_t i = 0; i < count; i++) {
    labels[i].at = labels[i].end;
  }
  /* Neighbours that are too close push each other apart evenly; some rounds settle it. */
  for (int round = 0; round < 200; round++) {
    for (size_t i = 0; i + 1 < count; i++) {
      double missing = gap - (labels[i + 1].at - labels[i].at);
      if (missing > 0) {
        labels[i].at -= missing / 2;
        labels[i + 1].at += missing / 2;
      }
    }
    for (size_t i = 0; i < count; i++) {
      labels[i].at = fmin(fmax(labels[i].at, gap / 2), 1); /* not on the axis */
    }
  }
}

/* How far right a value stands: 0 at the left edge, 1 at the right one. */
static double width_of(const struct chart *chart, struct range x, double value) {
  return chart->log_x ? log(value / x.low) / log(x.high / x.low) : (value - x.low) / (x.high - x.low);
}

/* How far right the longest curve goes: the names stand behind it. */
static double end_of(const struct chart *chart, struct range x, const struct curve *curves, size_t count) {
  double end = 0;
  for (size_t c = 0; c < count; c++) {
    size_t last = last_point(&curves[c]);
    end = last < curves[c].count ? fmax(end, width_of(chart, x, curves[c].x[last])) : end;
  }
  return fmin(end, 1);
}

/* Where a curve leaves the plot at the right, or ends within it. */
static double value_at_end(const struct chart *chart, struct range x, const struct curve *curve) {
  size_t last = last_point(curve), before = curve->count;
  for (size_t i = 0; i < curve->count; i++) {
    before = !isnan(curve->middle[i]) && curve->x[i] <= x.high ? i : before;
  }
  if (curve->x[last] <= x.high || before == curve->count) {
    return curve->middle[last];
  }
  size_t after = before + 1;
  while (after < last && isnan(curve->middle[after])) {
    after++;
  }
  double from = width_of(chart, x, curve->x[before]), to = width_of(chart, x, curve->x[after]);
  return curve->middle[before] + (1 - from) / (to - from) * (curve->middle[after] - curve->middle[before]);
}

/* A curve that ends because its scheme is undefined from there on has its name at its end, where there is room. */
static bool ends_early(const struct canvas *canvas, const struct curve *curve) {
  return !canvas->narrow && curve->word[0] && last_point(curve) + 1 < curve->count;
}

/* "learned: undefined beyond 128"; on a phone "learned: undefined". */
static void end_name(const struct canvas *canvas, const struct curve *curve, char *name, size_t size) {
  size_t word = canvas->narrow ? strcspn(curve->word, " ") : strlen(curve->word);
  snprintf(name, size, "%s%s%.*s", curve->record->label, curve->word[0] ? ": " : "", (int)word, curve->word);
}

static struct look look_of_curve(const struct results_file *file, const struct curve *curve) {
  return curve->look ? *curve->look : look_of(file, curve->record);
}

static void draw_labels(const struct canvas *canvas, const struct results_file *file, const struct chart *chart,
                        struct range x, struct range y, double end, const struct curve *curves, size_t count,
                        int plot_height, struct text *script) {
  struct label labels[MOST_CURVES];
  size_t n = 0;
  for (size_t c = 0; c < count && n < MOST_CURVES; c++) {
    size_t last = last_point(&curves[c]);
    if (last < curves[c].count && !ends_early(canvas, &curves[c])) {
      labels[n++] = (struct label){&curves[c], height_of(chart, y, value_at_end(chart, x, &curves[c])), 0};
    }
  }
  spread_labels(labels, n, (double)LABEL_PIXELS / plot_height);
  for (size_t i = 0; i < n; i++) {
    const struct curve *curve = labels[i].curve;
    struct look look = look_of_curve(file, curve);
    char name[3 * RECORD_NAME];
    end_name(canvas, curve, name, sizeof name);
    text_append(script, "set label ");
    gnuplot_quote(script, name);
    text_printf(script, " at graph %.4f,graph %.4f left textcolor rgb '%s'\n", end + 0.03, labels[i].at, look.color);
    size_t last = last_point(curve);
    if (last + 1 < curve->count) { /* it ends early: a dotted line leads to its name */
      text_append(script, "set arrow from ");
      gnuplot_number(script, curve->x[last]);
      text_printf(script, ",graph %.4f to graph %.4f,graph %.4f nohead lc rgb '%s' lw 0.7 dt 3\n", labels[i].end, end,
                  labels[i].end, look.color);
    }
    text_printf(script, "set arrow from graph %.4f,graph %.4f to graph %.4f,graph %.4f nohead lc rgb '%s' lw 1\n", end,
                labels[i].end, end + 0.025, labels[i].at, look.color);
  }
}

static void append_curve_data(struct text *script, const struct curve *curve, size_t number) {
  text_printf(script, "$curve%zu << END\n", number);
  for (size_t i = 0; i < curve->count; i++) {
    const double columns[] = {curve->x[i], curve->middle[i], curve->low[i], curve->high[i]};
    for (size_t c = 0; c < 4; c++) {
      gnuplot_number(script, columns[c]);
      text_append(script, c < 3 ? " " : "\n");
    }
  }
  text_append(script, "END\n");
}

static void append_dots(struct text *script, const struct curve *curve, size_t number) {
  text_printf(script, "$dots%zu << END\n", number);
  for (size_t i = 0; i < curve->count * curve->units; i++) {
    gnuplot_number(script, curve->x[i / curve->units]);
    text_append(script, " ");
    gnuplot_number(script, curve->samples[i]);
    text_append(script, "\n");
  }
  text_append(script, "END\n");
}

/* Its name and a patch of its colour above the plot, at the right, where nothing else stands. */
static void name_strip(const struct canvas *canvas, const char *name, double width, struct text *script) {
  double letters = (double)strlen(name) * (canvas->narrow ? 5.4 : 6.4) / width;
  text_printf(
      script,
      "set object rectangle from graph %.4f,graph 1.02 to graph %.4f,graph 1.055 noclip fs solid 0.3 noborder fc rgb "
      "'" CANVAS_MUTED "'\nset label ",
      1 - letters - 20 / width, 1 - letters - 6 / width);
  gnuplot_quote(script, name);
  text_printf(script, " at graph %.4f,graph 1.04 left textcolor rgb '%s' font ',%d'\n", 1 - letters, canvas_ink(canvas),
              canvas->narrow ? 9 : 11);
}

static void draw_marks(const struct canvas *canvas, const struct chart *chart, struct range y, double width,
                       struct text *script) {
  if (!isnan(chart->strip)) {
    double top = height_of(chart, y, chart->strip);
    text_printf(script,
                "set object rectangle from graph 0,graph 0 to graph 1,graph %.4f behind fs solid 0.18 noborder fc rgb "
                "'" CANVAS_MUTED "'\n",
                top);
    name_strip(canvas, chart->strip_name, width, script);
  }
  if (chart->strip_curve && last_point(chart->strip_curve) < chart->strip_curve->count) {
    name_strip(canvas, chart->strip_name, width, script);
  }
  if (!isnan(chart->line_at)) {
    text_append(script, "set arrow from ");
    gnuplot_number(script, chart->line_at);
    text_append(script, ",graph 0 to ");
    gnuplot_number(script, chart->line_at);
    text_printf(script, ",graph 1 nohead lc rgb '%s' lw 1 dt 1\nset label ", canvas_ink(canvas));
    gnuplot_quote(script, chart->line_name);
    text_append(script, " at ");
    gnuplot_number(script, chart->line_at);
    text_printf(script, ",graph 1.04 center textcolor rgb '%s'\n", canvas_ink(canvas));
  }
  if (!isnan(chart->level)) {
    double at = height_of(chart, y, chart->level);
    text_printf(script, "set arrow from graph 0,graph %.4f to graph 1,graph %.4f nohead lc rgb '%s' lw 1 dt 4\n", at,
                at, canvas_ink(canvas));
    text_append(script, "set label ");
    gnuplot_quote(script, chart->level_name);
    text_printf(script, " at graph 0.01,graph %.4f left textcolor rgb '%s' font ',11'\n", at + 0.03,
                canvas_ink(canvas));
  }
}

static void plot_curve(const struct results_file *file, const struct chart *chart, const struct curve *curve,
                       size_t number, bool first, struct text *script) {
  struct look look = look_of_curve(file, curve);
  text_append(script, first ? "plot " : ", ");
  if (chart->dots && curve->units > 1) {
    text_printf(script, "$dots%zu using 1:2 with points pt 7 ps 0.5 lc rgb '%s', ", number, look.color);
  } else if (curve->units > 1) {
    text_printf(script, "$curve%zu using 1:3:4 with filledcurves fc rgb '%s' fs transparent solid 0.15 noborder, ",
                number, look.color);
  }
  text_printf(script, "$curve%zu using 1:2 with lines lw %g dt %d lc rgb '%s', ", number, look.width, look.dash,
              look.color);
  if (curve->level) {
    text_append(script, "NaN");
  } else {
    text_printf(script, "$curve%zu using 1:2 with points pt %d ps 0.6 lc rgb '%s'", number, look.point, look.color);
  }
}

/* What the curve tells under the pointer: its points, with their intervals, and each unit's where those are drawn. */
static void tell_curve(const struct canvas *canvas, const struct chart *chart, const struct curve *curve) {
  char says[120];
  bool bands = curve->units > 1 && !chart->dots;
  snprintf(says, sizeof says,
           bands          ? ", %s {x}: {v} ({l} to {h})"
           : curve->level ? ": {v}"
                          : ", %s {x}: {v}",
           chart->x_of);
  hover_curve(canvas->hover, curve->record->label, says, HOVER_INTERVALS);
  for (size_t i = 0; i < curve->count; i++) {
    hover_interval(canvas->hover, curve->x[i], curve->middle[i], curve->low[i], curve->high[i]);
  }
  if (chart->dots && curve->units > 1) {
    snprintf(says, sizeof says, ", one %s, %s {x}: {v}", chart->dot_of, chart->x_of);
    hover_curve(canvas->hover, curve->record->label, says, HOVER_POINTS);
    for (size_t i = 0; i < curve->count * curve->units; i++) {
      hover_point(canvas->hover, curve->x[i / curve->units], curve->samples[i], curve->samples[i]);
    }
  }
}

/* A cross where a scheme is no longer defined, with its name and the word. */
static void mark_ends(const struct canvas *canvas, const struct results_file *file, const struct chart *chart,
                      struct range x, struct range y, const struct curve *curves, size_t count, int plot_height,
                      struct text *script) {
  int before = 0;
  for (size_t c = 0; c < count; c++) {
    size_t last = last_point(&curves[c]);
    if (!curves[c].word[0] || last + 1 >= curves[c].count) {
      continue;
    }
    const char *color = look_of_curve(file, &curves[c]).color;
    text_append(script, "set label '×' at ");
    gnuplot_number(script, curves[c].x[last]);
    text_append(script, ",");
    gnuplot_number(script, curves[c].middle[last]);
    text_printf(script, " center front font ',20' textcolor rgb '%s'\n", color);
    if (ends_early(canvas, &curves[c])) {
      double at = width_of(chart, x, curves[c].x[last]);
      double up = height_of(chart, y, curves[c].middle[last]) + 22.0 / plot_height;
      up = isnan(chart->strip) ? up : fmax(up, height_of(chart, y, chart->strip) + 12.0 / plot_height);
      up += 46.0 * before++ / plot_height;
      bool left = at > 0.2;
      /* "undefined beyond 128" over two lines, the label above them. */
      char first[sizeof curves[c].word];
      size_t length = strcspn(curves[c].word, " ");
      snprintf(first, sizeof first, "%.*s", (int)length, curves[c].word);
      const char *second = curves[c].word + length + (curves[c].word[length] == ' ');
      const char *lines[] = {second, first, curves[c].record->label};
      for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        text_append(script, "set label ");
        gnuplot_quote(script, lines[i]);
        text_printf(script, " at graph %.4f,graph %.4f %s front font ',11' textcolor rgb '%s'\n",
                    left ? at - 0.012 : at + 0.012, up + 14.0 * (double)i / plot_height, left ? "right" : "left",
                    color);
      }
    }
  }
}

/* "1", "10", "100", "1k" ... "1M", and the number itself beyond. */
static void append_power_of_ten(struct text *script, int power) {
  static const char *const names[] = {"1", "10", "100", "1k", "10k", "100k", "1M", "10M", "100M"};
  if (power >= 0 && power < (int)(sizeof names / sizeof *names)) {
    text_printf(script, "'%s' 1e%d", names[power], power);
  } else {
    text_printf(script, "'%g' 1e%d", pow(10, power), power);
  }
}

/* At the places that the chart names, as far as their numbers have room beside each other. */
static void set_ticks_at(const struct canvas *canvas, const struct chart *chart, struct range x, struct text *script) {
  double end = -INFINITY; /* of the last number, as a part of the axis */
  const char *before = "";
  text_append(script, chart->log_x ? "set logscale x 10\nset mxtics 1\nset xtics (" : "set xtics (");
  for (size_t i = 0; i < chart->n_ticks; i++) {
    char name[40];
    double value = chart->ticks[i];
    if (fabs(value) >= 1e4 && fmod(value, 1000) == 0) {
      snprintf(name, sizeof name, fmod(value, 1e6) == 0 ? "%gM" : "%gk", value / (fmod(value, 1e6) == 0 ? 1e6 : 1e3));
    } else {
      snprintf(name, sizeof name, "%g", value);
    }
    double half = (double)strlen(name) * (canvas->narrow ? 0.019 : 0.008), at = width_of(chart, x, value);
    if (at - half > end) {
      text_printf(script, "%s'%s' %.17g", before, name, value);
      end = at + half + 0.01;
      before = ", ";
    }
  }
  text_append(script, ")\n");
}

/* Powers of two, below 1 as fractions; over more than three powers of ten, powers of ten. */
static void set_x_ticks(const struct canvas *canvas, const struct chart *chart, struct range x, struct text *script) {
  if (chart->ticks) {
    set_ticks_at(canvas, chart, x, script);
    return;
  }
  if (!chart->log_x) {
    text_append(script, "set xtics autofreq\n");
    return;
  }
  bool tens = x.high / x.low > 5000;
  text_append(script, tens ? "set logscale x 10\nset mxtics 1\nset xtics (" : "set logscale x 2\nset xtics (");
  int from = (int)floor(tens ? log10(x.low) : log2(x.low)), to = (int)ceil(tens ? log10(x.high) : log2(x.high));
  int step = canvas->narrow && to - from > 5 ? 2 : 1;
  from -= step == 2 && from % 2 != 0; /* 1 is among them */
  for (int power = from; power <= to; power += step) {
    text_append(script, power > from ? ", " : "");
    if (tens) {
      append_power_of_ten(script, power);
    } else {
      double value = ldexp(1, power);
      text_printf(script, power < 0 ? "'1/%.0f' %.17g" : "'%.0f' %.17g", power < 0 ? 1 / value : value, value);
    }
  }
  text_append(script, ")\n");
}

void curves_draw(const struct canvas *canvas, const struct results_file *file, const struct chart *chart,
                 const struct curve *curves, size_t count, struct text *script) {
  struct range x = x_range(chart, curves, count), y = y_range(chart, curves, count);
  double end = end_of(chart, x, curves, count);
  size_t longest = 0;
  for (size_t c = 0; c < count; c++) {
    char name[3 * RECORD_NAME];
    end_name(canvas, &curves[c], name, sizeof name);
    size_t length = strlen(name);
    longest = length > longest && !ends_early(canvas, &curves[c]) ? length : longest;
  }
  canvas_begin(canvas, script);
  int left = canvas->narrow ? 60 : 76, top = 30 + chart->above, bottom = 58;
  /* What the names need, less the room behind the curves' ends. */
  double needed = (double)longest * (canvas->narrow ? 6 : 7) + 24;
  double room = canvas->width - left;
  int right = (int)fmin(fmax((needed - room * (1 - end)) / fmax(end, 0.1), 14), room / 2);
  int plot_height = canvas->height - top - bottom;
  text_printf(script, "set lmargin at screen %.4f\nset rmargin at screen %.4f\n", (double)left / canvas->width,
              1 - (double)right / canvas->width);
  text_printf(script, "set tmargin at screen %.4f\nset bmargin at screen %.4f\n", 1 - (double)top / canvas->height,
              (double)bottom / canvas->height);
  text_append(script, "set xlabel ");
  gnuplot_quote(script, chart->x_title);
  text_append(script, " offset 0,0.3\nset ylabel ");
  gnuplot_quote(script, chart->y_title);
  text_printf(script, " offset %g,0\n", canvas->kind == CANVAS_PNG ? 0.5 : 1.5);
  set_x_ticks(canvas, chart, x, script);
  if (chart->log_y) {
    text_append(script, "set logscale y 10\nset mytics 1\nset format y '%g'\n");
  }
  /* A tick on the very edge would be lost to rounding. */
  double edge = chart->log_x ? 1.002 : 1;
  text_printf(script, "set xrange [%.17g:%.17g]\nset yrange [%.17g:%.17g]\n", x.low / edge, x.high * edge, y.low,
              y.high);
  draw_marks(canvas, chart, y, canvas->width - left - right, script);
  draw_labels(canvas, file, chart, x, y, end, curves, count, plot_height, script);
  mark_ends(canvas, file, chart, x, y, curves, count, plot_height, script);
  for (size_t c = 0; c < count; c++) {
    append_curve_data(script, &curves[c], c);
    if (chart->dots) {
      append_dots(script, &curves[c], c);
    }
  }
  if (chart->strip_curve) {
    append_curve_data(script, chart->strip_curve, count);
  }
  hover_panel(canvas->hover, left, top, canvas->width - left - right, plot_height,
              (struct hover_axis){x.low / edge, x.high * edge, chart->log_x},
              (struct hover_axis){y.low, y.high, chart->log_y});
  if (chart->strip_curve) {
    text_printf(script,
                "plot $curve%zu using 1:2 with filledcurves y1=0 fc rgb '" CANVAS_MUTED
                "' fs transparent solid 0.18 noborder",
                count);
  }
  for (size_t c = 0; c < count; c++) {
    plot_curve(file, chart, &curves[c], c, c == 0 && !chart->strip_curve, script);
    tell_curve(canvas, chart, &curves[c]);
  }
  text_append(script, "\n");
}
