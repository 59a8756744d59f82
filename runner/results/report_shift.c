/* Picture of the score's error against the shift of all positions. */
#include "results/report_curves.h"
#include "results/report_pictures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RECORDS = 64 };

static double largest(const struct tensor *tensor) {
  double most = NAN;
  for (size_t i = 0; tensor && i < tensor->count; i++) {
    most = fmax(most, tensor_value(tensor, i));
  }
  return most;
}

/* Scheme records with a shift error and logits that differ at all. */
static size_t records_with_shift(const struct picture_source *source, const struct record *found[]) {
  size_t count = 0;
  for (size_t i = 0; i < source->experiment->count && count < MOST_RECORDS; i++) {
    const struct record *record = source->experiment->records[i];
    bool fits = is_scheme_record(record) && record_find(record, "shift_error") &&
                largest(record_find(record, "logit_spread")) > 0;
    if (fits) {
      found[count++] = record;
    }
  }
  return count;
}

static size_t count_shown(const struct picture_source *source) {
  const struct record *found[MOST_RECORDS];
  return records_with_shift(source, found);
}

/* What rounding alone may do, as a share of the spread: the largest over schemes. NaN where it is not known. */
static double bound_of(const struct record *const *found, size_t count) {
  double bound = NAN;
  for (size_t i = 0; i < count; i++) {
    double spread = largest(record_find(found[i], "logit_spread"));
    bound = fmax(bound, largest(record_find(found[i], "rounding_bound")) / spread);
  }
  return bound;
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  const struct record *found[MOST_RECORDS];
  size_t count = records_with_shift(source, found);
  (void)err;
  text_append(caption, "All positions moved by the same shift: the largest change of a score, as a share of the spread "
                       "of the scores. A scheme that knows distances alone stays below what rounding can do (dashed "
                       "line); one that knows places does not. Schemes whose scores do not depend on position at all "
                       "are left out.");
  text_append(alternative, "Largest change of a score under a shift, as a share of the scores' spread:");
  for (size_t i = 0; i < count; i++) {
    double share = largest(record_find(found[i], "shift_error")) / largest(record_find(found[i], "logit_spread"));
    text_printf(alternative, "%s %s %.2g", i ? ";" : "", found[i]->label, share);
  }
  return 0;
}

static int height(const struct picture_source *source, bool narrow) {
  (void)source;
  return narrow ? 300 : 400;
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  const struct record *found[MOST_RECORDS];
  struct curve curves[MOST_RECORDS];
  size_t count = records_with_shift(source, found);
  struct chart chart = {.x_title = "shift of all positions",
                        .y_title = "error / spread of the scores",
                        .log_x = true,
                        .log_y = true,
                        .line_at = NAN,
                        .strip = NAN,
                        .level = bound_of(found, count),
                        .level_name = "what rounding can do",
                        .x_of = "shift"};
  for (size_t c = 0; c < count; c++) {
    if (curve_make(found[c], record_find(found[c], "shift_error"), "shift", "seed", 1, &curves[c], err)) {
      for (size_t i = 0; i < c; i++) {
        curve_free(&curves[i]);
      }
      return err->code;
    }
    double spread = largest(record_find(found[c], "logit_spread"));
    for (size_t i = 0; i < curves[c].count; i++) {
      curves[c].middle[i] /= spread;
      curves[c].low[i] /= spread;
      curves[c].high[i] /= spread;
    }
  }
  curves_draw(canvas, source->file, &chart, curves, count, script);
  for (size_t c = 0; c < count; c++) {
    curve_free(&curves[c]);
  }
  return 0;
}

const struct picture picture_shift = {
    "shift", "Do the scores stay when all positions move?", count_shown, 0, describe, height, draw};
