/* What follows from the records of extrapolation: the headline with a verdict where there is one, and comparison
 * groups. */
#include "experiments/extrapolation.h"
#include "experiments/extrapolation_evidence.h"
#include "experiments/extrapolation_tables.h"
#include "experiments/literature.h"

#include "base/memory.h"
#include "experiments/divergence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The comparison groups in their order. */
enum group { TRUNCATION, LOW, HIGH, MEDIAN, INSIDE, TO_TRAINED, MASS, WINDOWS, N_GROUPS };

static const struct {
  const char *measure, *title, *what, *units;
} group_table[N_GROUPS] = {
    {NULL, "Truncation divergence by length: does more context change what the last tokens look at?",
     "truncation divergence", "nat"},
    {"truncation_low", "Truncation divergence by length, lower end of its 95 % interval", "lower end", "nat"},
    {"truncation_high", "Truncation divergence by length, upper end of its 95 % interval", "upper end", "nat"},
    {"truncation_median", "Truncation divergence by length, median of stretches: what a verdict looks at", "median",
     "nat"},
    {"truncation_inside", "The same share of context dropped wholly inside L: 97.5 % quantile", "inside", "nat"},
    {"jsd_to_trained", "Divergence from the model as trained, by length", "divergence from the trained model", "nat"},
    {"mass_beyond", "Attention of the last tokens beyond the training length, by length", "attention beyond L", "1"},
    {"window_jsd", "Divergence of a window of tokens against the same at positions 0 ..., by its last position",
     "window divergence, median", "nat"},
};

static const struct axis *axis_of(const struct record *record, const char *tensor_name, const char *axis_name) {
  const struct tensor *tensor = record_find(record, tensor_name);
  for (unsigned i = 0; tensor && i < tensor->rank; i++) {
    if (!strcmp(tensor->axis[i].name, axis_name)) {
      return &tensor->axis[i];
    }
  }
  return NULL;
}

/* Whether frequencies are scaled: the first choice of the parameter `scaling` is none. */
static bool is_scaled(const struct plan_scheme *scheme) {
  const struct key_table *table = &scheme->info->params;
  for (size_t i = 0; i < table->count; i++) {
    if (!strcmp(table->keys[i].key, "scaling") && table->keys[i].type == KEY_CHOICE) {
      return scheme->params->values[i].integer != 0;
    }
  }
  return false;
}

/* What the literature claims beyond the training length; of a mapped or scaled scheme it is not said there. */
static const char *claimed(const struct plan_scheme *scheme) {
  return scheme->map.kind == POSITION_AS_IS && !is_scaled(scheme)
             ? literature_word_name(literature_of(scheme->info->id)->word)
             : "-";
}

/* Divergences lie between 0 and ln 2, so the ends of an interval do. */
static double within_range(double value) {
  return isnan(value) ? NAN : fmin(fmax(value, 0), log(2));
}

/* One value a length from the evidence. */
static double evidence_value(enum group group, const struct length_evidence *at) {
  switch (group) {
  case TRUNCATION:
    return at->interval.mean;
  case LOW:
    return within_range(at->interval.mean - at->interval.half);
  case HIGH:
    return within_range(at->interval.mean + at->interval.half);
  case MEDIAN:
    return at->median;
  default:
    return at->inside;
  }
}

static int add_values(struct record *groups, enum group group, const struct plan_scheme *scheme,
                      const struct record *record, const struct axis *axis, const double *values, struct error *err) {
  struct axis_spec spec = axis_spec_of(axis);
  return comparison_add(&groups[group], scheme, record, &spec, values, group_table[group].what,
                        group_table[group].units, err);
}

/* Variables by length: of the evidence, and means of measures. */
static int compare_lengths(struct record *groups, const struct plan_scheme *scheme, const struct record *record,
                           const struct extrapolation_evidence *evidence, struct error *err) {
  const struct axis *length = axis_of(record, "defined", "length");
  double *values = memory_new(length->length, sizeof *values, "comparison", err);
  int status = values ? 0 : (int)err->code;
  for (int group = TRUNCATION; !status && group <= MASS; group++) {
    for (size_t t = 0; !status && t < length->length; t++) {
      if (group <= INSIDE) {
        values[t] = evidence_value((enum group)group, &evidence->lengths[t]);
      } else {
        status = extrapolation_mean_at(record, group_table[group].measure, t, &values[t], err);
      }
    }
    status = status ? status : add_values(groups, (enum group)group, scheme, record, length, values, err);
  }
  free(values);
  return status;
}

/* Medians over windows of the mean over heads. */
static int compare_windows(struct record *groups, const struct plan_scheme *scheme, const struct record *record,
                           struct error *err) {
  const struct axis *position = axis_of(record, "window_jsd_by_window", "last_position");
  if (!position) {
    return 0;
  }
  size_t count, heads = axis_of(record, "window_jsd_by_window", "head")->length;
  size_t windows = axis_of(record, "window_jsd_by_window", "window")->length;
  double *all = measure(record, "window_jsd_by_window", &count, err);
  double *medians = all ? memory_new(position->length, sizeof *medians, "medians", err) : NULL;
  double *row = medians ? memory_new(windows, sizeof *row, "windows", err) : NULL;
  int status = row ? 0 : (int)err->code;
  for (size_t p = 0; !status && p < position->length; p++) {
    for (size_t w = 0; w < windows; w++) {
      row[w] = mean(all + (p * windows + w) * heads, heads);
    }
    medians[p] = isnan(row[0]) ? NAN : quantile(row, windows, 0.5);
  }
  status = status ? status : add_values(groups, WINDOWS, scheme, record, position, medians, err);
  free(all);
  free(medians);
  free(row);
  return status;
}

/* The row of one scheme in the headline. */
static int add_row(const struct plan_scheme *scheme, const struct extrapolation_evidence *evidence, struct table *rows,
                   struct error *err) {
  char text[240];
  extrapolation_word(evidence, text, sizeof text);
  int status = table_text(rows, err, "%s", scheme->label);
  status = status ? status : table_text(rows, err, "%s", scheme_role_name(evidence->role));
  status = status ? status : table_text(rows, err, "%s", claimed(scheme));
  return status ? status : table_text(rows, err, "%s", text);
}

static struct table *new_headline(struct conclusion *conclusion, const struct plan_experiment *entry,
                                  struct error *err) {
  struct table *rows = conclusion_add_table(conclusion, err);
  if (!rows || table_title(rows, err, "%s: what happens past the training length?", entry->label) ||
      table_column(rows, "scheme", "scheme", false, false, err) ||
      table_column(rows, "role", "role", false, true, err) ||
      table_column(rows, "claimed", "claimed", false, false, err) ||
      table_column(rows, "follows", "what follows", false, true, err)) {
    return NULL;
  }
  return rows;
}

/* How far a swap alone moves attention. */
static int note_swapped(const struct plan *plan, const struct record *const *records, struct table *rows,
                        struct error *err) {
  double least = INFINITY, most = 0;
  for (size_t s = 0; s < plan->n_schemes; s++) {
    double swapped = NAN;
    if (record_has_numbers(records[s]) && record_role(records[s]) == ROLE_SWAPPED_IN &&
        extrapolation_mean_at(records[s], "swapped_in", 0, &swapped, err)) {
      return err->code;
    }
    if (!isnan(swapped)) {
      least = fmin(least, swapped);
      most = fmax(most, swapped);
    }
  }
  return !(most > 0)
             ? 0
             : table_note(rows, err,
                          "Swapped in: inside the training length the attention of these schemes already differs from "
                          "the model's own by %.2g to %.2g. Their rows show what the mechanism does to these logits, "
                          "not how a model trained with it behaves.",
                          least, most);
}

static int add_notes(const struct plan *plan, const struct record *const *records, const struct record *measured,
                     struct table *rows, struct error *err) {
  const struct attribute *train_length = attributes_find(&measured->attributes, "train_length");
  int status =
      table_note(rows, err,
                 "L = %lld. Degrades: the median truncation divergence over stretches beyond L exceeds the "
                 "97.5 %% quantile of the same share of context dropped inside L. Claimed: what the literature "
                 "says beyond the training length (pe-run list has the sources).",
                 (long long)(train_length ? train_length->integer : 0));
  if (!status && record_role(measured) == ROLE_UNTRAINED) {
    status = table_note(rows, err,
                        "No training: verdicts here say what a mechanism does to logits of this kind, not how a model "
                        "trained with it behaves.");
  }
  return status ? status : note_swapped(plan, records, rows, err);
}

/* One scheme's row and variables. */
static int conclude_scheme(const struct plan_scheme *scheme, const struct record *record,
                           const struct extrapolation_evidence *control, struct record *groups, struct table *rows,
                           struct error *err) {
  struct extrapolation_evidence evidence;
  int status = extrapolation_evidence_read(record, scheme->map.kind == POSITION_SHUFFLED, &evidence, err);
  extrapolation_evidence_control(&evidence, control);
  status = status ? status : add_row(scheme, &evidence, rows, err);
  status = status ? status : compare_lengths(groups, scheme, record, &evidence, err);
  extrapolation_evidence_free(&evidence);
  return status ? status : compare_windows(groups, scheme, record, err);
}

/* The evidence of the scheme without positions; empty where it was not run. */
static int read_control(const struct plan *plan, const struct record *const *records,
                        struct extrapolation_evidence *control, struct error *err) {
  for (size_t s = 0; s < plan->n_schemes; s++) {
    if (record_has_numbers(records[s]) && record_role(records[s]) == ROLE_CONTROL) {
      return extrapolation_evidence_read(records[s], false, control, err);
    }
  }
  return 0;
}

int extrapolation_conclude(const struct plan *plan, const struct plan_experiment *entry,
                           const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  /* Groups are made before pointers into the list are taken: it moves when it grows. */
  for (size_t i = 0; i < N_GROUPS; i++) {
    if (!conclusion_add_comparison(conclusion, entry, group_table[i].measure, group_table[i].title, err)) {
      return err->code;
    }
  }
  struct record *groups = conclusion->comparisons + conclusion->n_comparisons - N_GROUPS;
  struct table *rows = new_headline(conclusion, entry, err);
  const struct record *measured = NULL;
  struct extrapolation_evidence control = {0};
  int status = rows ? read_control(plan, records, &control, err) : (int)err->code;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    if (!record_has_numbers(records[s]) || !record_find(records[s], "truncation_by_span")) {
      continue;
    }
    /* The control's role says nothing of the others'. */
    measured = !measured || record_role(measured) == ROLE_CONTROL ? records[s] : measured;
    status = conclude_scheme(&plan->schemes[s], records[s], &control, groups, rows, err);
  }
  extrapolation_evidence_free(&control);
  if (status || !measured) {
    return status;
  }
  const struct attribute *unit = attributes_find(&measured->attributes, "unit");
  for (size_t i = 0; !status && unit && i < N_GROUPS; i++) {
    status = attributes_set_text(&groups[i].attributes, "unit", unit->text, err);
  }
  status = status ? status : add_notes(plan, records, measured, rows, err);
  return status ? status : extrapolation_tables(plan, entry, records, conclusion, err);
}
