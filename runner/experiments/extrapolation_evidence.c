#include "experiments/extrapolation_evidence.h"

#include "base/memory.h"
#include "experiments/divergence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A tensor of one record, or of several seeds of it on a first axis. */
struct stacked {
  const struct tensor *tensor;
  size_t seeds;
  const struct axis *axis; /* those behind the seed */
  size_t inner;            /* elements of one seed */
};

static bool find_stacked(const struct record *record, const char *name, struct stacked *out) {
  *out = (struct stacked){.tensor = record_find(record, name), .seeds = 1};
  if (!out->tensor) {
    return false;
  }
  bool stack = out->tensor->rank && !strcmp(out->tensor->axis[0].name, "seed");
  out->seeds = stack ? out->tensor->axis[0].length : 1;
  out->axis = out->tensor->axis + stack;
  out->inner = out->seeds ? out->tensor->count / out->seeds : 0;
  return out->seeds > 0;
}

/* Mean over heads of row `row` of one seed. */
static double mean_of_heads(const struct stacked *s, size_t seed, size_t row, size_t heads) {
  double sum = 0;
  for (size_t head = 0; head < heads; head++) {
    sum += tensor_value(s->tensor, seed * s->inner + row * heads + head);
  }
  return sum / (double)heads;
}

/* out = values of all seeds at place `at` of the first axis of [at][row][head], without those that have none. Returns
 * how many. */
static size_t gather(const struct stacked *s, size_t at, double *out) {
  size_t rows = s->axis[1].length, heads = s->axis[2].length, count = 0;
  for (size_t seed = 0; seed < s->seeds; seed++) {
    for (size_t row = 0; row < rows; row++) {
      out[count] = mean_of_heads(s, seed, at * rows + row, heads);
      count += isnan(out[count]) ? 0 : 1;
    }
  }
  return count;
}

static double *room_for(const struct stacked *s, struct error *err) {
  return memory_new(s->seeds, (s->axis[1].length + 1) * sizeof(double), "values", err);
}

/* A flag [length] that must be set for every seed (all) or for any. */
static bool flag_at(const struct record *record, const char *name, size_t t, bool all) {
  struct stacked s;
  if (!find_stacked(record, name, &s)) {
    return false;
  }
  bool every = true, any = false;
  for (size_t seed = 0; seed < s.seeds; seed++) {
    bool set = tensor_value(s.tensor, seed * s.inner + t) > 0;
    every = every && set;
    any = any || set;
  }
  return all ? every : any;
}

/* The measure of each unit at one length, and its interval. */
static int read_units(const struct record *record, bool by_seed, size_t t, struct length_evidence *out,
                      struct error *err) {
  struct stacked s;
  out->interval = (struct interval){NAN, NAN};
  if (!find_stacked(record, by_seed ? "truncation_jsd" : "truncation_jsd_by_text", &s)) {
    return 0;
  }
  size_t heads = s.axis[by_seed ? 1 : 2].length;
  size_t rows = by_seed ? s.seeds : s.axis[0].length;
  size_t n_lengths = s.axis[by_seed ? 0 : 1].length;
  double *values = memory_new(rows + 1, sizeof *values, "values", err);
  if (!values) {
    return err->code;
  }
  for (size_t row = 0; row < rows; row++) {
    double value = mean_of_heads(&s, by_seed ? row : 0, by_seed ? t : row * n_lengths + t, heads);
    values[out->units] = value;
    out->units += isnan(value) ? 0 : 1;
  }
  out->interval = student_interval(values, out->units, 0.95);
  free(values);
  return 0;
}

static int read_lengths(const struct record *record, struct extrapolation_evidence *e, struct error *err) {
  struct stacked beyond, inside;
  if (!find_stacked(record, "truncation_by_span", &beyond) ||
      !find_stacked(record, "truncation_inside_by_span", &inside)) {
    return 0;
  }
  e->n_lengths = beyond.axis[0].length;
  e->lengths = memory_new(e->n_lengths, sizeof *e->lengths, "evidence", err);
  double *values = e->lengths ? room_for(&beyond, err) : NULL;
  double *floor = values ? room_for(&inside, err) : NULL;
  int status = floor ? 0 : (int)err->code;
  for (size_t t = 0; !status && t < e->n_lengths; t++) {
    struct length_evidence *at = &e->lengths[t];
    at->length = beyond.axis[0].values[t];
    at->defined = flag_at(record, "defined", t, true);
    at->repeated = flag_at(record, "repeated", t, false);
    at->spans = gather(&beyond, t, values);
    at->median = quantile(values, at->spans, 0.5);
    at->inside_spans = gather(&inside, t, floor);
    at->inside = quantile(floor, at->inside_spans, 0.975);
    status = read_units(record, e->by_seed, t, at, err);
  }
  free(values);
  free(floor);
  return status;
}

/* Floor and knee of windows that are moved along. */
static int read_windows(const struct record *record, struct extrapolation_evidence *e, struct error *err) {
  struct stacked s, offset, signal;
  e->signal = e->floor = e->knee = NAN;
  if (!find_stacked(record, "window_jsd_by_window", &s) || !find_stacked(record, "offset", &offset) ||
      !find_stacked(record, "position_signal", &signal)) {
    return 0;
  }
  size_t positions = s.axis[0].length;
  double *values = room_for(&s, err);
  double *inside =
      values ? memory_new(positions, s.seeds * (s.axis[1].length + 1) * sizeof *inside, "values", err) : NULL;
  size_t n_inside = 0;
  for (size_t p = 0; inside && p < positions; p++) {
    if (tensor_value(offset.tensor, p) > 0 && s.axis[0].values[p] < e->train_length) {
      n_inside += gather(&s, p, inside + n_inside);
    }
  }
  e->floor = quantile(inside, n_inside, 0.975);
  for (size_t p = 0; inside && p < positions; p++) {
    double last = s.axis[0].values[p];
    if (last >= e->train_length && !(e->knee <= last) && quantile(values, gather(&s, p, values), 0.5) > e->floor) {
      e->knee = last;
    }
  }
  double sum = 0;
  for (size_t i = 0; i < signal.tensor->count; i++) {
    sum += tensor_value(signal.tensor, i);
  }
  e->signal = sum / (double)signal.tensor->count;
  int status = inside ? 0 : (int)err->code;
  free(values);
  free(inside);
  return status;
}

int extrapolation_evidence_read(const struct record *record, bool shuffled, struct extrapolation_evidence *evidence,
                                struct error *err) {
  const struct attribute *train_length = attributes_find(&record->attributes, "train_length");
  const struct attribute *unit = attributes_find(&record->attributes, "unit");
  *evidence = (struct extrapolation_evidence){.role = record_role(record),
                                              .shuffled = shuffled,
                                              .by_seed = unit && unit->text && !strcmp(unit->text, "seed"),
                                              .control = NAN,
                                              .train_length = train_length ? (double)train_length->integer : 0};
  int status = read_lengths(record, evidence, err);
  return status ? status : read_windows(record, evidence, err);
}

void extrapolation_evidence_free(struct extrapolation_evidence *evidence) {
  free(evidence->lengths);
  *evidence = (struct extrapolation_evidence){0};
}
