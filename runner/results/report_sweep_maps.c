/* Sweeps as heat maps: values of the first key down and of the others, or of the axis, across; or experiments down and
 * schemes across.
 */
#include "results/report_sweep.h"

#include "results/read_results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Keys, or a point's values, from number `first` on: "layout, scaling". */
static void join(const struct sweep_point *point, bool values, size_t first, char *out, size_t size) {
  size_t length = 0;
  out[0] = '\0';
  for (size_t i = first; i < point->n_keys && length < size; i++) {
    int added = snprintf(out + length, size - length, "%s%s", i > first ? ", " : "",
                         values ? point->keys[i].text : point->keys[i].key);
    length += added > 0 ? (size_t)added : 0;
  }
}

/* The number of the column or row of a point among those that were there before it, by values from `first` to before
 * `last`; it is added where it is new. */
static size_t number_of(const struct view *view, size_t point, size_t first, size_t last,
                        size_t numbers[SWEEP_MOST_POINTS]) {
  size_t next = 0;
  for (size_t i = 0; i < point; i++) {
    bool same = true;
    for (size_t k = first; k < last; k++) {
      same = same && !strcmp(view->points[i]->keys[k].text, view->points[point]->keys[k].text);
    }
    if (same) {
      return numbers[point] = numbers[i];
    }
    next = numbers[i] >= next ? numbers[i] + 1 : next;
  }
  return numbers[point] = next;
}

/* The model itself stands out, where other schemes were swapped in. */
static void frame_model(const struct picture_source *source, const struct view *view, const char *scheme,
                        const struct sweep_point *point, struct cell *cell) {
  const char *experiment = view->of == SWEEP_OF_EXPERIMENTS ? point->label : source->experiment->label;
  const struct record *record = results_find(source->file, experiment, scheme);
  bool swapped_in = false;
  for (size_t i = 0; i < source->experiment->count; i++) {
    const struct record *other = source->experiment->records[i];
    swapped_in = swapped_in || (is_scheme_record(other) && look_of(source->file, other).role == LOOK_SWAPPED_IN);
  }
  cell->framed = swapped_in && record && is_scheme_record(record) && look_of(source->file, record).role == LOOK_MODEL;
}

/* Values of the first key down, of the others across; or, of one key, places of the axis across. */
static int map_schemes(const struct picture_source *source, const struct view *view, struct cells_drawing *drawing,
                       struct error *err) {
  size_t row[SWEEP_MOST_POINTS], column[SWEEP_MOST_POINTS], n_keys = view->points[0]->n_keys, n_ends = 0, ends[2];
  const struct axis *axis = &view->like->axis[0];
  bool along = n_keys == 1;
  for (size_t end = 0; end < 2; end++) {
    if (view->ends[end]) {
      ends[n_ends++] = sweep_place(view->like, end == 1);
    }
  }
  for (size_t i = 0; i < view->n_points; i++) {
    size_t r = number_of(view, i, 0, 1, row), c = along ? 0 : number_of(view, i, 1, n_keys, column);
    drawing->n_rows = r + 1 > drawing->n_rows ? r + 1 : drawing->n_rows;
    drawing->n_columns = c + 1 > drawing->n_columns ? c + 1 : drawing->n_columns;
  }
  drawing->n_columns =
      along ? (axis->length < SWEEP_MOST_PLACES ? axis->length : SWEEP_MOST_PLACES) : drawing->n_columns;
  drawing->n_matrices = along ? 1 : n_ends;
  if (cells_new(drawing, err)) {
    return err->code;
  }
  for (size_t m = 0; m < drawing->n_matrices; m++) {
    char at[SWEEP_PLACE] = "";
    if (!along) {
      sweep_say_place(source, view, ends[m] > 0, at, sizeof at);
    }
    snprintf(drawing->matrices[m].title, sizeof drawing->matrices[m].title, "%s%s%s", view->points[0]->base,
             along ? "" : ", ", at);
    for (size_t i = 0; i < drawing->n_rows * drawing->n_columns; i++) {
      drawing->matrices[m].cells[i] = (struct cell){.value = NAN, .state = CELL_NOT_RUN};
    }
    for (size_t i = 0; i < view->n_points; i++) {
      const struct sweep_point *point = view->points[i];
      for (size_t c = 0; c < (along ? drawing->n_columns : 1); c++) {
        size_t place = along ? c * (axis->length - 1) / (drawing->n_columns > 1 ? drawing->n_columns - 1 : 1) : ends[m];
        size_t at_column = along ? c : column[i];
        struct cell *cell = &drawing->matrices[m].cells[row[i] * drawing->n_columns + at_column];
        *cell = sweep_cell(source, view, point, point->label, place);
        frame_model(source, view, point->label, point, cell);
        if (along) {
          sweep_say_value(view, axis, place, drawing->columns[c].text, sizeof drawing->columns[c].text);
        }
      }
      snprintf(drawing->rows[row[i]].text, sizeof drawing->rows[row[i]].text, "%.110s", point->keys[0].text);
      if (!along) {
        join(point, true, 1, drawing->columns[column[i]].text, sizeof drawing->columns[column[i]].text);
      }
    }
  }
  return 0;
}

/* Points down, schemes across. */
static int map_experiments(const struct picture_source *source, const struct sweeps *sweeps, const struct view *view,
                           struct cells_drawing *drawing, struct error *err) {
  const char *names[SWEEP_MOST_SCHEMES];
  size_t all;
  drawing->n_rows = view->n_points;
  drawing->n_columns = sweep_schemes(sweeps, view, false, names, &all);
  drawing->n_matrices = (size_t)view->ends[0] + (size_t)view->ends[1];
  if (cells_new(drawing, err)) {
    return err->code;
  }
  for (size_t c = 0; c < drawing->n_columns; c++) {
    snprintf(drawing->columns[c].text, sizeof drawing->columns[c].text, "%s", names[c]);
    drawing->columns[c].color = color_of_scheme(source->file, names[c]);
  }
  for (size_t r = 0; r < drawing->n_rows; r++) {
    join(view->points[r], true, 0, drawing->rows[r].text, sizeof drawing->rows[r].text);
  }
  for (size_t m = 0, end = 0; end < 2; end++) {
    if (!view->ends[end]) {
      continue;
    }
    sweep_say_place(source, view, end == 1, drawing->matrices[m].title, sizeof drawing->matrices[m].title);
    for (size_t i = 0; i < drawing->n_rows * drawing->n_columns; i++) {
      const struct sweep_point *point = view->points[i / drawing->n_columns];
      const char *scheme = names[i % drawing->n_columns];
      const struct tensor *tensor = sweep_numbers(source, view, point, scheme);
      struct cell *cell = &drawing->matrices[m].cells[i];
      *cell = sweep_cell(source, view, point, scheme, tensor ? sweep_place(tensor, end == 1) : 0);
      frame_model(source, view, scheme, point, cell);
    }
    m++;
  }
  return 0;
}

int sweep_map(const struct picture_source *source, const struct sweeps *sweeps, const struct view *view,
              struct cells_drawing *drawing, char keys[2][3 * RECORD_NAME], struct error *err) {
  const struct sweep_point *first = view->points[0];
  bool schemes = view->of == SWEEP_OF_SCHEMES;
  *drawing = (struct cells_drawing){
      .title = view->comparison->title, .units = view->like->units, .rows_are = keys[0], .columns_are = keys[1]};
  if (schemes) {
    snprintf(keys[0], sizeof keys[0], "%s", first->keys[0].key);
    if (first->n_keys > 1) {
      join(first, false, 1, keys[1], sizeof keys[1]);
    } else {
      snprintf(keys[1], sizeof keys[1], "%s", sweep_axis_name(&view->like->axis[0]));
    }
  } else {
    join(first, false, 0, keys[0], sizeof keys[0]);
    snprintf(keys[1], sizeof keys[1], "scheme");
  }
  return schemes ? map_schemes(source, view, drawing, err) : map_experiments(source, sweeps, view, drawing, err);
}
