/* Sweeps as lines. */
#include "results/report_sweep.h"

#include "base/memory.h"
#include "results/read_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sweep_lines_free(struct sweep_lines *lines) {
  for (size_t i = 0; lines && i < lines->count; i++) {
    curve_free(&lines->curves[i]);
  }
  if (lines) {
    text_free(&lines->empty);
  }
  free(lines);
}

/* Why a cell has no place on a line; NULL where it has one. */
static const char *why_missing(struct cell cell) {
  switch (cell.state) {
  case CELL_MEASURED:
    return isinf(cell.value) ? "infinite" : isnan(cell.value) ? "undefined" : NULL;
  case CELL_FAILED:
    return "failed";
  case CELL_NOT_RUN:
    return "not run";
  default:
    return "undefined";
  }
}

/* "undefined at 64, 128", where points have no value; "undefined", where none has one. why [curve->count]. */
static void say_missing(struct curve *curve, const struct view *view, const char *const *why) {
  const char *word = NULL;
  size_t missing = 0, size = sizeof curve->word;
  for (size_t i = 0; i < curve->count; i++) {
    if (why[i]) {
      word = missing && strcmp(why[i], word) != 0 ? "no value" : why[i];
      missing++;
    }
  }
  int length = missing ? snprintf(curve->word, size, missing < curve->count ? "%s at" : "%s", word) : 0;
  const char *before = " ";
  for (size_t i = 0; missing < curve->count && i < curve->count; i++) {
    if (isnan(curve->middle[i]) && length >= 0 && (size_t)length < size) {
      length += snprintf(curve->word + length, size - (size_t)length, "%s%s", before, view->points[i]->keys[0].text);
      before = ", ";
    }
  }
  if (length >= 0 && (size_t)length >= size) {
    snprintf(curve->word, size, "%s at %zu of %zu", word, missing, curve->count);
  }
}

static int add_line(const struct picture_source *source, const struct view *view, const char *label, const char *scheme,
                    struct sweep_lines *lines, struct error *err) {
  const char *why[SWEEP_MOST_POINTS];
  size_t n = view->n_points, missing = 0;
  struct curve *curve = &lines->curves[lines->count];
  struct record *name = &lines->names[lines->count];
  double *values = memory_new(5 * n, sizeof *values, "curve", err);
  if (!values) {
    return err->code;
  }
  snprintf(name->label, sizeof name->label, "%s", label);
  *curve = (struct curve){.record = name, .count = n, .units = 1, .x = values, .look = &lines->looks[lines->count]};
  curve->middle = values + n;
  curve->low = values + 2 * n;
  curve->high = values + 3 * n;
  curve->samples = values + 4 * n;
  curve->level = view->of == SWEEP_OF_SCHEMES && scheme;
  for (size_t i = 0; i < n; i++) {
    const struct sweep_point *point = view->points[i];
    const char *which = scheme ? scheme : point->label;
    const struct tensor *tensor = sweep_numbers(source, view, point, which);
    struct cell cell = sweep_cell(source, view, point, which, tensor ? sweep_place(tensor, view->ends[1]) : 0);
    curve->x[i] = point->keys[0].number;
    why[i] = why_missing(cell);
    curve->middle[i] = why[i] ? NAN : cell.value;
    curve->low[i] = curve->high[i] = curve->samples[i] = curve->middle[i];
    missing += why[i] ? 1 : 0;
  }
  say_missing(curve, view, why);
  if (missing == n) {
    text_printf(&lines->empty, "%s%s: %s", lines->empty.length ? "; " : "", label, curve->word);
    curve_free(curve);
    return 0;
  }
  lines->count++;
  return 0;
}

/* How a scheme looks in the experiment, or, of swept ones, in the first that has numbers of it; false where none has.
 */
static bool look_named(const struct picture_source *source, const char *label, struct look *look) {
  const struct record *here = results_find(source->file, source->experiment->label, label);
  *look = (struct look){.color = canvas_color(0), .point = 7, .dash = 1, .width = 2};
  if (here && is_scheme_record(here)) {
    *look = look_of(source->file, here);
    return true;
  }
  for (size_t e = 0; e < source->file->n_experiments; e++) {
    for (size_t i = 0; i < source->file->experiments[e].count; i++) {
      const struct record *record = source->file->experiments[e].records[i];
      if (!strcmp(record->label, label) && is_scheme_record(record)) {
        *look = look_of(source->file, record);
        return true;
      }
    }
  }
  return false;
}

/* The first colour of the points; dashed where one of them was swapped in. *model: the value with which the model was
 * trained, or NaN. */
static struct look look_of_family(const struct picture_source *source, const struct view *view, double *model) {
  struct look family = {.color = canvas_color(0)};
  int dash = 1;
  bool found = false;
  *model = NAN;
  for (size_t i = 0; i < view->n_points; i++) {
    struct look look;
    if (look_named(source, view->points[i]->label, &look)) {
      family = found ? family : look;
      dash = look.role == LOOK_SWAPPED_IN ? 2 : dash;
      *model = look.role == LOOK_MODEL ? view->points[i]->keys[0].number : *model;
      found = true;
    }
  }
  family.dash = dash;
  family.width = 3;
  family.point = 7;
  return family;
}

struct sweep_lines *sweep_lines_new(const struct picture_source *source, const struct sweeps *sweeps,
                                    const struct view *view, struct error *err) {
  const char *names[SWEEP_MOST_SCHEMES];
  size_t all;
  struct sweep_lines *lines = memory_new(1, sizeof *lines, "lines", err);
  bool schemes = view->of == SWEEP_OF_SCHEMES;
  int failed = lines ? 0 : (int)err->code;
  if (lines) {
    lines->model = NAN;
  }
  if (lines && schemes) {
    lines->looks[0] = look_of_family(source, view, &lines->model);
    failed = add_line(source, view, view->points[0]->base, NULL, lines, err);
  }
  size_t count = failed ? 0 : sweep_schemes(sweeps, view, schemes, names, &all);
  for (size_t i = 0; !failed && i < count; i++) {
    look_named(source, names[i], &lines->looks[lines->count]);
    failed = add_line(source, view, names[i], names[i], lines, err);
  }
  for (size_t i = 0; lines && i < view->n_points; i++) {
    lines->ticks[i] = view->points[i]->keys[0].number;
  }
  if (lines && lines->empty.failed) {
    failed = error_set(err, ERROR_MEMORY, "lines of a sweep: memory is not to be had");
  }
  if (failed) {
    sweep_lines_free(lines);
    return NULL;
  }
  return lines;
}
