/* One line for each statement and scheme that it speaks of: what is stated, whether it is so, and the number. */
#include "experiments/claims.h"

#include "base/memory.h"
#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a line is made of. */
struct line {
  struct table *rows;
  const char *label;
};

static int add_line(const struct line *line, bool answer, double measured, double bound, struct error *err,
                    const char *statement, const char *says) {
  int status = table_text(line->rows, err, "%s", line->label);
  status = status ? status : table_text(line->rows, err, "%s", statement);
  status = status ? status : table_text(line->rows, err, "%s", answer ? "yes" : "no");
  status = status ? status : table_number(line->rows, measured, err);
  status = status ? status : table_number(line->rows, bound, err);
  return status ? status : table_text(line->rows, err, "%s", says);
}

/* The only (or largest) number of a measure, NaN: the record has none. */
static int largest(const struct record *record, const char *name, double *out, struct error *err) {
  size_t count = 0;
  double *values = measure(record, name, &count, err);
  *out = NAN;
  for (size_t i = 0; values && i < count; i++) {
    *out = fmax(*out, values[i]);
  }
  free(values);
  return (int)err->code;
}

static int tell_order(const struct line *line, const struct plan_scheme *scheme, const struct record *record,
                      struct error *err) {
  double deviation, bound;
  int status = largest(record, "permutation_deviation", &deviation, err);
  status = status ? status : largest(record, "permutation_bound", &bound, err);
  if (status || isnan(deviation)) {
    return status;
  }
  if (!scheme->info->sites) {
    return add_line(line, deviation <= bound, deviation, bound, err,
                    "attention without positions is equivariant: reordered tokens give reordered weights",
                    "largest change of a weight, all orders");
  }
  return add_line(line, deviation > bound, deviation, bound, err, "with positions attention sees order",
                  "largest change of a weight, all orders");
}

static int tell_distances(const struct line *line, const struct record *record, struct error *err) {
  size_t pairs = 0, ends = 0;
  double *difference = measure(record, "bias_difference", &pairs, err);
  double *distances = difference ? measure(record, "distances", &ends, err) : NULL;
  int status = (int)err->code;
  for (size_t i = 0; !status && distances && i < pairs; i++) {
    status = table_text(line->rows, err, "%s", line->label);
    status = status ? status
                    : table_text(line->rows, err, "distances %.10g and %.10g share a bias (a bucket)", distances[2 * i],
                                 distances[2 * i + 1]);
    status = status ? status
                    : table_text(line->rows, err, "%s",
                                 isnan(difference[i]) ? "undefined"
                                 : difference[i] == 0 ? "yes"
                                                      : "no");
    status = status ? status : table_number(line->rows, difference[i], err);
    status = status ? status : table_number(line->rows, 0, err);
    status = status ? status : table_text(line->rows, err, "largest difference of their biases, over heads");
  }
  free(difference);
  free(distances);
  return status;
}

static int tell_slopes(const struct line *line, const struct record *record, struct error *err) {
  double deviation;
  size_t heads = 0;
  int status = largest(record, "slope_deviation", &deviation, err);
  double *slope = status || isnan(deviation) ? NULL : measure(record, "slope", &heads, err);
  if (!slope) {
    return status ? status : (int)err->code;
  }
  status = add_line(line, deviation <= (double)FLT_EPSILON, deviation, (double)FLT_EPSILON, err,
                    "the slopes of H heads are 2^(-8h/H), h = 1 .. H", "largest relative deviation");
  struct text text = {0};
  for (size_t head = 0; head < heads; head++) {
    text_printf(&text, "%s%.6g", head ? ", " : "", slope[head]);
  }
  char *list = text_take(&text, err);
  status = status ? status
           : list ? table_note(line->rows, err, "Slopes of %s: %s.", line->label, list)
                  : (int)err->code;
  free(list);
  free(slope);
  return status;
}

static int tell_rotations(const struct line *line, const struct record *record, struct error *err) {
  double origin, norms, bound;
  int status = largest(record, "origin_deviation", &origin, err);
  status = status ? status : largest(record, "norm_deviation", &norms, err);
  status = status ? status : largest(record, "rotation_bound", &bound, err);
  if (status || isnan(origin)) {
    return status;
  }
  status = add_line(line, origin == 0, origin, 0, err, "position 0 is the identity", "largest change of a channel");
  return status ? status
                : add_line(line, norms <= bound, norms, bound, err, "norms are kept",
                           "largest relative change, all positions");
}

static int tell_shifts(const struct line *line, const struct record *record, struct error *err) {
  double residual, bound;
  int status = largest(record, "shift_residual", &residual, err);
  status = status ? status : largest(record, "shift_bound", &bound, err);
  if (status || isnan(residual)) {
    return status;
  }
  return add_line(line, residual <= bound, residual, bound, err,
                  "a shift by k is a linear map: PE(p + k) = M_k PE(p), the same for all p",
                  "largest |PE(p + k) - M_k PE(p)|, M_k turning each pair by k times its frequency");
}

static int tell_beyond(const struct line *line, const struct record *record, struct error *err) {
  double asked, defined, trained, repeated;
  int status = largest(record, "beyond_positions", &asked, err);
  status = status ? status : largest(record, "beyond_defined", &defined, err);
  status = status ? status : largest(record, "beyond_trained", &trained, err);
  status = status ? status : largest(record, "beyond_repeated", &repeated, err);
  if (status || isnan(asked) || record_find(record, "shift_residual") || record_find(record, "origin_deviation") ||
      record_find(record, "bias_difference")) {
    return status; /* a formula has values everywhere, and the extrapolation experiment asks what they are worth */
  }
  status = table_text(line->rows, err, "%s", line->label);
  status = status ? status : table_text(line->rows, err, "a table that ends fails loudly");
  status = status ? status : table_text(line->rows, err, "%s", defined == 0 ? "yes" : "no");
  status = status ? status : table_number(line->rows, defined, err);
  status = status ? status : table_number(line->rows, 0, err);
  return status ? status
                : table_text(line->rows, err,
                             "positions, of the %.10g from L on, that get a value without a word; %.10g repeat a row "
                             "before L, %.10g were never set by training",
                             asked, repeated, defined - trained);
}

int claims_conclude(const struct plan *plan, const struct plan_experiment *entry, const struct record *const *records,
                    struct conclusion *conclusion, struct error *err) {
  struct table *rows = conclusion_add_table(conclusion, err);
  if (!rows || table_title(rows, err, "%s: what textbooks state, and whether it is so", entry->label) ||
      table_column(rows, "scheme", "scheme", false, false, err) ||
      table_column(rows, "statement", "statement", false, true, err) ||
      table_column(rows, "answer", "is it so", false, false, err) ||
      table_column(rows, "measured", "measured", true, false, err) ||
      table_column(rows, "bound", "bound", true, false, err) ||
      table_column(rows, "what", "what was measured", false, true, err)) {
    return err->code;
  }
  int status = 0;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    if (!record_has_numbers(records[s])) {
      continue;
    }
    struct line line = {rows, plan->schemes[s].label};
    status = tell_order(&line, &plan->schemes[s], records[s], err);
    status = status ? status : tell_distances(&line, records[s], err);
    status = status ? status : tell_slopes(&line, records[s], err);
    status = status ? status : tell_rotations(&line, records[s], err);
    status = status ? status : tell_shifts(&line, records[s], err);
    status = status ? status : tell_beyond(&line, records[s], err);
  }
  return status;
}
