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

/* The name of a row, without blanks. Rows whose models were trained with the same are told apart by what their
 * experiments' labels do not share: "rope:rope_0_lengths_64". */
static void row_name(const struct family *family, size_t row, char name[RECORD_NAME]) {
  const char *label = family->plan->experiments[family->rows[row]].label;
  size_t shared = strlen(label);
  bool repeated = false;
  trained_with(family, row, name);
  for (size_t other = 0; other < family->n; other++) {
    const char *other_label = family->plan->experiments[family->rows[other]].label;
    char other_name[RECORD_NAME];
    size_t same = 0;
    trained_with(family, other, other_name);
    repeated = repeated || (other != row && !strcmp(name, other_name));
    while (other != row && same < shared && label[same] == other_label[same]) {
      same++;
    }
    shared = other == row ? shared : same;
  }
  while (shared > 0 && label[shared - 1] != '_') {
    shared--;
  }
  if (repeated) {
    size_t length = strlen(name);
    snprintf(name + length, RECORD_NAME - length, ":%s", label + shared);
  }
  for (char *c = name; *c; c++) {
    *c = *c == ' ' || (*c >= '\t' && *c <= '\r') ? '_' : *c;
  }
}

static int set_names(const struct family *family, struct attributes *attributes, struct error *err) {
  struct text rows = {0}, columns = {0};
  for (size_t row = 0; row < family->n; row++) {
    char name[RECORD_NAME];
    row_name(family, row, name);
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

/* How each cell went: a cell that is not along the axis counts as not run. `like` is the tensor of its numbers. */
static int add_status(const struct family *family, const char *label, struct record *record, struct tensor *like,
                      struct error *err) {
  char name[RECORD_NAME + 8];
  snprintf(name, sizeof name, "%s_status", like->name);
  const struct axis axes[] = {like->axis[0], like->axis[1], like->axis[2]}; /* `like` moves, its data do not */
  const double *values = like->data;
  struct tensor_spec spec = {.name = name,
                             .element = ELEMENT_U8,
                             .rank = 3,
                             .axis = {axis_spec_of(&axes[0]), axis_spec_of(&axes[1]), axis_spec_of(&axes[2])},
                             .long_name = "how it went"};
  struct tensor *tensor = record_add(record, &spec, err);
  if (!tensor) {
    return err->code;
  }
  for (size_t i = 0; i < tensor->count; i++) {
    size_t s = i % family->plan->n_schemes, row = i / family->plan->n_schemes % family->n;
    const struct record *cell = &family->run->experiments[family->rows[row]].schemes[s];
    bool along = cell_of(family, row, label, s, &axes[0]) != NULL;
    enum record_status status = record_has_numbers(cell) && !along ? RECORD_NOT_RUN : cell->status;
    if (along && record_has_numbers(cell)) {
      status = isnan(values[i]) ? RECORD_UNDEFINED : RECORD_MEASURED;
    }
    ((uint8_t *)tensor->data)[i] = (uint8_t)status;
  }
  return tensor_set_flags(tensor, "measured undefined failed not_run", err);
}

/* The scheme is the one that the model of this row was trained with; for a model without positions that is the control.
 */
static bool is_own(const struct family *family, size_t row, size_t s) {
  char name[RECORD_NAME];
  enum scheme_role role = record_role(&family->run->experiments[family->rows[row]].schemes[s]);
  trained_with(family, row, name);
  return role == ROLE_MODEL || role == ROLE_MAPPED ||
         (role == ROLE_CONTROL && !strcmp(name, family->plan->schemes[s].info->id));
}

static int add_own(const struct family *family, struct record *record, struct error *err) {
  size_t n_schemes = family->plan->n_schemes;
  const struct axis rows = record->tensors[0].axis[1], columns = record->tensors[0].axis[2]; /* tensors move */
  struct tensor_spec spec = {.name = "the_model",
                             .element = ELEMENT_U8,
                             .rank = 2,
                             .axis = {axis_spec_of(&rows), axis_spec_of(&columns)},
                             .long_name = "the scheme is the one that the model was trained with"};
  struct tensor *tensor = record_add(record, &spec, err);
  if (!tensor) {
    return err->code;
  }
  for (size_t i = 0; i < tensor->count; i++) {
    ((uint8_t *)tensor->data)[i] = is_own(family, i / n_schemes, i % n_schemes);
  }
  return tensor_set_flags(tensor, "no yes", err);
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
  int status = set_names(family, &tensor->attributes, err);
  return status ? status : add_status(family, comparison->label, record, tensor, err);
}

/* ---- tables ---- */

static int add_row(const struct family *family, const struct tensor *tensor, size_t row, size_t at, struct table *table,
                   struct error *err) {
  char name[RECORD_NAME];
  row_name(family, row, name);
  int status = table_text(table, err, "%s", name);
  for (size_t s = 0; !status && s < family->plan->n_schemes; s++) {
    const struct record *record = &family->run->experiments[family->rows[row]].schemes[s];
    double value = tensor_value(tensor, (at * family->n + row) * family->plan->n_schemes + s);
    if (isnan(value)) {
      status = table_number_as(table, value, err, "%s", record->status == RECORD_FAILED ? "failed" : "-");
    } else {
      status = table_number_as(table, value, err, "%.3g%s", value, is_own(family, row, s) ? " *" : "");
    }
  }
  return status;
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
  if (!status && record->count) {
    status = add_own(family, record, err);
  }
  for (size_t i = 0; !status && i < record->count; i++) {
    const struct tensor *tensor = &record->tensors[i];
    size_t n = tensor->axis[0].length, ends[] = {0, n - 1};
    for (size_t end = n > 1 ? 0 : 1; !status && n && end < 2; end++) {
      if (tensor->element == ELEMENT_F64 && !measure_is_beside(tensor->name) &&
          tensor_says_something(tensor, ends[end])) {
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
