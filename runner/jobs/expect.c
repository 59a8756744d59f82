#include "jobs/expect.h"

#include "base/memory.h"
#include "experiments/common.h"
#include "jobs/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Comparisons with NaN are false: what is undefined holds nothing. */
static bool stands(double value, enum expect_relation relation, double number) {
  switch (relation) {
  case EXPECT_LESS:
    return value < number;
  case EXPECT_LESS_OR_EQUAL:
    return value <= number;
  case EXPECT_GREATER:
    return value > number;
  case EXPECT_GREATER_OR_EQUAL:
    return value >= number;
  case EXPECT_EQUAL:
    return value == number;
  case EXPECT_NOT_EQUAL:
    return !isnan(value) && value != number;
  }
  return false;
}

/* Evaluate on one record. *value: of the first seed that breaks it, else of the first that is chosen. */
static int evaluate(const struct plan_expectation *e, const struct record *record, double *value, bool *holds,
                    char reason[MEASURED_REASON], struct error *err) {
  const struct tensor *tensor = record_find(record, e->measure);
  size_t at[RECORD_MAX_RANK];
  *value = NAN;
  *holds = false;
  if (!measured_choose(e, tensor, at, reason)) {
    return 0;
  }
  size_t seeds = tensor->rank && !strcmp(tensor->axis[0].name, "seed") ? tensor->axis[0].length : 1;
  size_t inner = tensor->count / seeds;
  double *values = memory_new(inner + 1, sizeof *values, e->measure, err);
  if (!values) {
    return err->code;
  }
  *holds = true;
  snprintf(reason, MEASURED_REASON, "holds");
  size_t evaluated = 0;
  for (size_t seed = 0; *holds && seed < seeds; seed++) {
    size_t n = 0;
    for (size_t i = 0; i < inner; i++) {
      size_t index = seed * inner + i;
      if (measured_is_chosen(tensor, at, index)) {
        values[n++] = tensor_value(tensor, index);
      }
    }
    if (n == 0 && seeds > 1) {
      continue; /* another seed was chosen */
    }
    if (n == 0 || (e->reduction == EXPECT_VALUE && n != 1)) {
      *holds = false;
      snprintf(reason, MEASURED_REASON, "%zu numbers where one is needed: choose on the axes or reduce them", n);
      break;
    }
    double result = measured_reduce(values, n, e->reduction);
    *holds = stands(result, e->relation, e->number);
    if (evaluated++ == 0 || !*holds) {
      *value = result;
    }
    if (!*holds) {
      snprintf(reason, MEASURED_REASON, isnan(result) ? "does not hold: undefined" : "does not hold");
    }
  }
  free(values);
  return 0;
}

static struct table *expectations_table(struct conclusion *conclusion, const char *experiment, struct error *err) {
  struct table *table = conclusion_add_table(conclusion, err);
  if (!table || table_title(table, err, "%s: what the config expects", experiment) ||
      table_column(table, "expectation", "expectation", false, false, err) ||
      table_column(table, "measured", "measured", true, false, err) ||
      table_column(table, "outcome", "outcome", false, true, err)) {
    return NULL;
  }
  return table;
}

static int add_row(struct table *table, const struct plan_expectation *e, double value, const char *reason,
                   struct error *err) {
  int status = table_text(table, err, "%s", e->text);
  status = status ? status : table_number(table, value, err);
  return status ? status : table_text(table, err, "%s", reason);
}

/* Whether the expectation speaks of this experiment: by name, or by a measure that it has. */
static const struct record *record_of(const struct plan *plan, const struct run *run, size_t experiment,
                                      const struct plan_expectation *e) {
  if (*e->experiment && strcmp(e->experiment, plan->experiments[experiment].label) != 0) {
    return NULL;
  }
  for (size_t s = 0; s < plan->n_schemes; s++) {
    const struct record *record = &run->experiments[experiment].schemes[s];
    if (!strcmp(plan->schemes[s].label, e->label) && record_find(record, e->measure)) {
      return record;
    }
  }
  return NULL;
}

int run_expect(const struct plan *plan, struct run *run, struct error *err) {
  struct table **tables = memory_new(plan->n_experiments, sizeof *tables, "expectations", err);
  int status = tables ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < plan->n_expectations; i++) {
    const struct plan_expectation *e = &plan->expectations[i];
    bool found = false;
    for (size_t x = 0; !status && x <= plan->n_experiments; x++) {
      bool last = x == plan->n_experiments;
      const struct record *record = last ? NULL : record_of(plan, run, x, e);
      if ((last && found) || (!last && !record)) {
        continue;
      }
      size_t place = last ? 0 : x; /* what no experiment has is told under the first */
      if (!tables[place]) {
        tables[place] = expectations_table(&run->experiments[place].conclusion, plan->experiments[place].label, err);
      }
      double value = NAN;
      bool holds = false;
      char reason[MEASURED_REASON] = "does not hold: there is no such measure";
      status = tables[place] ? 0 : (int)err->code;
      if (!status && record) {
        status = evaluate(e, record, &value, &holds, reason, err);
      }
      status = status ? status : add_row(tables[place], e, value, reason, err);
      run->n_broken += !holds;
      found = true;
    }
  }
  free(tables);
  return status;
}
