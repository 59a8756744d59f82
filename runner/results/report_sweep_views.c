#include "results/report_sweep.h"

#include "base/memory.h"
#include "results/read_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VIEWS = 64 };

static bool is_comparison(const struct record *record) {
  return !strncmp(record->label, "comparison", strlen("comparison")) && !measure_is_beside(record->label);
}

static bool is_numbers(const struct tensor *tensor) {
  return tensor && tensor->rank == 1 && tensor->count && tensor->element != ELEMENT_U8;
}

static int compare_points(const void *a, const void *b) {
  double x = (*(const struct sweep_point *const *)a)->keys[0].number;
  double y = (*(const struct sweep_point *const *)b)->keys[0].number;
  return (x > y) - (x < y);
}

static void collect_points(const struct sweep_points *points, struct view *view) {
  bool numbers = true;
  for (size_t i = 0; i < points->count; i++) {
    const struct sweep_point *point = &points->points[i];
    view->all_points += point->family == view->family;
    if (point->family == view->family && view->n_points < SWEEP_MOST_POINTS) {
      view->points[view->n_points++] = point;
      numbers = numbers && point->n_keys == 1 && point->keys[0].is_number;
    }
  }
  view->kind = numbers && view->n_points >= 3 ? VIEW_LINES : VIEW_MAP;
  if (view->kind == VIEW_LINES) {
    qsort(view->points, view->n_points, sizeof *view->points, compare_points);
  }
}

const struct tensor *sweep_numbers(const struct picture_source *source, const struct view *view,
                                   const struct sweep_point *point, const char *scheme) {
  const struct record *comparison = view->of == SWEEP_OF_EXPERIMENTS
                                        ? results_find(source->file, point->label, view->comparison->label)
                                        : view->comparison;
  const struct tensor *tensor = comparison ? record_find(comparison, scheme) : NULL;
  return is_numbers(tensor) ? tensor : NULL;
}

static bool says_at(const struct tensor *tensor, bool last) {
  return tensor && tensor_says_something(tensor, last ? tensor->axis[0].length - 1 : 0);
}

/* Which ends of the axis have anything but 0 in the numbers of the sweep. */
static void look_at_ends(const struct picture_source *source, struct view *view) {
  for (size_t i = 0; i < view->n_points; i++) {
    const struct sweep_point *point = view->points[i];
    for (size_t t = 0; t < view->comparison->count; t++) {
      const char *scheme = view->of == SWEEP_OF_SCHEMES ? point->label : view->comparison->tensors[t].name;
      const struct tensor *tensor = sweep_numbers(source, view, point, scheme);
      view->like = view->like ? view->like : tensor;
      view->ends[0] = view->ends[0] || (tensor && tensor->count > 1 && says_at(tensor, false));
      view->ends[1] = view->ends[1] || says_at(tensor, true);
    }
  }
}

static void add_views(const struct picture_source *source, enum sweep_of of, size_t family, struct sweeps *sweeps) {
  for (size_t i = 0; i < source->experiment->count; i++) {
    const struct record *record = source->experiment->records[i];
    struct view view = {.of = of, .family = family, .comparison = record};
    if (!is_comparison(record)) {
      continue;
    }
    collect_points(of == SWEEP_OF_SCHEMES ? &sweeps->schemes : &sweeps->experiments, &view);
    look_at_ends(source, &view);
    for (size_t end = 0; end < 2; end++) {
      struct view one = view;
      one.ends[!end] = view.kind == VIEW_MAP && view.ends[!end];
      bool first = view.kind == VIEW_LINES || end == 0 || !view.ends[0];
      if (view.ends[end] && first) {
        if (sweeps->count < MOST_VIEWS) {
          sweeps->views[sweeps->count++] = one;
        }
        sweeps->all++;
      }
    }
  }
}

static bool has_key(const struct sweep_point *point, const char *key) {
  for (size_t i = 0; i < point->n_keys; i++) {
    if (!strcmp(point->keys[i].key, key)) {
      return true;
    }
  }
  return false;
}

void sweeps_free(struct sweeps *sweeps) {
  sweep_points_free(&sweeps->schemes);
  sweep_points_free(&sweeps->experiments);
  free(sweeps->views);
  *sweeps = (struct sweeps){0};
}

int sweeps_find(const struct picture_source *source, struct sweeps *sweeps, struct error *err) {
  *sweeps = (struct sweeps){0};
  sweeps->views = memory_new(MOST_VIEWS, sizeof *sweeps->views, "sweep", err);
  if (!sweeps->views || sweep_points_read(source->file, SWEEP_OF_SCHEMES, &sweeps->schemes, err) ||
      sweep_points_read(source->file, SWEEP_OF_EXPERIMENTS, &sweeps->experiments, err)) {
    sweeps_free(sweeps);
    return err->code;
  }
  size_t next = 0;
  for (size_t i = 0; i < sweeps->experiments.count; i++) {
    const struct sweep_point *point = &sweeps->experiments.points[i];
    if (point->family == next) { /* the first one of its family */
      next++;
      if (!strcmp(point->label, source->experiment->label) && !has_key(point, "weights")) {
        add_views(source, SWEEP_OF_EXPERIMENTS, point->family, sweeps);
      }
    }
  }
  for (size_t family = 0; family < sweeps->schemes.n_families; family++) {
    add_views(source, SWEEP_OF_SCHEMES, family, sweeps);
  }
  return 0;
}

/* ---- numbers and names ---- */

size_t sweep_place(const struct tensor *tensor, bool last) {
  return last ? tensor->axis[0].length - 1 : 0;
}

static double axis_value(const struct axis *axis, size_t place) {
  return axis->values ? axis->values[place] : (double)place;
}

void sweep_say_value(const struct view *view, const struct axis *axis, size_t place, char *out, size_t size) {
  char attribute[RECORD_NAME + 8];
  const char *word = "";
  snprintf(attribute, sizeof attribute, "%s_names", axis->name);
  for (size_t t = 0; !*word && t < view->comparison->count; t++) {
    const struct attribute *names = attributes_find(&view->comparison->tensors[t].attributes, attribute);
    word = names && names->kind == ATTRIBUTE_TEXT ? names->text : word;
  }
  double value = axis_value(axis, place);
  for (double i = 0; i < value && *word; i++) {
    word += strcspn(word, " ");
    word += *word == ' ';
  }
  if (*word) {
    snprintf(out, size, "%.*s", (int)strcspn(word, " "), word);
  } else {
    snprintf(out, size, "%.6g", value);
  }
}

const char *sweep_axis_name(const struct axis *axis) {
  return axis->long_name[0] ? axis->long_name : axis->name;
}

struct cell sweep_cell(const struct picture_source *source, const struct view *view, const struct sweep_point *point,
                       const char *scheme, size_t place) {
  char name[RECORD_NAME + 8];
  const struct tensor *tensor = sweep_numbers(source, view, point, scheme);
  const char *experiment = view->of == SWEEP_OF_EXPERIMENTS ? point->label : source->experiment->label;
  struct cell cell = {.value = NAN, .state = CELL_NOT_RUN};
  if (tensor && place < tensor->count) {
    const struct record *comparison = results_find(source->file, experiment, view->comparison->label);
    snprintf(name, sizeof name, "%s_status", scheme);
    const struct tensor *status = comparison ? record_find(comparison, name) : NULL;
    double state = status && place < status->count ? tensor_value(status, place) : (double)CELL_MEASURED;
    cell.value = tensor_value(tensor, place);
    cell.state = state <= CELL_NOT_RUN ? (enum cell_state)state : CELL_NOT_RUN;
    return cell;
  }
  const struct record *record = results_find(source->file, experiment, scheme);
  if (record && record->status == RECORD_FAILED) {
    cell.state = CELL_FAILED;
  } else if (record && record->status == RECORD_UNDEFINED) {
    cell.state = CELL_UNDEFINED;
  }
  return cell;
}

void sweep_say_place(const struct picture_source *source, const struct view *view, bool last, char *out, size_t size) {
  const struct axis *axis = &view->like->axis[0];
  double value = axis_value(axis, sweep_place(view->like, last));
  bool same = true;
  for (size_t i = 0; i < view->n_points && view->of == SWEEP_OF_EXPERIMENTS; i++) {
    for (size_t t = 0; t < view->comparison->count; t++) {
      const struct tensor *tensor = sweep_numbers(source, view, view->points[i], view->comparison->tensors[t].name);
      same = same && (!tensor || axis_value(&tensor->axis[0], sweep_place(tensor, last)) == value);
    }
  }
  if (same) {
    char there[RECORD_NAME];
    sweep_say_value(view, axis, sweep_place(view->like, last), there, sizeof there);
    snprintf(out, size, "at %.60s %s", sweep_axis_name(axis), there);
  } else {
    snprintf(out, size, "at the %s %.60s of each", last ? "last" : "first", sweep_axis_name(axis));
  }
}

size_t sweep_schemes(const struct sweeps *sweeps, const struct view *view, bool alone,
                     const char *names[SWEEP_MOST_SCHEMES], size_t *all) {
  size_t count = 0;
  *all = 0;
  for (size_t t = 0; t < view->comparison->count; t++) {
    const struct tensor *tensor = &view->comparison->tensors[t];
    bool swept = false;
    for (size_t i = 0; alone && i < sweeps->schemes.count; i++) {
      swept = swept || !strcmp(sweeps->schemes.points[i].label, tensor->name);
    }
    *all += is_numbers(tensor) && !swept;
    if (is_numbers(tensor) && !swept && count < SWEEP_MOST_SCHEMES) {
      names[count++] = tensor->name;
    }
  }
  return count;
}
