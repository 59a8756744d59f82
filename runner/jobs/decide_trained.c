/* What trained models of another run add to a decision: which they are, what they show, where they and forward passes
 * disagree. */
#include "jobs/decide.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct record *record_of(const struct decide_result *result, size_t s) {
  return &result->evidence->records[s];
}

static const struct tensor *loss_of(const struct decide_result *result, size_t s) {
  return record_of(result, s)->status == RECORD_MEASURED ? record_find(record_of(result, s), "loss") : NULL;
}

/* Mean over seeds of the loss at a length; NaN where it is undefined or was not measured. */
static double mean_loss(const struct tensor *loss, double length) {
  size_t n = loss ? loss->axis[1].length : 0;
  for (size_t t = 0; t < n; t++) {
    if (loss->axis[1].values[t] == length) {
      double sum = 0;
      for (size_t seed = 0; seed < loss->axis[0].length; seed++) {
        sum += tensor_value(loss, seed * n + t);
      }
      return sum / (double)loss->axis[0].length;
    }
  }
  return NAN;
}

/* The length that the decision looks at: the ranking's, or that of the last condition on trained models. */
static double length_of(const struct plan_decision *decision) {
  double length = NAN;
  for (size_t i = 0; i < decision->n_conditions; i++) {
    bool trained = !strcmp(decision->conditions[i].measure.experiment, PLAN_TRAINED);
    length = trained ? decision->conditions[i].length : length;
  }
  return decision->rank ? decision->rank->length : length;
}

/* ---- table ---- */

static int number_or_dash(struct table *rows, double value, bool with_sign, struct error *err) {
  return isnan(value) ? table_number_as(rows, value, err, "-")
                      : table_number_as(rows, value, err, with_sign ? "%+.3f" : "%.3f", value);
}

static int trained_row(const struct decide_result *result, size_t s, double length, struct table *rows,
                       struct error *err) {
  const struct evidence *evidence = result->evidence;
  const struct decide_scheme *scheme = &result->schemes[s];
  const struct tensor *loss = loss_of(result, s);
  const struct record *record = record_of(result, s);
  double at_L = mean_loss(loss, evidence->train_length), beyond = mean_loss(loss, length);
  double half = (scheme->lead_high - scheme->lead_low) / 2;
  int status = table_text(rows, err, "%s", result->plan->schemes[s].label);
  status = status ? status : table_text(rows, err, "%s", loss ? record->label : "-");
  const char *learned = !loss ? "-" : evidence_has_learned(evidence->learned, record->label) ? "yes" : "no";
  status = status ? status : table_text(rows, err, "%s", learned);
  status = status ? status : number_or_dash(rows, at_L, false, err);
  status = status ? status : number_or_dash(rows, beyond, false, err);
  status = status ? status : number_or_dash(rows, beyond - at_L, true, err);
  if (!status && result->plan->decision->rank) {
    status = number_or_dash(rows, scheme->lead, true, err);
    status = status ? status : number_or_dash(rows, half, false, err);
    status = status                  ? status
             : isnan(scheme->lead_p) ? table_number_as(rows, NAN, err, "-")
                                     : table_number_as(rows, scheme->lead_p, err, "%.2g", scheme->lead_p);
  }
  return status;
}

int decide_trained_table(const struct decide_result *result, struct table *rows, struct error *err) {
  const struct plan_decision *decision = result->plan->decision;
  double L = result->evidence->train_length, length = length_of(decision);
  char at_L[40], beyond[40];
  snprintf(at_L, sizeof at_L, "loss at %g (L)", L);
  snprintf(beyond, sizeof beyond, "loss at %g", length);
  int status = table_title(rows, err, "decision: what models trained with each scheme show");
  status = status ? status : table_column(rows, "scheme", "scheme", false, false, err);
  status = status ? status : table_column(rows, "trained_as", "in the file", false, false, err);
  status = status ? status : table_column(rows, "learned", "learned at L", false, false, err);
  status = status ? status : table_column(rows, "loss_at_L", at_L, true, false, err);
  status = status ? status : table_column(rows, "loss", beyond, true, false, err);
  status = status ? status : table_column(rows, "change", "change", true, false, err);
  if (!status && decision->rank) {
    status = table_column(rows, "lead", "behind the leader", true, false, err);
    status = status ? status : table_column(rows, "interval", "+-", true, false, err);
    status = status ? status : table_column(rows, "p", "p (Holm)", true, false, err);
  }
  for (size_t s = 0; !status && s < result->plan->n_schemes; s++) {
    status = trained_row(result, s, length, rows, err);
  }
  return status;
}

/* ---- record and attributes ---- */

static int add_lead(const struct decide_scheme *scheme, struct record *record, struct error *err) {
  const struct {
    const char *name, *long_name;
    double value;
  } scalars[] = {{"lead", "by how much the leader is better", scheme->lead},
                 {"lead_low", "95 % interval, low end", scheme->lead_low},
                 {"lead_high", "95 % interval, high end", scheme->lead_high},
                 {"lead_p", "p of the paired t test after Holm", scheme->lead_p}};
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
    struct tensor_spec spec = {.name = scalars[i].name, .element = ELEMENT_F64, .long_name = scalars[i].long_name};
    struct tensor *tensor = record_add(record, &spec, err);
    if (!tensor) {
      return err->code;
    }
    *(double *)tensor->data = scalars[i].value;
  }
  return 0;
}

int decide_trained_record(const struct decide_result *result, size_t s, struct record *record, struct error *err) {
  int status = result->plan->decision->rank ? add_lead(&result->schemes[s], record, err) : 0;
  const struct tensor *loss = !status && result->evidence ? loss_of(result, s) : NULL;
  if (status || !loss) {
    return status;
  }
  struct tensor_spec spec = {.name = "trained_loss",
                             .element = ELEMENT_F64,
                             .rank = 2,
                             .axis = {axis_spec_of(&loss->axis[0]), axis_spec_of(&loss->axis[1])},
                             .long_name = "loss of the trained models",
                             .units = "nat"};
  struct tensor *copy = record_add(record, &spec, err);
  if (!copy) {
    return err->code;
  }
  memcpy(copy->data, loss->data, loss->count * sizeof(double));
  return attributes_set_text(&record->attributes, "trained_as", record_of(result, s)->label, err);
}

int decide_trained_attributes(const struct decide_result *result, struct record *comparison, struct error *err) {
  const struct evidence *evidence = result->evidence;
  struct attributes *attributes = &comparison->attributes;
  int status = attributes_set_text(attributes, "trained_file", evidence_name(result->plan), err);
  status = status ? status : attributes_set_text(attributes, "trained_sha256", evidence->digest, err);
  status = status ? status : attributes_set_text(attributes, "trained_title", evidence->results.file.title, err);
  status = status ? status : attributes_set_text(attributes, "trained_experiment", evidence->experiment, err);
  status = status ? status : attributes_set_text(attributes, "trained_learned", evidence->learned, err);
  status = status ? status : attributes_set_real(attributes, "trained_length", evidence->train_length, err);
  return status ? status : attributes_set_int(attributes, "trained_seeds", (int64_t)evidence->n_seeds, err);
}

/* ---- words ---- */

/* Size and training of the models, where all have the same; of the first that is there. */
static void append_size(const struct decide_result *result, struct text *out) {
  for (size_t s = 0; s < result->plan->n_schemes; s++) {
    if (loss_of(result, s)) {
      text_printf(out, ", %.0f parameters (%s), %.3g tokens seen each",
                  decide_attribute(record_of(result, s), "parameters"), result->plan->schemes[s].label,
                  decide_attribute(record_of(result, s), "tokens_seen"));
      return;
    }
  }
}

void decide_trained_text(const struct decide_result *result, struct text *out) {
  const struct evidence *evidence = result->evidence;
  const struct plan *plan = result->plan;
  text_printf(out,
              "The strongest evidence: '%s' (%s, SHA-256 %.12s...), small models trained with each scheme at L = %g, "
              "%zu seeds",
              evidence->results.file.title, evidence_name(plan), evidence->digest, evidence->train_length,
              evidence->n_seeds);
  append_size(result, out);
  text_append(out, ". Where its models judge a scheme, conditions on forward passes are shown and do not count.");
  for (size_t s = 0; s < plan->n_schemes; s++) {
    if (!loss_of(result, s)) {
      text_printf(out, " %s is judged without trained models: %s.", plan->schemes[s].label,
                  record_of(result, s)->error.text);
    }
  }
  if (!isnan(result->forward_length) && result->forward_length != evidence->train_length) {
    text_printf(
        out,
        " Mind the lengths: the models were trained at L = %g, forward passes are about L = %g; each condition is "
        "read at its own length in tokens, which is not the same multiple of L.",
        evidence->train_length, result->forward_length);
  }
}

/* The first condition of a kind that fails, by its index; n_conditions: none. *any: there are verdicts of that kind. */
static size_t first_missed(const struct decide_result *result, size_t s, bool trained, bool *any) {
  size_t n = result->plan->decision->n_conditions, missed = n;
  *any = false;
  for (size_t i = 0; i < n; i++) {
    const struct decide_number *number = &result->schemes[s].conditions[i];
    bool verdict =
        number->outcome == DECIDE_MET || number->outcome == DECIDE_NOT_MET || number->outcome == DECIDE_UNDEFINED;
    if (number->trained == trained && verdict) {
      *any = true;
      missed = missed == n && number->outcome != DECIDE_MET ? i : missed;
    }
  }
  return missed;
}

/* "condition 2 (0.54 where 0.2 is the limit)" */
static void append_missed(const struct decide_result *result, size_t s, size_t i, struct text *out) {
  const struct decide_number *number = &result->schemes[s].conditions[i];
  if (number->outcome == DECIDE_UNDEFINED) {
    text_printf(out, "condition %zu (undefined)", i + 1);
  } else {
    text_printf(out, "condition %zu (%.3g where %.10g is the limit)", i + 1, number->value,
                result->plan->decision->conditions[i].limit);
  }
}

void decide_disagreement_text(const struct decide_result *result, struct text *out) {
  const struct plan_decision *decision = result->plan->decision;
  bool both = false, disagree = false;
  for (size_t s = 0; s < result->plan->n_schemes; s++) {
    bool forward, trained, swapped = false;
    size_t by_forward = first_missed(result, s, false, &forward), by_trained = first_missed(result, s, true, &trained);
    for (size_t i = 0; i < decision->n_conditions; i++) {
      swapped = swapped || result->schemes[s].conditions[i].swapped;
    }
    both = both || (forward && trained);
    if (!forward || !trained || (by_forward < decision->n_conditions) == (by_trained < decision->n_conditions)) {
      continue;
    }
    text_printf(out, "%s%s: ", disagree ? " " : "The two kinds of evidence disagree, and the trained models decide. ",
                result->plan->schemes[s].label);
    disagree = true;
    if (by_forward < decision->n_conditions) {
      text_append(out, "forward passes miss ");
      append_missed(result, s, by_forward, out);
      text_printf(out, "%s, models trained with it meet their conditions.",
                  swapped ? ", swapped in without retraining" : "");
    } else {
      text_printf(out, "forward passes meet their conditions%s, models trained with it miss ",
                  swapped ? ", swapped in without retraining" : "");
      append_missed(result, s, by_trained, out);
      text_append(out, ".");
    }
  }
  if (both && !disagree) {
    text_append(out, "Forward passes and trained models disagree on no scheme that both judge.");
  }
}
