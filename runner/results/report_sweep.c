/* Pictures of a sweep: how each measure goes with the swept keys of a scheme, or of an experiment. Models are swept
 * into a grid (report_grid.c).
 */
#include "results/report_sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 16 }; /* pixels */

/* One below the other from *top on; *top then is below them. */
static void draw_text(const struct canvas *canvas, const char *text, double *top, struct text *script) {
  struct name_lines lines;
  name_break(text, canvas->narrow ? 60 : 104, &lines);
  double high = LINE * (double)lines.count;
  canvas_lines(canvas, &lines, canvas->narrow ? 6 : 40, *top + high / 2, "left", canvas_ink(canvas), LINE, script);
  *top += high;
}

static int draw_lines(const struct picture_source *source, const struct sweeps *sweeps, const struct view *view,
                      const struct canvas *canvas, struct text *script, struct error *err) {
  char text[SWEEP_PLACE + 512], key[3 * RECORD_NAME];
  const char *units = view->like->units;
  struct sweep_lines *lines = sweep_lines_new(source, sweeps, view, err);
  if (!lines) {
    return err->code;
  }
  double low = lines->ticks[0], high = lines->ticks[view->n_points - 1], top = 0;
  bool logarithmic = low > 0 && high / low >= 20;
  double margin = logarithmic ? pow(high / low, 0.03) : 0.03 * (high - low);
  draw_text(canvas, view->comparison->title, &top, script);
  sweep_say_place(source, view, view->ends[1], text, sizeof text);
  if (lines->empty.length) {
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, "; no line: %.500s", lines->empty.data);
  }
  draw_text(canvas, text, &top, script);
  snprintf(key, sizeof key, "%s of %s", view->points[0]->keys[0].key, view->points[0]->base);
  struct chart chart = {.x_title = key,
                        .y_title = units[0] && strcmp(units, "1") != 0 ? units : "value",
                        .log_x = logarithmic,
                        .x_low = logarithmic ? low / margin : low - margin,
                        .x_high = logarithmic ? high * margin : high + margin,
                        .line_at = lines->model,
                        .line_name = "the model",
                        .strip = NAN,
                        .level = NAN,
                        .x_of = view->points[0]->keys[0].key,
                        .ticks = lines->ticks,
                        .n_ticks = view->n_points,
                        .above = (int)top - 16};
  curves_draw(canvas, source->file, &chart, lines->curves, lines->count, script);
  sweep_lines_free(lines);
  return 0;
}

static size_t count_shown(const struct picture_source *source) {
  struct sweeps sweeps;
  struct error ignored; /* without memory there is no picture */
  size_t count = sweeps_find(source, &sweeps, &ignored) ? 0 : sweeps.count;
  sweeps_free(&sweeps);
  return count;
}

/* Of one view: its least and largest value, and what has none. */
static int say_view(const struct picture_source *source, const struct sweeps *sweeps, const struct view *view,
                    struct text *alternative, struct error *err) {
  if (view->kind == VIEW_MAP) {
    char keys[2][3 * RECORD_NAME];
    struct cells_drawing drawing;
    if (sweep_map(source, sweeps, view, &drawing, keys, err)) {
      return err->code;
    }
    text_append(alternative, " ");
    cells_say_values(&drawing, alternative);
    text_append(alternative, ".");
    cells_free(&drawing);
    return 0;
  }
  char place[SWEEP_PLACE];
  struct sweep_lines *lines = sweep_lines_new(source, sweeps, view, err);
  if (!lines) {
    return err->code;
  }
  sweep_say_place(source, view, view->ends[1], place, sizeof place);
  text_printf(alternative, " %s, %s:", view->comparison->title, place);
  for (size_t i = 0; i < lines->count; i++) {
    const struct curve *curve = &lines->curves[i];
    text_printf(alternative, "%s %s", i ? ";" : "", curve->record->label);
    for (size_t k = 0; k < (curve->level ? 1 : curve->count); k++) {
      if (!isnan(curve->middle[k])) {
        text_printf(alternative, " %.3g", curve->middle[k]);
      }
    }
    text_printf(alternative, "%s%s", curve->word[0] ? " " : "", curve->word);
  }
  text_printf(alternative, "%s%s.", lines->empty.length ? "; no line: " : "",
              lines->empty.data ? lines->empty.data : "");
  sweep_lines_free(lines);
  return 0;
}

/* What of the sweeps is not drawn. */
static void say_left_out(const struct sweeps *sweeps, struct text *caption) {
  const char *names[SWEEP_MOST_SCHEMES];
  size_t most_points = 0, most_schemes = 0, most_places = 0;
  for (size_t i = 0; i < sweeps->count; i++) {
    const struct view *view = &sweeps->views[i];
    size_t places = view->like->axis[0].length, schemes;
    sweep_schemes(sweeps, view, view->of == SWEEP_OF_SCHEMES, names, &schemes);
    bool along = view->kind == VIEW_MAP && view->of == SWEEP_OF_SCHEMES && view->points[0]->n_keys == 1;
    most_points = view->all_points > most_points ? view->all_points : most_points;
    most_schemes = schemes > most_schemes ? schemes : most_schemes;
    most_places = along && places > most_places ? places : most_places;
  }
  if (most_points > SWEEP_MOST_POINTS) {
    text_printf(caption, " The first %d of %zu points are drawn.", SWEEP_MOST_POINTS, most_points);
  }
  if (most_schemes > SWEEP_MOST_SCHEMES) {
    text_printf(caption, " The first %d of %zu schemes are drawn.", SWEEP_MOST_SCHEMES, most_schemes);
  }
  if (most_places > SWEEP_MOST_PLACES) {
    text_printf(caption, " Across: %d of up to %zu places of the axis.", SWEEP_MOST_PLACES, most_places);
  }
  if (sweeps->all > sweeps->count) {
    text_printf(caption, " The first %zu of %zu drawings; the file has them all.", sweeps->count, sweeps->all);
  }
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  struct sweeps sweeps;
  bool kinds[2] = {false, false}, of[2] = {false, false};
  if (sweeps_find(source, &sweeps, err)) {
    return err->code;
  }
  for (size_t i = 0; i < sweeps.count; i++) {
    kinds[sweeps.views[i].kind] = true;
    of[sweeps.views[i].of] = true;
  }
  text_append(caption, "How each measure goes with what was swept.");
  if (of[SWEEP_OF_EXPERIMENTS]) {
    text_append(caption, " The points are this experiment and the others of its sweep, whose own pictures follow.");
  }
  text_append(alternative, "A measure against what was swept.");
  if (kinds[VIEW_LINES]) {
    text_append(caption, of[SWEEP_OF_SCHEMES] ? " Level lines: schemes that were not swept, for comparison."
                                              : " One line per scheme.");
    text_append(caption, " Dashed: swapped in without retraining, so the line shows what the mechanism does to these "
                         "weights; dashed grey: the control. Upright, where the model was trained with one of the "
                         "values: that value.");
  }
  if (kinds[VIEW_MAP]) {
    text_append(caption, " Heat maps: the same colour scale within a drawing; framed: the model itself, where others "
                         "were swapped in; a cell without a value has no colour: "
                         "undefined (where there is no room for the word: one stroke), failed (two strokes), or not "
                         "run.");
  }
  say_left_out(&sweeps, caption);
  int failed =
      source->part < sweeps.count ? say_view(source, &sweeps, &sweeps.views[source->part], alternative, err) : 0;
  sweeps_free(&sweeps);
  return failed;
}

static int height(const struct picture_source *source, bool narrow) {
  struct sweeps sweeps;
  struct error ignored; /* without memory there will be no drawing */
  int pixels = narrow ? 300 : 340;
  if (sweeps_find(source, &sweeps, &ignored)) {
    return pixels;
  }
  if (source->part < sweeps.count && sweeps.views[source->part].kind == VIEW_MAP) {
    char keys[2][3 * RECORD_NAME];
    struct cells_drawing drawing;
    if (!sweep_map(source, &sweeps, &sweeps.views[source->part], &drawing, keys, &ignored)) {
      pixels = cells_height(&drawing, narrow);
      cells_free(&drawing);
    }
  }
  sweeps_free(&sweeps);
  return pixels;
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  struct sweeps sweeps;
  if (sweeps_find(source, &sweeps, err)) {
    return err->code;
  }
  const struct view *view = &sweeps.views[source->part];
  int failed;
  if (view->kind == VIEW_MAP) {
    char keys[2][3 * RECORD_NAME];
    struct cells_drawing drawing;
    failed = sweep_map(source, &sweeps, view, &drawing, keys, err);
    if (!failed) {
      failed = cells_draw(canvas, &drawing, script, err);
      cells_free(&drawing);
    }
  } else {
    failed = draw_lines(source, &sweeps, view, canvas, script, err);
  }
  sweeps_free(&sweeps);
  return failed;
}

const struct picture picture_sweep = {"sweep", "What was swept", count_shown, 1, describe, height, draw};
