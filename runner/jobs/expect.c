#include "jobs/expect.h"

#include "base/memory.h"
#include "experiments/common.h"
#include "experiments/divergence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON = 160 };

/* The place of `value` among the words, separated by spaces, that a tensor's attribute <axis>_names has. */
static bool place_by_name(const struct tensor *tensor, const struct axis *axis, const char *value, size_t *place) {
  char name[RECORD_NAME + 8];
  snprintf(name, sizeof name, "%s_names", axis->name);
  const struct attribute *names = attributes_find(&tensor->attributes, name);
  const char *word = names ? names->text : "";
  size_t length = strlen(value);
  for (size_t i = 0; *word && i < axis->length; i++) {
    size_t end = strcspn(word, " ");
    if (end == length && !strncmp(word, value, length)) {
      *place = i;
      return true;
    }
    word += end + strspn(word + end, " ");
  }
  return false;
}

/* Where on an axis the config points; false: nowhere. Masks are named by their words, and so are the places of an axis
 * that the tensor names. */
static bool place_on_axis(const struct tensor *tensor, const struct axis *axis, const char *value, size_t *place) {
  if (place_by_name(tensor, axis, value, place)) {
    return true;
  }
  char *end;
  double number = strtod(value, &end);
  for (size_t i = 0; *end && mask_names[i]; i++) {
    if (!strcmp(mask_names[i], value)) {
      number = (double)i;
      end = "";
    }
  }
  for (size_t i = 0; !*end && i < axis->length; i++) {
    if ((axis->values ? axis->values[i] : (double)i) == number) {
      *place = i;
      return true;
    }
  }
  return false;
}

/* at [rank]: the chosen place on each axis, axis->length where all count. */
static bool resolve_choices(const struct plan_expectation *e, const struct tensor *tensor, size_t at[],
                            char reason[REASON]) {
  for (unsigned a = 0; a < tensor->rank; a++) {
    at[a] = tensor->axis[a].length;
  }
  for (size_t c = 0; c < e->n_choices; c++) {
    const struct expect_choice *choice = &e->choices[c];
    bool found = false;
    for (unsigned a = 0; a < tensor->rank; a++) {
      if (!strcmp(tensor->axis[a].name, choice->axis)) {
        found = place_on_axis(tensor, &tensor->axis[a], choice->value, &at[a]);
      }
    }
    if (!found) {
      snprintf(reason, REASON, "there is no %.60s=%.60s", choice->axis, choice->value);
      return false;
    }
  }
  return true;
}

static bool is_chosen(const struct tensor *tensor, const size_t at[], size_t index) {
  for (unsigned a = tensor->rank; a-- > 0;) {
    size_t length = tensor->axis[a].length;
    if (at[a] < length && index % length != at[a]) {
      return false;
    }
    index /= length;
  }
  return true;
}

static double reduce(double *values, size_t n, enum expect_reduction reduction) {
  double result = values[0];
  switch (reduction) {
  case EXPECT_MEAN:
    return mean(values, n);
  case EXPECT_MEDIAN:
    for (size_t i = 0; i < n; i++) {
      if (isnan(values[i])) {
        return NAN;
      }
    }
    return quantile(values, n, 0.5);
  case EXPECT_MIN:
  case EXPECT_MAX:
    for (size_t i = 0; i < n; i++) {
      bool better = reduction == EXPECT_MIN ? values[i] < result : values[i] > result;
      result = better || isnan(values[i]) ? values[i] : result;
      if (isnan(values[i])) {
        return NAN;
      }
    }
    return result;
  case EXPECT_LAST:
    return values[n - 1];
  case EXPECT_FIRST:
  case EXPECT_VALUE:
    return result;
  }
  return NAN;
}

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

/* Evaluate on one record. *value: of the first seed that breaks it, else of the first. */
static int evaluate(const struct plan_expectation *e, const struct record *record, double *value, bool *holds,
                    char reason[REASON], struct error *err) {
  const struct tensor *tensor = record_find(record, e->measure);
  size_t at[RECORD_MAX_RANK];
  *value = NAN;
  *holds = false;
  if (!resolve_choices(e, tensor, at, reason)) {
    return 0;
  }
  size_t seeds = tensor->rank && !strcmp(tensor->axis[0].name, "seed") ? tensor->axis[0].length : 1;
  size_t inner = tensor->count / seeds;
  double *values = memory_new(inner + 1, sizeof *values, e->measure, err);
  if (!values) {
    return err->code;
  }
  *holds = true;
  snprintf(reason, REASON, "holds");
  for (size_t seed = 0; *holds && seed < seeds; seed++) {
    size_t n = 0;
    for (size_t i = 0; i < inner; i++) {
      size_t index = seed * inner + i;
      if (is_chosen(tensor, at, index)) {
        values[n++] = tensor_value(tensor, index);
      }
    }
    if (n == 0 && seeds > 1) {
      continue; /* another seed was chosen */
    }
    if (n == 0 || (e->reduction == EXPECT_VALUE && n != 1)) {
      *holds = false;
      snprintf(reason, REASON, "%zu numbers where one is needed: choose on the axes or reduce them", n);
      break;
    }
    double result = reduce(values, n, e->reduction);
    *holds = stands(result, e->relation, e->number);
    if (seed == 0 || !*holds) {
      *value = result;
    }
    if (!*holds) {
      snprintf(reason, REASON, isnan(result) ? "does not hold: undefined" : "does not hold");
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
      char reason[REASON] = "does not hold: there is no such measure";
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
