/* What follows from the records of relative_position: one row a scheme, and the verdict. */
#include "experiments/common.h"
#include "experiments/relative_position.h"

#include <math.h>
#include <stdlib.h>

struct summary {
  double worst_error;   /* largest shift error where defined */
  double worst_bound;   /* the bound at that shift */
  double largest_ratio; /* error over bound */
  double least_bound;   /* the smallest: what rounding may do to a score at all */
  double spread;
  size_t undefined; /* shifts without a value */
  double residual;  /* largest centred residual */
  bool toeplitz;    /* every head's residual is within its bound */
};

static double largest(const double *values, size_t count) {
  double top = 0;
  for (size_t i = 0; i < count; i++) {
    top = fmax(top, values[i]);
  }
  return top;
}

static int summarise(const struct record *record, double **shift_error, size_t *n_shifts, struct summary *out,
                     struct error *err) {
  size_t heads;
  *out = (struct summary){.least_bound = INFINITY};
  double *bounds = measure(record, "rounding_bound", n_shifts, err);
  double *spread = bounds ? measure(record, "logit_spread", &heads, err) : NULL;
  double *residual = spread ? measure(record, "toeplitz_residual_centred", &heads, err) : NULL;
  double *limit = residual ? measure(record, "toeplitz_bound", &heads, err) : NULL;
  *shift_error = limit ? measure(record, "shift_error", n_shifts, err) : NULL;
  for (size_t i = 0; *shift_error && i < *n_shifts; i++) {
    double e = (*shift_error)[i];
    if (isnan(e)) {
      out->undefined++;
      continue;
    }
    if (e >= out->worst_error) {
      out->worst_error = e;
      out->worst_bound = bounds[i];
    }
    out->least_bound = fmin(out->least_bound, bounds[i]);
    out->largest_ratio = fmax(out->largest_ratio, bounds[i] > 0 ? e / bounds[i] : (e > 0 ? INFINITY : 0));
  }
  if (*shift_error) {
    out->spread = largest(spread, heads);
    out->residual = largest(residual, heads);
    out->toeplitz = true;
    for (size_t head = 0; head < heads; head++) {
      out->toeplitz = out->toeplitz && !(residual[head] > limit[head]);
    }
  }
  free(limit);
  free(bounds);
  free(spread);
  free(residual);
  return *shift_error ? 0 : (int)err->code;
}

static const char *verdict(const struct summary *s, size_t n_shifts) {
  if (s->undefined == n_shifts) {
    return "undefined at every shift";
  }
  if (s->largest_ratio > 1 || !s->toeplitz) {
    return "does not hold: the score depends on where, not only on how far apart";
  }
  if (s->spread <= s->least_bound) {
    return "trivially: no dependence on position at all";
  }
  return s->undefined ? "holds where it is defined" : "holds within rounding";
}

static int conclude_row(const struct plan_scheme *scheme, const struct record *record, struct table *rows,
                        struct record *comparison, struct error *err) {
  double *shift_error;
  size_t n_shifts;
  struct summary s;
  int status = summarise(record, &shift_error, &n_shifts, &s, err);
  if (!shift_error) {
    return status;
  }
  const char *claimed = !(scheme->info->sites)                     ? "no positions"
                        : scheme->info->traits & PE_TRAIT_RELATIVE ? "relative"
                                                                   : "not relative";
  status = table_text(rows, err, "%s", scheme->label);
  status = status ? status : table_text(rows, err, "%s", scheme_role_name(record_role(record)));
  status = status ? status : table_text(rows, err, "%s", claimed);
  status = status ? status : table_number(rows, s.residual, err);
  status = status ? status : table_number(rows, s.undefined == n_shifts ? NAN : s.worst_error, err);
  status = status ? status : table_number(rows, s.undefined == n_shifts ? NAN : s.worst_bound, err);
  status = status ? status : table_number(rows, s.spread, err);
  status = status ? status : table_text(rows, err, "%s", verdict(&s, n_shifts));
  const struct tensor *tensor = record_find(record, "shift_error");
  const struct axis *shift = &tensor->axis[tensor->rank - 1];
  struct axis_spec axis = axis_spec_of(shift);
  status = status ? status : comparison_add(comparison, scheme, record, &axis, shift_error, "shift error", "1", err);
  free(shift_error);
  return status;
}

int conclude_relative_position(const struct plan *plan, const struct plan_experiment *entry,
                               const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  struct record *comparison =
      conclusion_add_comparison(conclusion, entry, NULL, "Score error against shift of all positions", err);
  struct table *rows = comparison ? conclusion_add_table(conclusion, err) : NULL;
  if (!rows || table_title(rows, err, "%s: does the score depend on the distance alone?", entry->label) ||
      table_column(rows, "scheme", "scheme", false, false, err) ||
      table_column(rows, "role", "role", false, false, err) ||
      table_column(rows, "claimed", "claimed", false, false, err) ||
      table_column(rows, "residual", "Toeplitz residual", true, false, err) ||
      table_column(rows, "shift_error", "largest shift error", true, false, err) ||
      table_column(rows, "bound", "rounding bound", true, false, err) ||
      table_column(rows, "spread", "logit spread", true, false, err) ||
      table_column(rows, "follows", "what follows", false, true, err)) {
    return err->code;
  }
  for (size_t s = 0; s < plan->n_schemes; s++) {
    if (!record_has_numbers(records[s]) || !record_find(records[s], "shift_error")) {
      continue;
    }
    int status = conclude_row(&plan->schemes[s], records[s], rows, comparison, err);
    if (status) {
      return status;
    }
  }
  return conclude_certificate(plan, entry, records, conclusion, err);
}
