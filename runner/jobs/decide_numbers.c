#include "jobs/decide.h"

#include "base/memory.h"
#include "experiments/common.h"
#include "experiments/statistics.h"
#include "jobs/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Axes that a condition's length is sought on, in this order. */
static const char *const length_axes[] = {"length", "shift",    "last_position", "last", "offset",
                                          "time",   "distance", "position",      NULL};

static const struct axis *length_axis(const struct tensor *tensor, unsigned *which) {
  for (size_t i = 0; length_axes[i]; i++) {
    for (unsigned a = 0; a < tensor->rank; a++) {
      if (!strcmp(tensor->axis[a].name, length_axes[i])) {
        *which = a;
        return &tensor->axis[a];
      }
    }
  }
  return NULL;
}

double decide_attribute(const struct record *record, const char *name) {
  const struct attribute *attribute = attributes_find(&record->attributes, name);
  bool real = attribute && attribute->kind == ATTRIBUTE_REAL;
  return attribute && attribute->kind == ATTRIBUTE_INT ? (double)attribute->integer : real ? attribute->real : NAN;
}

/* The places on the tensor's axes: those that the config chose, and the length's. A measure without such an axis is of
 * one length, which the record states. */
static bool choose(const struct plan_condition *condition, const struct record *record, const struct tensor *tensor,
                   size_t at[], char reason[MEASURED_REASON]) {
  if (!measured_choose(&condition->measure, tensor, at, reason)) {
    return false;
  }
  unsigned which;
  const struct axis *axis = length_axis(tensor, &which);
  if (!axis) {
    double own = decide_attribute(record, "length");
    bool same = own == condition->length;
    if (!same && isnan(own)) {
      snprintf(reason, MEASURED_REASON, "%.60s has no length", condition->measure.measure);
    } else if (!same) {
      snprintf(reason, MEASURED_REASON, "%.60s is of length %g, not %g", condition->measure.measure, own,
               condition->length);
    }
    return same;
  }
  for (size_t i = 0; i < axis->length; i++) {
    if ((axis->values ? axis->values[i] : (double)i) == condition->length) {
      at[which] = i;
      return true;
    }
  }
  snprintf(reason, MEASURED_REASON, "there is no %.40s %g", axis->name, condition->length);
  return false;
}

/* units [n_units]: the measure reduced for each value of the first axis (of `seed` or `text`), or once. */
static int reduce_units(const struct plan_condition *condition, const struct tensor *tensor, const size_t at[],
                        bool first_axis_is_unit, struct decide_number *out, struct error *err) {
  size_t n_units = first_axis_is_unit ? tensor->axis[0].length : 1;
  size_t inner = tensor->count / (n_units ? n_units : 1);
  out->units = memory_new(n_units + 1, sizeof *out->units, "units", err);
  double *values = out->units ? memory_new(inner + 1, sizeof *values, "values", err) : NULL;
  if (!values) {
    return err->code;
  }
  for (size_t unit = 0; unit < n_units; unit++) {
    size_t n = 0;
    for (size_t i = 0; i < inner; i++) {
      if (measured_is_chosen(tensor, at, unit * inner + i)) {
        values[n++] = tensor_value(tensor, unit * inner + i);
      }
    }
    if (n == 0) {
      continue; /* the config chose other units */
    }
    if (condition->measure.reduction == EXPECT_VALUE && n != 1) {
      snprintf(out->reason, sizeof out->reason, "%zu numbers where one is needed: choose on the axes or reduce them",
               n);
      out->outcome = DECIDE_NOT_MEASURED;
      break;
    }
    out->units[out->n_units++] = measured_reduce(values, n, condition->measure.reduction);
  }
  free(values);
  return 0;
}

/* The record that the condition speaks of: by the experiment's name, or the first that has the measure. */
static const struct record *record_of(const struct plan_condition *condition, const struct decide_source *sources,
                                      size_t n_sources, size_t s, const struct decide_source **source) {
  for (size_t i = 0; i < n_sources; i++) {
    const char *wanted = condition->measure.experiment;
    const struct record *record = &sources[i].records[s];
    if ((!*wanted || !strcmp(wanted, sources[i].experiment)) && record_find(record, condition->measure.measure)) {
      *source = &sources[i];
      return record;
    }
  }
  return NULL;
}

/* Why a scheme has no record with the measure: whether its job ran is told by the other sources. */
static void say_missing(const struct plan_condition *condition, const struct decide_source *sources, size_t n_sources,
                        size_t s, struct decide_number *out) {
  out->outcome = DECIDE_NOT_MEASURED;
  snprintf(out->reason, sizeof out->reason, "there is no such measure");
  for (size_t i = 0; i < n_sources; i++) {
    const char *wanted = condition->measure.experiment;
    const struct record *record = &sources[i].records[s];
    out->trained = out->trained || (sources[i].trained && !strcmp(wanted, sources[i].experiment));
    if ((!*wanted || !strcmp(wanted, sources[i].experiment)) && record->status == RECORD_UNDEFINED) {
      out->outcome = DECIDE_UNDEFINED;
      snprintf(out->reason, sizeof out->reason, "%.150s", record->error.text);
      return;
    }
    if ((!*wanted || !strcmp(wanted, sources[i].experiment)) && record->status != RECORD_MEASURED) {
      bool told = record->status == RECORD_NOT_RUN && record->error.text[0];
      snprintf(out->reason, sizeof out->reason, "%.150s",
               told                              ? record->error.text
               : record->status == RECORD_FAILED ? "the job failed"
                                                 : "the job was not run");
    }
  }
}

/* Mean and interval over units; undefined where any unit is. */
static void summarise(struct decide_number *out) {
  double sum = 0;
  for (size_t i = 0; i < out->n_units; i++) {
    sum += out->units[i];
  }
  out->value = sum / (double)out->n_units;
  if (isnan(out->value)) {
    out->outcome = DECIDE_UNDEFINED;
    snprintf(out->reason, sizeof out->reason, "undefined");
    return;
  }
  if (out->n_units >= 2) {
    struct interval interval = student_interval(out->units, out->n_units, 0.95);
    out->low = interval.mean - interval.half;
    out->high = interval.mean + interval.half;
  }
}

int decide_number(const struct plan *plan, const struct decide_source *sources, size_t n_sources,
                  const struct plan_condition *condition, size_t s, struct decide_number *out, enum scheme_role *role,
                  const char **unit, struct error *err) {
  (void)plan;
  *out = (struct decide_number){.value = NAN,
                                .low = NAN,
                                .high = NAN,
                                .margins = NAN,
                                .margins_low = NAN,
                                .margins_high = NAN,
                                .outcome = DECIDE_MET};
  const struct decide_source *source = NULL;
  const struct record *record = record_of(condition, sources, n_sources, s, &source);
  if (!record) {
    say_missing(condition, sources, n_sources, s, out);
    return 0;
  }
  *role = record_role(record);
  out->trained = source->trained;
  out->swapped = !source->trained && *role == ROLE_SWAPPED_IN;
  const struct tensor *tensor = record_find(record, condition->measure.measure);
  bool is_unit = tensor->rank && !strcmp(tensor->axis[0].name, "seed") && tensor->axis[0].length > 1;
  char by_text[RECORD_NAME + 16];
  snprintf(by_text, sizeof by_text, "%s_by_text", condition->measure.measure);
  const struct tensor *texts = is_unit ? NULL : record_find(record, by_text);
  if (texts && texts->rank && !strcmp(texts->axis[0].name, "text") && texts->axis[0].length > 1) {
    tensor = texts;
    is_unit = true;
  }
  size_t at[RECORD_MAX_RANK];
  if (!choose(condition, record, tensor, at, out->reason)) {
    out->outcome = DECIDE_NOT_MEASURED;
    return 0;
  }
  int status = reduce_units(condition, tensor, at, is_unit, out, err);
  if (status || out->outcome == DECIDE_NOT_MEASURED) {
    return status;
  }
  if (!out->n_units) {
    out->outcome = DECIDE_NOT_MEASURED;
    snprintf(out->reason, sizeof out->reason, "nothing is left to look at");
    return 0;
  }
  if (is_unit && out->n_units > 1 && !out->trained) {
    *unit = !strcmp(tensor->axis[0].name, "seed") ? "seed" : "text";
  }
  summarise(out);
  bool beyond = source->learned && condition->length > source->train_length;
  if (out->outcome == DECIDE_MET && beyond && !evidence_has_learned(source->learned, record->label)) {
    out->outcome = DECIDE_NOT_LEARNED;
    snprintf(out->reason, sizeof out->reason, "not learned at %g", source->train_length);
  }
  return 0;
}
