#include "jobs/grid.h"

#include "base/memory.h"
#include "base/text.h"
#include "experiments/common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char GROUP[] = "comparison";

/* Experiments of one kind on models of their own, in the plan's order. */
struct family {
  const struct plan *plan;
  const struct run *run;
  size_t *rows; /* [n] indices of experiments */
  size_t n;
};

static bool is_row(const struct plan *plan, size_t e, const struct experiment_info *info) {
  return plan->experiments[e].weights && plan->experiments[e].info == info;
}

/* How many experiments are like number e, which is the first of them; 0: it is not. */
static size_t count_from(const struct plan *plan, size_t e) {
  const struct experiment_info *info = plan->experiments[e].info;
  size_t count = 0;
  for (size_t i = 0; i < plan->n_experiments; i++) {
    if (is_row(plan, i, info)) {
      if (i < e) {
        return 0;
      }
      count += is_row(plan, e, info);
    }
  }
  return count;
}

/* ---- names ---- */

/* What the weights of an experiment were trained with: as its records say; else the name of the file. */
static void trained_with(const struct family *family, size_t row, char name[RECORD_NAME]) {
  size_t e = family->rows[row];
  for (size_t s = 0; s < family->plan->n_schemes; s++) {
    const struct attribute *attribute =
        attributes_find(&family->run->experiments[e].schemes[s].attributes, "trained_with");
    if (attribute && attribute->kind == ATTRIBUTE_TEXT) {
      snprintf(name, RECORD_NAME, "%.70s", attribute->text);
      return;
    }
  }
  const char *path = family->plan->experiments[e].weights, *slash = strrchr(path, '/');
  snprintf(name, RECORD_NAME, "%.70s", slash ? slash + 1 : path);
}

static int set_names(const struct family *family, struct attributes *attributes, struct error *err) {
  struct text rows = {0}, columns = {0};
  for (size_t row = 0; row < family->n; row++) {
    char name[RECORD_NAME];
    trained_with(family, row, name);
    text_printf(&rows, "%s%s", row ? " " : "", name);
  }
  for (size_t s = 0; s < family->plan->n_schemes; s++) {
    text_printf(&columns, "%s%s", s ? " " : "", family->plan->schemes[s].label);
  }
  char *trained = text_take(&rows, err), *applied = trained ? text_take(&columns, err) : NULL;
  text_free(&columns);
  int status = applied ? attributes_set_text(attributes, "trained_with_names", trained, err) : (int)err->code;
  status = status ? status : attributes_set_text(attributes, "applied_names", applied, err);
  free(trained);
  free(applied);
  return status;
}

/* ---- numbers ---- */

static const struct record *comparison_of(const struct family *family, size_t row, const char *label) {
  const struct conclusion *conclusion = &family->run->experiments[family->rows[row]].conclusion;
  for (size_t c = 0; c < conclusion->n_comparisons; c++) {
    if (!strcmp(conclusion->comparisons[c].label, label)) {
      return &conclusion->comparisons[c];
    }
  }
  return NULL;
}

/* The numbers of one cell along the axis; NULL: there are none, or not along this axis. */
static const struct tensor *cell_of(const struct family *family, size_t row, const char *label, size_t s,
                                    const struct axis *axis) {
  const struct record *comparison = comparison_of(family, row, label);
  const struct tensor *tensor = comparison ? record_find(comparison, family->plan->schemes[s].label) : NULL;
  bool fits = tensor && tensor->rank == 1 &&
              (!axis || (!strcmp(tensor->axis[0].name, axis->name) && tensor->axis[0].length == axis->length));
  for (size_t i = 0; fits && axis && axis->values && i < axis->length; i++) {
    fits = tensor->axis[0].values && tensor->axis[0].values[i] == axis->values[i];
  }
  return fits ? tensor : NULL;
}

/* The first cell that there is gives axis and unit. */
static const struct tensor *first_cell(const struct family *family, const char *label) {
  const struct tensor *found = NULL;
  for (size_t row = 0; !found && row < family->n; row++) {
    for (size_t s = 0; !found && s < family->plan->n_schemes; s++) {
      found = cell_of(family, row, label, s, NULL);
    }
  }
  return found;
}

static int add_tensor(const struct family *family, const struct record *comparison, struct record *record,
                      struct error *err) {
  const struct tensor *like = first_cell(family, comparison->label);
  size_t n_schemes = family->plan->n_schemes, rows = family->n;
  const char *measure = comparison->label + strlen(GROUP);
  if (!like) {
    return 0;
  }
  struct tensor_spec spec = {.name = *measure ? measure + 1 : "headline",
                             .element = ELEMENT_F64,
                             .rank = 3,
                             .axis = {axis_spec_of(&like->axis[0]),
                                      {.name = "trained_with", .length = rows, .long_name = "trained with"},
                                      {.name = "applied", .length = n_schemes, .long_name = "applied"}},
                             .long_name = comparison->title,
                             .units = like->units,
                             .image = true};
  struct tensor *tensor = record_add(record, &spec, err);
  if (!tensor) {
    return err->code;
  }
  for (size_t row = 0; row < rows; row++) {
    for (size_t s = 0; s < n_schemes; s++) {
      const struct tensor *cell = cell_of(family, row, comparison->label, s, &like->axis[0]);
      for (size_t i = 0; cell && i < cell->count; i++) {
        ((double *)tensor->data)[(i * rows + row) * n_schemes + s] = tensor_value(cell, i);
      }
    }
  }
  return set_names(family, &tensor->attributes, err);
}

/* ---- tables ---- */

/* Ends of intervals, medians and what lies inside stand in the file alone. */
static bool is_beside(const char *name) {
  static const char *const endings[] = {"_low", "_high", "_median", "_inside", NULL};
  for (size_t i = 0; endings[i]; i++) {
    size_t length = strlen(name), end = strlen(endings[i]);
    if (length > end && !strcmp(name + length - end, endings[i])) {
      return true;
    }
  }
  return false;
}

static int add_row(const struct family *family, const struct tensor *tensor, size_t row, size_t at, struct table *table,
                   struct error *err) {
  char name[RECORD_NAME];
  trained_with(family, row, name);
  int status = table_text(table, err, "%s", name);
  for (size_t s = 0; !status && s < family->plan->n_schemes; s++) {
    const struct record *record = &family->run->experiments[family->rows[row]].schemes[s];
    double value = tensor_value(tensor, (at * family->n + row) * family->plan->n_schemes + s);
    enum scheme_role role = record_role(record);
    bool own = role == ROLE_MODEL || role == ROLE_MAPPED || !strcmp(name, family->plan->schemes[s].info->id);
    status = isnan(value) ? table_number_as(table, value, err, "-")
                          : table_number_as(table, value, err, "%.3g%s", value, own ? " *" : "");
  }
  return status;
}

/* Whether anything but 0 stands at a place of the axis. */
static bool says_something(const struct tensor *tensor, size_t at) {
  size_t each = tensor->count / tensor->axis[0].length;
  for (size_t i = at * each; i < (at + 1) * each; i++) {
    double value = tensor_value(tensor, i);
    if (!isnan(value) && value != 0) {
      return true;
    }
  }
  return false;
}

static int add_table(const struct family *family, const struct tensor *tensor, size_t at, const char *kind,
                     struct conclusion *out, struct error *err) {
  const struct axis *axis = &tensor->axis[0];
  double value = axis->values ? axis->values[at] : (double)at;
  struct table *table = conclusion_add_table(out, err);
  int status = table ? table_title(table, err, "%s, trained with (rows) x applied (columns): %s, at %s %g", kind,
                                   tensor->long_name, axis->long_name[0] ? axis->long_name : axis->name, value)
                     : (int)err->code;
  status = status ? status : table_column(table, "trained_with", "trained with", false, false, err);
  for (size_t s = 0; !status && s < family->plan->n_schemes; s++) {
    const char *label = family->plan->schemes[s].label;
    status = table_column(table, label, label, true, false, err);
  }
  for (size_t row = 0; !status && row < family->n; row++) {
    status = add_row(family, tensor, row, at, table, err);
  }
  return status ? status
                : table_note(table, err,
                             "*: the model itself. Elsewhere the scheme is swapped in without retraining: what the "
                             "mechanism does to these weights, no verdict on it.");
}

/* ---- all of it ---- */

static int conclude_family(const struct family *family, struct conclusion *out, struct error *err) {
  const struct plan_experiment *first = &family->plan->experiments[family->rows[0]];
  const struct conclusion *like = &family->run->experiments[family->rows[0]].conclusion;
  struct plan_experiment entry = {.label = "grid"};
  char title[RECORD_NAME + 40];
  snprintf(title, sizeof title, "%s: trained with x applied", first->info->id);
  struct record *record = conclusion_add_comparison(out, &entry, first->info->id, title, err);
  int status = record ? 0 : (int)err->code;
  for (size_t c = 0; !status && c < like->n_comparisons; c++) {
    status = add_tensor(family, &like->comparisons[c], record, err);
  }
  for (size_t i = 0; !status && i < record->count; i++) {
    const struct tensor *tensor = &record->tensors[i];
    size_t n = tensor->axis[0].length, ends[] = {0, n - 1};
    for (size_t end = n > 1 ? 0 : 1; !status && n && end < 2; end++) {
      if (!is_beside(tensor->name) && says_something(tensor, ends[end])) {
        status = add_table(family, tensor, ends[end], first->info->id, out, err);
      }
    }
  }
  return status;
}

int grid_conclude(const struct plan *plan, const struct run *run, struct conclusion *out, struct error *err) {
  int status = 0;
  for (size_t e = 0; !status && e < plan->n_experiments; e++) {
    struct family family = {.plan = plan, .run = run};
    size_t count = count_from(plan, e);
    if (count < 2) {
      continue;
    }
    family.rows = memory_new(count, sizeof *family.rows, "grid", err);
    for (size_t i = 0; family.rows && i < plan->n_experiments; i++) {
      if (is_row(plan, i, plan->experiments[e].info)) {
        family.rows[family.n++] = i;
      }
    }
    status = family.rows ? conclude_family(&family, out, err) : (int)err->code;
    free(family.rows);
  }
  return status;
}
