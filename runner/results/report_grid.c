/* Picture of a grid, models by what they were trained with and the schemes applied to them: a heat map per measure. */
#include "results/report_cells.h"
#include "results/report_pictures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MEASURES = 64, MOST_ROWS = 64, MOST_COLUMNS = 96, MOST_PLACES = 2 };

/* What is drawn of a measure: its tensor [axis, trained_with, applied] at the first and the last place of the axis, as
 * the tables have it. */
struct measure {
  const struct record *record;
  const struct tensor *tensor;
  size_t places[MOST_PLACES], n_places;
};

static bool is_measure(const struct tensor *tensor) {
  return tensor->rank == 3 && tensor->count && tensor->element != ELEMENT_U8 &&
         !strcmp(tensor->axis[1].name, "trained_with") && !strcmp(tensor->axis[2].name, "applied") &&
         !measure_is_beside(tensor->name);
}

static size_t find_measures(const struct picture_source *source, struct measure *measures) {
  size_t count = 0;
  for (size_t i = 0; i < source->experiment->count; i++) {
    const struct record *record = source->experiment->records[i];
    for (size_t t = 0; t < record->count && count < MOST_MEASURES; t++) {
      const struct tensor *tensor = &record->tensors[t];
      if (!is_measure(tensor)) {
        continue;
      }
      struct measure measure = {.record = record, .tensor = tensor};
      size_t last = tensor->axis[0].length - 1;
      for (size_t end = last > 0 ? 0 : 1; end < 2; end++) {
        if (tensor_says_something(tensor, end ? last : 0)) {
          measure.places[measure.n_places++] = end ? last : 0;
        }
      }
      if (measure.n_places) {
        measures[count++] = measure;
      }
    }
  }
  return count;
}

static size_t rows_drawn(const struct measure *measure) {
  size_t rows = measure->tensor->axis[1].length;
  return rows < MOST_ROWS ? rows : MOST_ROWS;
}

static size_t columns_drawn(const struct measure *measure) {
  size_t columns = measure->tensor->axis[2].length;
  return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

/* Names from an attribute of words; where there are too few, numbers. */
static void fill_names(const struct tensor *tensor, const char *attribute, struct cell_name *names, size_t count) {
  const struct attribute *words = attributes_find(&tensor->attributes, attribute);
  const char *word = words && words->kind == ATTRIBUTE_TEXT ? words->text : "";
  for (size_t i = 0; i < count; i++) {
    size_t length = strcspn(word, " ");
    if (length) {
      snprintf(names[i].text, sizeof names[i].text, "%.*s", (int)length, word);
    } else {
      snprintf(names[i].text, sizeof names[i].text, "%zu", i);
    }
    word += length;
    word += *word == ' ';
  }
}

static void fill_cells(const struct measure *measure, size_t place, struct cell *cells) {
  char name[RECORD_NAME + 8];
  const struct tensor *tensor = measure->tensor;
  size_t all_rows = tensor->axis[1].length, all_columns = tensor->axis[2].length, columns = columns_drawn(measure);
  snprintf(name, sizeof name, "%s_status", tensor->name);
  const struct tensor *status = record_find(measure->record, name);
  const struct tensor *own = record_find(measure->record, "the_model");
  status = status && status->count == tensor->count ? status : NULL;
  own = own && own->count == all_rows * all_columns ? own : NULL;
  for (size_t i = 0; i < rows_drawn(measure) * columns; i++) {
    size_t cell = i / columns * all_columns + i % columns, at = place * all_rows * all_columns + cell;
    double state = status ? tensor_value(status, at) : (double)CELL_MEASURED;
    cells[i] = (struct cell){.value = tensor_value(tensor, at),
                             .state = state <= CELL_NOT_RUN ? (enum cell_state)state : CELL_NOT_RUN,
                             .framed = own && tensor_value(own, cell) > 0};
  }
}

/* To be freed with cells_free. */
static int make_drawing(const struct picture_source *source, const struct measure *measure,
                        struct cells_drawing *drawing, struct error *err) {
  const struct tensor *tensor = measure->tensor;
  const struct axis *axis = &tensor->axis[0];
  size_t rows = rows_drawn(measure), columns = columns_drawn(measure);
  *drawing = (struct cells_drawing){.title = tensor->long_name[0] ? tensor->long_name : tensor->name,
                                    .units = tensor->units,
                                    .rows_are = "trained with",
                                    .columns_are = "applied",
                                    .n_rows = rows,
                                    .n_columns = columns,
                                    .n_matrices = measure->n_places};
  if (cells_new(drawing, err)) {
    return err->code;
  }
  fill_names(tensor, "trained_with_names", drawing->rows, rows);
  fill_names(tensor, "applied_names", drawing->columns, columns);
  for (size_t c = 0; c < columns; c++) {
    drawing->columns[c].color = color_of_scheme(source->file, drawing->columns[c].text);
  }
  for (size_t i = 0; i < measure->n_places; i++) {
    struct cells *matrix = &drawing->matrices[i];
    size_t place = measure->places[i];
    snprintf(matrix->title, sizeof matrix->title, "at %s %.6g", axis->long_name[0] ? axis->long_name : axis->name,
             axis->values ? axis->values[place] : (double)place);
    fill_cells(measure, place, matrix->cells);
  }
  return 0;
}

static size_t count_shown(const struct picture_source *source) {
  struct measure measures[MOST_MEASURES];
  return find_measures(source, measures);
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  struct measure measures[MOST_MEASURES];
  size_t count = find_measures(source, measures), rows = measures[0].tensor->axis[1].length;
  text_append(
      caption,
      "One picture per measure: models down, by what they were trained with, schemes across; one colour scale "
      "for both ends of the axis. Framed: the model itself, with the scheme that it was trained with. Elsewhere "
      "the scheme is swapped in without retraining: what the mechanism does to these weights, no verdict on it. "
      "Grey name: the control. A cell without a value has no colour: undefined (where there is no room for the "
      "word: one stroke), failed (two strokes), or not run.");
  if (rows > MOST_ROWS) {
    text_printf(caption, " The first %d of %zu models are drawn; the file has them all.", MOST_ROWS, rows);
  }
  picture_say_left_out(caption, columns_drawn(&measures[0]), measures[0].tensor->axis[2].length);
  struct cells_drawing drawing;
  if (source->part < count && make_drawing(source, &measures[source->part], &drawing, err)) {
    return err->code;
  }
  if (source->part < count) {
    text_append(alternative, "Heat map of models by what they were trained with and schemes applied to them. ");
    cells_say_values(&drawing, alternative);
    text_append(alternative, ".");
    cells_free(&drawing);
  }
  return 0;
}

static int height(const struct picture_source *source, bool narrow) {
  struct measure measures[MOST_MEASURES];
  struct cells_drawing drawing;
  struct error ignored; /* without memory there will be no drawing */
  size_t count = find_measures(source, measures);
  if (source->part >= count || make_drawing(source, &measures[source->part], &drawing, &ignored)) {
    return 1;
  }
  int pixels = cells_height(&drawing, narrow);
  cells_free(&drawing);
  return pixels;
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  struct measure measures[MOST_MEASURES];
  struct cells_drawing drawing;
  find_measures(source, measures);
  if (make_drawing(source, &measures[source->part], &drawing, err)) {
    return err->code;
  }
  int failed = cells_draw(canvas, &drawing, script, err);
  cells_free(&drawing);
  return failed;
}

const struct picture picture_grid = {"grid", "What each encoding makes of each model", count_shown, 1, describe, height,
                                     draw};
