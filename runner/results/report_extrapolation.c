/* Pictures of what happens past the training length. */
#include "results/report_curves.h"
#include "results/report_panels.h"
#include "results/report_pictures.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RECORDS = 64 };

static const double LN_2 = 0.693147180559945309;

/* Scheme records that have tensor `name`. */
static size_t records_with(const struct picture_source *source, const char *name, const struct record *found[]) {
  size_t count = 0;
  for (size_t i = 0; i < source->experiment->count && count < MOST_RECORDS; i++) {
    const struct record *record = source->experiment->records[i];
    if (is_scheme_record(record) && record_find(record, name) && attributes_find(&record->attributes, "train_length")) {
      found[count++] = record;
    }
  }
  return count;
}

/* Some scheme has a number of tensor `name`: without a trained model none is apart from it. */
static bool has(const struct picture_source *source, const char *name) {
  const struct record *found[MOST_RECORDS];
  size_t count = records_with(source, name, found);
  for (size_t r = 0; r < count; r++) {
    const struct tensor *tensor = record_find(found[r], name);
    for (size_t i = 0; i < tensor->count; i++) {
      if (!isnan(tensor_value(tensor, i))) {
        return true;
      }
    }
  }
  return false;
}

/* The axis of independent units: seeds where there are several, else texts. */
static const char *unit_axis(const struct tensor *tensor) {
  return tensor_axis(tensor, "seed") ? "seed" : "text";
}

/* What windows wholly inside the training length show of the model: the 97.5 % quantile over windows and places of the
 * mean over heads. NaN where there is no model or no such window. */
static int floor_inside(const struct picture_source *source, double *out, struct error *err) {
  const struct record *found[MOST_RECORDS];
  size_t count = records_with(source, "window_jsd_by_window", found);
  *out = NAN;
  for (size_t r = 0; r < count && isnan(*out); r++) {
    if (look_of(source->file, found[r]).role != LOOK_MODEL) {
      continue;
    }
    const struct tensor *tensor = record_find(found[r], "window_jsd_by_window");
    const struct axis *place = tensor_axis(tensor, "last_position"), *window = tensor_axis(tensor, "window");
    const struct axis *head = tensor_axis(tensor, "head");
    if (tensor->rank != 3 || !place || !window || !head || !place->values) {
      return 0;
    }
    double length = record_number(found[r], "train_length"), first = record_number(found[r], "window") - 1;
    double *values = memory_new(place->length * window->length, sizeof *values, "windows", err);
    if (!values) {
      return err->code;
    }
    size_t n = 0;
    for (size_t o = 0; o < place->length; o++) {
      bool inside = place->values[o] > first && place->values[o] < length;
      for (size_t w = 0; inside && w < window->length; w++) {
        double sum = 0;
        for (size_t h = 0; h < head->length; h++) {
          sum += tensor_value(tensor, (o * window->length + w) * head->length + h);
        }
        values[n] = sum / (double)head->length;
        n += isnan(values[n]) ? 0 : 1;
      }
    }
    *out = quantile_of(values, n, 0.975);
    free(values);
  }
  return 0;
}

/* The length up to which the scheme is defined, in words; "" where it is defined everywhere. */
static void undefined_word(const struct record *record, char *word, size_t size) {
  const struct tensor *defined = record_find(record, "defined");
  const struct axis *length = defined ? tensor_axis(defined, "length") : NULL;
  double last = 0;
  bool undefined = false;
  word[0] = '\0';
  for (size_t i = 0; length && length->values && i < defined->count; i++) {
    double value = length->values[i % length->length];
    bool is_defined = tensor_value(defined, i) > 0;
    last = is_defined && value > last ? value : last;
    undefined = undefined || !is_defined;
  }
  if (undefined) {
    snprintf(word, size, "undefined beyond %.0f", last);
  }
}

static void free_curves(struct curve *curves, size_t count) {
  for (size_t i = 0; i < count; i++) {
    curve_free(&curves[i]);
  }
}

/* Curves of a measure by length, or by the last position of a window. */
static int make_curves(const struct picture_source *source, const char *name, const char *along, struct curve *curves,
                       size_t *count, struct error *err) {
  const struct record *found[MOST_RECORDS];
  *count = records_with(source, name, found);
  for (size_t i = 0; i < *count; i++) {
    const struct tensor *tensor = record_find(found[i], name);
    double divisor = record_number(found[i], "train_length");
    bool by_length = !strcmp(along, "length");
    if (curve_make(found[i], tensor, along, by_length ? unit_axis(tensor) : "window", divisor, &curves[i], err)) {
      free_curves(curves, i);
      return err->code;
    }
    for (size_t k = 0; by_length && k < curves[i].count; k++) {
      curves[i].x[k] -= 1 / divisor; /* a text of T tokens ends at position T - 1 */
    }
    undefined_word(found[i], curves[i].word, sizeof curves[i].word);
  }
  return 0;
}

static int draw_measure(const struct picture_source *source, const char *name, const char *along, struct chart chart,
                        const struct canvas *canvas, struct text *script, struct error *err) {
  struct curve curves[MOST_RECORDS];
  size_t count = 0;
  if (make_curves(source, name, along, curves, &count, err)) {
    return err->code;
  }
  curves_draw(canvas, source->file, &chart, curves, count, script);
  free_curves(curves, count);
  return 0;
}

/* The same axis in every report, so that reports can be laid side by side. */
static struct chart chart_past(const struct canvas *canvas, double strip) {
  return (struct chart){.x_title = "last position / training length L",
                        .y_title = canvas->narrow ? "divergence (nats)" : "divergence in nats (most: ln 2 = 0.693)",
                        .log_x = true,
                        .x_low = 0.24,
                        .x_high = 64,
                        .y_high = LN_2,
                        .line_at = 1,
                        .line_name = "training length L",
                        .strip = strip,
                        .strip_name = canvas->narrow ? "inside L" : "what windows inside L show",
                        .level = NAN,
                        .x_of = "last position / L"};
}

/* One scheme's curve of a comparison, by length; NULL where it is not there. */
static const struct tensor *compared(const struct picture_source *source, const char *comparison, const char *label,
                                     size_t lengths) {
  for (size_t i = 0; i < source->experiment->count; i++) {
    const struct record *record = source->experiment->records[i];
    if (!strcmp(record->label, comparison)) {
      const struct tensor *tensor = record_find(record, label);
      return tensor && tensor->rank == 1 && tensor->count == lengths ? tensor : NULL;
    }
  }
  return NULL;
}

/* The interval as the file has it, instead of quantiles. */
static void take_interval(const struct picture_source *source, struct curve *curve) {
  const char *label = curve->record->label;
  const struct tensor *low = compared(source, "comparison_truncation_low", label, curve->count);
  const struct tensor *high = compared(source, "comparison_truncation_high", label, curve->count);
  for (size_t i = 0; low && high && i < curve->count; i++) {
    double from = tensor_value(low, i), to = tensor_value(high, i);
    curve->low[i] = from < 0 ? 0 : from;
    curve->high[i] = to > LN_2 ? LN_2 : to;
  }
}

static int chart_height(const struct picture_source *source, bool narrow) {
  const struct record *found[MOST_RECORDS];
  int labels = (int)records_with(source, "window_jsd", found) * 18 + 90;
  int usual = narrow ? 320 : 430;
  return labels > usual ? labels : usual;
}

static void say_units(const struct picture_source *source, const char *name, bool interval, struct text *caption) {
  const struct record *found[MOST_RECORDS];
  size_t count = records_with(source, name, found);
  const struct tensor *tensor = count ? record_find(found[0], name) : NULL;
  const struct axis *axis = tensor ? tensor_axis(tensor, unit_axis(tensor)) : NULL;
  if (axis && axis->length > 1) {
    text_printf(caption,
                interval ? " Lines: means; bands: 95 %% t intervals over %zu %ss."
                         : " Lines: means; bands: 95 %% of %zu %ss.",
                axis->length, axis->name);
  }
  bool present[LOOK_OTHER + 1] = {false};
  for (size_t i = 0; i < count; i++) {
    present[look_of(source->file, found[i]).role] = true;
  }
  if (present[LOOK_MODEL]) {
    text_append(caption, " Thick: the model; thin: the same behind a map of positions.");
  }
  if (present[LOOK_SWAPPED_IN]) {
    text_append(caption, " Dashed: swapped in without retraining, so the line shows what the mechanism does to these "
                         "logits, not how a model trained with it would behave.");
  }
  if (present[LOOK_CONTROL]) {
    text_append(caption, " Grey: no positions.");
  }
}

/* "sinusoidal 0.59, rope 0.35": the last value of each curve. */
static int say_ends(const struct picture_source *source, const char *name, const char *along, struct text *out,
                    struct error *err) {
  struct curve curves[MOST_RECORDS];
  size_t count = 0;
  if (make_curves(source, name, along, curves, &count, err)) {
    return err->code;
  }
  for (size_t c = 0; c < count; c++) {
    double end = NAN, at = NAN;
    for (size_t i = 0; i < curves[c].count; i++) {
      end = isnan(curves[c].middle[i]) ? end : curves[c].middle[i];
      at = isnan(curves[c].middle[i]) ? at : curves[c].x[i];
    }
    text_printf(out, "%s %s %.2g at %g L%s%s", c ? ";" : "", curves[c].record->label, end, at,
                curves[c].word[0] ? ", " : "", curves[c].word);
  }
  free_curves(curves, count);
  return 0;
}

static size_t beyond_count(const struct picture_source *source) {
  return has(source, "truncation_jsd_by_text");
}

/* There is a model, and what it shows within L. */
static bool has_strip(const struct picture_source *source) {
  const struct record *found[MOST_RECORDS];
  size_t count = records_with(source, "truncation_jsd_by_text", found);
  for (size_t i = 0; i < count; i++) {
    const struct axis *length = tensor_axis(record_find(found[i], "truncation_jsd_by_text"), "length");
    if (look_of(source->file, found[i]).role == LOOK_MODEL && length &&
        compared(source, "comparison_truncation_inside", found[i]->label, length->length)) {
      return true;
    }
  }
  return false;
}

static int beyond_describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                           struct error *err) {
  text_append(caption, "How much does it change the attention of the last tokens that they see the whole text and not "
                       "only the last L tokens? 0: the model looks at the same things; ln 2: at entirely others.");
  if (has_strip(source)) {
    text_append(caption, " Grey strip: what the model shows where the same share of context is dropped within L (97.5 "
                         "% quantile).");
  }
  say_units(source, "truncation_jsd_by_text", true, caption);
  text_append(alternative, "Truncation divergence against length. Ends:");
  return say_ends(source, "truncation_jsd_by_text", "length", alternative, err);
}

/* What the model shows where as much context is dropped within L, by length: a copy of its curve with other values. */
static int strip_of(const struct picture_source *source, const struct curve *curves, size_t count, double *values,
                    struct curve *strip) {
  for (size_t c = 0; c < count; c++) {
    const char *label = curves[c].record->label;
    const struct tensor *inside = compared(source, "comparison_truncation_inside", label, curves[c].count);
    if (look_of(source->file, curves[c].record).role == LOOK_MODEL && inside) {
      for (size_t i = 0; i < curves[c].count; i++) {
        values[i] = tensor_value(inside, i);
      }
      *strip = curves[c];
      strip->middle = values;
      return 1;
    }
  }
  return 0;
}

static int beyond_draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                       struct error *err) {
  struct curve curves[MOST_RECORDS], strip;
  size_t count = 0;
  if (make_curves(source, "truncation_jsd_by_text", "length", curves, &count, err)) {
    return err->code;
  }
  size_t longest = 1;
  for (size_t c = 0; c < count; c++) {
    take_interval(source, &curves[c]);
    longest = curves[c].count > longest ? curves[c].count : longest;
  }
  struct chart chart = chart_past(canvas, NAN);
  double *inside = memory_new(longest, sizeof *inside, "strip", err);
  if (inside) {
    chart.strip_curve = strip_of(source, curves, count, inside, &strip) ? &strip : NULL;
    chart.strip_name = canvas->narrow ? "inside L" : "what the model shows inside L";
    curves_draw(canvas, source->file, &chart, curves, count, script);
  }
  free(inside);
  free_curves(curves, count);
  return inside ? 0 : (int)err->code;
}

const struct picture picture_beyond = {
    "beyond",        "Beyond training length: does more context change what it looks at?",
    beyond_count,    0,
    beyond_describe, chart_height,
    beyond_draw};

static size_t to_trained_count(const struct picture_source *source) {
  return has(source, "jsd_to_trained_by_text");
}

static int to_trained_describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                               struct error *err) {
  text_append(caption, "How far is the attention of the last tokens from that of the model as it was trained, on their "
                       "last L tokens at positions 0 to L - 1? For swapped-in schemes the distance is there from the "
                       "start.");
  say_units(source, "jsd_to_trained_by_text", false, caption);
  text_append(alternative, "Divergence from the trained model against length. Ends:");
  return say_ends(source, "jsd_to_trained_by_text", "length", alternative, err);
}

static int to_trained_draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                           struct error *err) {
  return draw_measure(source, "jsd_to_trained_by_text", "length", chart_past(canvas, NAN), canvas, script, err);
}

const struct picture picture_to_trained = {
    "to_trained",   "Is it still the trained model?", to_trained_count, 0, to_trained_describe, chart_height,
    to_trained_draw};

static size_t moved_count(const struct picture_source *source) {
  const struct record *found[MOST_RECORDS];
  return records_with(source, "window_jsd_by_window", found) &&
         tensor_axis(record_find(found[0], "window_jsd_by_window"), "last_position");
}

static int moved_describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                          struct error *err) {
  text_append(caption,
              "The same window of tokens, moved: divergence of its attention from the same tokens at positions "
              "0 and on, mean of heads; bands: 95 % over windows. Schemes that depend on distances alone stay "
              "at 0 by their algebra, which decides nothing about how well they serve.");
  text_append(alternative, "Divergence of moved windows against their last position. Ends:");
  return say_ends(source, "window_jsd_by_window", "last_position", alternative, err);
}

static int moved_draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                      struct error *err) {
  double strip;
  return floor_inside(source, &strip, err) ? (int)err->code
                                           : draw_measure(source, "window_jsd_by_window", "last_position",
                                                          chart_past(canvas, strip), canvas, script, err);
}

const struct picture picture_moved = {
    "moved",   "The same window further on: does its attention stay?", moved_count, 0, moved_describe, chart_height,
    moved_draw};
