#include "experiments/extrapolation_tables.h"

#include "base/memory.h"
#include "experiments/divergence.h"
#include "experiments/extrapolation_evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct axis *axis_of(const struct tensor *tensor, const char *name) {
  for (unsigned i = 0; tensor && i < tensor->rank; i++) {
    if (!strcmp(tensor->axis[i].name, name)) {
      return &tensor->axis[i];
    }
  }
  return NULL;
}

double extrapolation_table_length(const struct record *record, size_t *index) {
  const struct axis *length = axis_of(record_find(record, "defined"), "length");
  const struct attribute *attribute = attributes_find(&record->attributes, "train_length");
  double L = attribute ? (double)attribute->integer : 0;
  double best = NAN;
  *index = 0;
  for (size_t t = 0; length && t < length->length; t++) {
    double at = length->values[t];
    bool better = isnan(best) || (best < 2 * L ? at > best : at >= 2 * L && at < best);
    if (better) {
      best = at;
      *index = t;
    }
  }
  return best;
}

int extrapolation_mean_at(const struct record *record, const char *name, size_t index, double *out, struct error *err) {
  const struct axis *length = axis_of(record_find(record, name), "length");
  size_t count;
  double *values = measure(record, name, &count, err);
  *out = NAN;
  if (!values) {
    return err->code;
  }
  size_t inner = length ? count / length->length : count;
  *out = mean(values + (length ? index * inner : 0), inner);
  free(values);
  return 0;
}

struct column {
  const char *name, *heading, *tensor;
};

/* One row a scheme, one tensor a column. */
static int add_numbers(const struct record *record, size_t index, const struct column *columns, size_t count,
                       struct table *table, struct error *err) {
  int status = 0;
  for (size_t i = 0; !status && i < count; i++) {
    double value;
    status = extrapolation_mean_at(record, columns[i].tensor, index, &value, err);
    status = status ? status : table_number(table, value, err);
  }
  return status;
}

static struct table *new_table(struct conclusion *conclusion, const struct column *columns, size_t count,
                               struct error *err) {
  struct table *table = conclusion_add_table(conclusion, err);
  int status = table ? table_column(table, "scheme", "scheme", false, false, err) : (int)err->code;
  for (size_t i = 0; !status && i < count; i++) {
    status = table_column(table, columns[i].name, columns[i].heading, true, false, err);
  }
  return status ? NULL : table;
}

static bool is_measured(const struct record *record) {
  return record_has_numbers(record) && record_find(record, "defined");
}

static double any_length(const struct plan *plan, const struct record *const *records) {
  for (size_t s = 0; s < plan->n_schemes; s++) {
    size_t index;
    if (is_measured(records[s])) {
      return extrapolation_table_length(records[s], &index);
    }
  }
  return NAN;
}

static const struct column measured_columns[] = {
    {"signal", "position signal", "position_signal"},
    {"truncation", "truncation", "truncation_jsd"},
    {"half", "+- 95 %", NULL},
    {"inside", "inside L", NULL},
    {"to_trained", "to trained", "jsd_to_trained"},
    {"trained", "trained to", NULL},
    {"knee", "window knee", NULL},
};
enum { N_MEASURED = sizeof measured_columns / sizeof *measured_columns };

/* The longest length all of whose positions training could have set; 0: none. */
static double trained_to(const struct record *record) {
  const struct tensor *trained = record_find(record, "trained");
  const struct axis *length = axis_of(trained, "length");
  double longest = 0;
  for (size_t t = 0; t < length->length; t++) {
    bool is = tensor_value(trained, trained->count - length->length + t) > 0;
    longest = is ? fmax(longest, length->values[t]) : longest;
  }
  return longest;
}

static int add_measured_row(const struct plan_scheme *scheme, const struct record *record, struct table *table,
                            struct error *err) {
  size_t index;
  double signal = NAN, to_trained = NAN;
  struct extrapolation_evidence evidence;
  extrapolation_table_length(record, &index);
  int status = extrapolation_evidence_read(record, false, &evidence, err);
  status = status ? status : extrapolation_mean_at(record, "position_signal", index, &signal, err);
  status = status ? status : extrapolation_mean_at(record, "jsd_to_trained", index, &to_trained, err);
  status = status ? status : table_text(table, err, "%s", scheme->label);
  const struct length_evidence none = {.inside = NAN, .interval = {NAN, NAN}};
  const struct length_evidence *at = evidence.lengths ? &evidence.lengths[index] : &none;
  const double values[N_MEASURED] = {signal,     at->interval.mean,  at->interval.half, at->inside,
                                     to_trained, trained_to(record), evidence.knee};
  for (size_t i = 0; !status && i < N_MEASURED; i++) {
    status = table_number(table, values[i], err);
  }
  extrapolation_evidence_free(&evidence);
  return status;
}

static int add_measured(const struct plan *plan, const struct plan_experiment *entry,
                        const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  struct table *table = new_table(conclusion, measured_columns, N_MEASURED, err);
  int status = !table ? (int)err->code
                      : table_title(table, err, "%s: what was measured, given %.0f tokens", entry->label,
                                    any_length(plan, records));
  const struct attribute *unit = NULL;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    if (is_measured(records[s])) {
      unit = attributes_find(&records[s]->attributes, "unit");
      status = add_measured_row(&plan->schemes[s], records[s], table, err);
    }
  }
  return status
             ? status
             : table_note(table, err,
                          "Nats, mean of heads. Position signal: attention with positions from attention without. "
                          "Truncation: the last queries from the same given only the last L tokens; +-: half of its "
                          "95 %% t interval, unit: %s; inside L: the same share dropped inside L, 97.5 %% quantile. To "
                          "trained: from the model as trained on its last L tokens. Window knee: last position of "
                          "the first window beyond L whose attention is further from the same tokens at position 0 "
                          "than inside L.",
                          unit ? unit->text : "text");
}

static const struct column look_columns[] = {
    {"mass_beyond", "mass beyond L", "mass_beyond"},      {"span_90", "90 % within", "effective_span_90"},
    {"span_99", "99 % within", "effective_span_99"},      {"first_token", "first token", "first_token_share"},
    {"logit_outside", "logits outside", "logit_outside"}, {"entropy", "entropy", "normalised_entropy"},
};
enum { N_LOOK = sizeof look_columns / sizeof *look_columns };

static int add_look(const struct plan *plan, const struct plan_experiment *entry, const struct record *const *records,
                    struct conclusion *conclusion, struct error *err) {
  struct table *table = new_table(conclusion, look_columns, N_LOOK, err);
  int status = !table ? (int)err->code
                      : table_title(table, err, "%s: what do the last queries look at, given %.0f tokens?",
                                    entry->label, any_length(plan, records));
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    if (!is_measured(records[s])) {
      continue;
    }
    size_t index;
    extrapolation_table_length(records[s], &index);
    status = table_text(table, err, "%s", plan->schemes[s].label);
    status = status ? status : add_numbers(records[s], index, look_columns, N_LOOK, table, err);
  }
  return status ? status
                : table_note(table, err,
                             "90 %% within: tokens of distance that hold 90 %% of the attention. First token: the "
                             "attention sink. Logits outside: share of logits outside the range seen at L. Entropy: "
                             "over ln of the visible keys, second half of all rows.");
}

static const struct column control_columns[] = {
    {"truncation", "truncation", "truncation_jsd"},
    {"truncation_shuffled", "shuffled", "truncation_jsd_shuffled"},
    {"truncation_random", "random weights", "truncation_jsd_random_weights"},
    {"truncation_weakened", "PE x 0.1", "truncation_jsd_weakened"},
    {"signal", "position signal", "position_signal"},
    {"signal_shuffled", "shuffled", "position_signal_shuffled"},
    {"signal_random", "random weights", "position_signal_random_weights"},
    {"signal_weakened", "PE x 0.1", "position_signal_weakened"},
};
enum { N_CONTROL = sizeof control_columns / sizeof *control_columns };

static int add_controls(const struct plan *plan, const struct plan_experiment *entry,
                        const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  struct table *table = new_table(conclusion, control_columns, N_CONTROL, err);
  int status =
      !table ? (int)err->code
             : table_title(table, err, "%s: controls, given %.0f tokens", entry->label, any_length(plan, records));
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    if (!is_measured(records[s])) {
      continue;
    }
    size_t index;
    extrapolation_table_length(records[s], &index);
    status = table_text(table, err, "%s", plan->schemes[s].label);
    status = status ? status : add_numbers(records[s], index, control_columns, N_CONTROL, table, err);
  }
  return status
             ? status
             : table_note(table, err,
                          "Shuffled: positions in random order. Random weights: projections redrawn with the mean "
                          "and deviation of each head. PE x 0.1: a tenth of what the scheme adds; a weak encoding is "
                          "consistent for free, so each truncation stands beside its signal: JSD between attention "
                          "with and without positions. A number that a control gives as well says nothing of "
                          "order, of training, or of the scheme.");
}

static const struct column frequency_columns[] = {
    {"unseen_unscaled", "unseen, plain", "unseen_share_unscaled"},
    {"unseen", "unseen", "unseen_share"},
    {"resolution_unscaled", "resolution, plain", "neighbour_resolution_unscaled"},
    {"resolution", "resolution", "neighbour_resolution"},
    {"negative_unscaled", "first negative, plain", "first_negative_distance_unscaled"},
    {"negative", "first negative", "first_negative_distance"},
};
enum { N_FREQUENCY = sizeof frequency_columns / sizeof *frequency_columns };

/* The mean over frequencies at one length of a map [frequency, length]. */
static int mean_of_frequencies(const struct record *record, const char *name, size_t index, double *out,
                               struct error *err) {
  const struct axis *length = axis_of(record_find(record, name), "length");
  size_t count;
  double *values = measure(record, name, &count, err);
  if (!values) {
    return err->code;
  }
  *out = 0;
  size_t n = count / length->length;
  for (size_t i = 0; i < n; i++) {
    *out += values[i * length->length + index] / (double)n;
  }
  free(values);
  return 0;
}

static int add_frequency_row(const struct plan_scheme *scheme, const struct record *record, size_t index,
                             struct table *table, struct error *err) {
  int status = table_text(table, err, "%s", scheme->label);
  for (size_t i = 0; !status && i < N_FREQUENCY; i++) {
    double value;
    status = i < 2 ? mean_of_frequencies(record, frequency_columns[i].tensor, index, &value, err)
                   : extrapolation_mean_at(record, frequency_columns[i].tensor, index, &value, err);
    status = status ? status : table_number(table, value, err);
  }
  return status;
}

static int add_frequencies(const struct plan *plan, const struct plan_experiment *entry,
                           const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  struct table *table = NULL;
  int status = 0;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    const struct record *record = records[s];
    if (!is_measured(record) || !record_find(record, "unseen_share")) {
      continue;
    }
    size_t index = 0;
    const struct axis *length = axis_of(record_find(record, "defined"), "length");
    for (size_t t = 1; t < length->length; t++) {
      index = length->values[t] > length->values[index] ? t : index;
    }
    double at = length->values[index];
    if (!table) {
      table = new_table(conclusion, frequency_columns, N_FREQUENCY, err);
      status = table ? table_title(table, err, "%s: which angles are new, given %.0f tokens?", entry->label, at)
                     : (int)err->code;
    }
    status = status ? status : add_frequency_row(&plan->schemes[s], record, index, table, err);
  }
  if (status || !table) {
    return status;
  }
  return table_note(table, err,
                    "Unseen: share of each angle's circle that training did not show, mean of frequencies; plain: "
                    "without scaling and position map. It is won by any large enough scale; what that costs is "
                    "resolution: K(0) - K(1), K the mean cosine by distance. First negative: first distance with a "
                    "negative sum of cosines (-: none up to 65536).");
}

int extrapolation_tables(const struct plan *plan, const struct plan_experiment *entry,
                         const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  int status = add_measured(plan, entry, records, conclusion, err);
  status = status ? status : add_look(plan, entry, records, conclusion, err);
  status = status ? status : add_controls(plan, entry, records, conclusion, err);
  return status ? status : add_frequencies(plan, entry, records, conclusion, err);
}
