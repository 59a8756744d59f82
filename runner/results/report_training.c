/* Picture of trained models beyond their training length: loss by length, as the ALiBi paper draws it. */
#include "results/report_curves.h"
#include "results/report_panels.h"
#include "results/report_pictures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RECORDS = 64 };

/* Tasks are measured by their accuracy, texts by the loss on fixed targets. */
static const char *const measures[] = {"accuracy", "loss"};

static size_t records_with(const struct picture_source *source, const char *name, const struct record *found[]) {
  size_t count = 0;
  for (size_t i = 0; i < source->experiment->count && count < MOST_RECORDS; i++) {
    const struct record *record = source->experiment->records[i];
    const struct tensor *tensor = is_scheme_record(record) ? record_find(record, name) : NULL;
    if (tensor && tensor_axis(tensor, "length") && record_number(record, "train_length") > 0 &&
        record_find(record, "training_loss")) {
      found[count++] = record;
    }
  }
  return count;
}

/* The measure that is drawn, and the records that have it. */
static size_t find_records(const struct picture_source *source, const char **measure, const struct record *found[]) {
  size_t count = 0;
  for (size_t i = 0; !count && i < sizeof measures / sizeof *measures; i++) {
    *measure = measures[i];
    count = records_with(source, *measure, found);
  }
  return count;
}

/* "undefined beyond 32", where the last lengths have no number. */
static void say_end(struct curve *curve) {
  size_t last = curve->count;
  for (size_t i = 0; i < curve->count; i++) {
    last = isnan(curve->middle[i]) ? last : i;
  }
  if (last + 1 < curve->count) {
    snprintf(curve->word, sizeof curve->word, "undefined beyond %g", curve->x[last]);
  }
}

static void free_curves(struct curve *curves, size_t count) {
  for (size_t i = 0; i < count; i++) {
    curve_free(&curves[i]);
  }
}

static int make_curves(const struct record *const *records, size_t count, const char *measure, struct curve *curves,
                       struct error *err) {
  for (size_t i = 0; i < count; i++) {
    if (curve_make(records[i], record_find(records[i], measure), "length", "seed", 1, &curves[i], err)) {
      free_curves(curves, i);
      return err->code;
    }
    say_end(&curves[i]);
  }
  return 0;
}

static size_t count_shown(const struct picture_source *source) {
  const struct record *found[MOST_RECORDS];
  const char *measure;
  return find_records(source, &measure, found);
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  const struct record *found[MOST_RECORDS];
  struct curve curves[MOST_RECORDS];
  const char *measure;
  size_t count = find_records(source, &measure, found);
  if (make_curves(found, count, measure, curves, err)) {
    return err->code;
  }
  bool loss = !strcmp(measure, "loss");
  text_printf(caption,
              "One small model per scheme and seed, trained at L = %g tokens and asked at other lengths: %s. "
              "%s",
              record_number(found[0], "train_length"),
              loss ? "the loss on the same fixed targets, with more and more context before them; flat or falling is "
                     "what a scheme that extrapolates does"
                   : "the share of answers that are right",
              curves[0].units == 1 ? "One seed." : "");
  if (curves[0].units > 1) {
    text_printf(caption, "Line: mean over %zu seeds; dots: each seed.", curves[0].units);
  }
  text_printf(alternative, "%s against length. At the first and the last length:", loss ? "Loss" : "Accuracy");
  for (size_t c = 0; c < count; c++) {
    double first = NAN, last = NAN;
    for (size_t i = 0; i < curves[c].count; i++) {
      first = isnan(first) ? curves[c].middle[i] : first;
      last = isnan(curves[c].middle[i]) ? last : curves[c].middle[i];
    }
    text_printf(alternative, "%s %s %.3g, %.3g%s%s", c ? ";" : "", curves[c].record->label, first, last,
                curves[c].word[0] ? ", " : "", curves[c].word);
  }
  free_curves(curves, count);
  return 0;
}

static int height(const struct picture_source *source, bool narrow) {
  (void)source;
  return narrow ? 320 : 420;
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  const struct record *found[MOST_RECORDS];
  struct curve curves[MOST_RECORDS];
  const char *measure;
  size_t count = find_records(source, &measure, found);
  bool loss = !strcmp(measure, "loss");
  struct chart chart = {.x_title = "length in tokens",
                        .y_title = loss ? "loss on the same targets, nats per token" : "accuracy",
                        .log_x = true,
                        .y_high = loss ? 0 : 1.04,
                        .dots = true,
                        .dot_of = "seed",
                        .line_at = record_number(found[0], "train_length"),
                        .line_name = "trained at L",
                        .strip = NAN,
                        .level = NAN,
                        .x_of = "length"};
  if (make_curves(found, count, measure, curves, err)) {
    return err->code;
  }
  /* Room for the dots at the ends. */
  double low = INFINITY, high = 0;
  for (size_t c = 0; c < count; c++) {
    for (size_t i = 0; i < curves[c].count; i++) {
      low = fmin(low, curves[c].x[i]);
      high = fmax(high, curves[c].x[i]);
    }
  }
  chart.x_low = 0.85 * low;
  chart.x_high = 1.15 * high;
  curves_draw(canvas, source->file, &chart, curves, count, script);
  free_curves(curves, count);
  return 0;
}

const struct picture picture_training = {
    "training", "Trained at one length, asked at longer ones", count_shown, 0, describe, height, draw};
