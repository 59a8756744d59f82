#include "jobs/decide.h"

#include "base/memory.h"
#include "experiments/common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const standing_names[] = {
    [STANDING_MEETS] = "meets every condition", [STANDING_OPEN] = "cannot be told",
    [STANDING_FAILS] = "does not meet them",    [STANDING_NO_VERDICT] = "no verdict: swapped in",
    [STANDING_NO_NUMBERS] = "no numbers",       [STANDING_NOT_LEARNED] = "no verdict: not learned at L",
};

/* ---- records ------------------------------------------------------------------------------------------------------
 */

static double *add_by_condition(struct record *record, const char *name, const char *long_name, size_t n,
                                struct error *err) {
  struct tensor *tensor =
      record_add(record,
                 &(struct tensor_spec){
                     .name = name,
                     .element = ELEMENT_F64,
                     .rank = 1,
                     .axis = {{.name = "condition", .length = n, .long_name = "condition of the config, from 0"}},
                     .long_name = long_name},
                 err);
  return tensor ? tensor->data : NULL;
}

static int add_rank(const struct decide_number *rank, struct record *record, struct error *err) {
  const struct {
    const char *name, *long_name;
    double value;
  } scalars[] = {{"rank_value", "what schemes that meet the conditions are ranked by", rank->value},
                 {"rank_low", "95 % interval, low end", rank->low},
                 {"rank_high", "95 % interval, high end", rank->high}};
  for (size_t i = 0; i < 3; i++) {
    struct tensor *tensor = record_add(
        record,
        &(struct tensor_spec){.name = scalars[i].name, .element = ELEMENT_F64, .long_name = scalars[i].long_name}, err);
    if (!tensor) {
      return err->code;
    }
    *(double *)tensor->data = scalars[i].value;
  }
  return 0;
}

static int add_flags(const struct decide_result *result, size_t s, struct record *record, struct error *err) {
  size_t n = result->plan->decision->n_conditions;
  struct tensor *outcome =
      record_add(record,
                 &(struct tensor_spec){
                     .name = "outcome",
                     .element = ELEMENT_U8,
                     .rank = 1,
                     .axis = {{.name = "condition", .length = n, .long_name = "condition of the config, from 0"}},
                     .long_name = "how the condition went"},
                 err);
  for (size_t i = 0; outcome && i < n; i++) {
    ((uint8_t *)outcome->data)[i] = (uint8_t)result->schemes[s].conditions[i].outcome;
  }
  int status = outcome ? tensor_set_flags(outcome, "met not_met not_separated undefined not_measured not_learned", err)
                       : (int)err->code;
  struct tensor *standing =
      status ? NULL
             : record_add(record,
                          &(struct tensor_spec){
                              .name = "standing", .element = ELEMENT_U8, .long_name = "what that makes of the scheme"},
                          err);
  if (!standing) {
    return (int)err->code;
  }
  *(uint8_t *)standing->data = (uint8_t)result->schemes[s].standing;
  return tensor_set_flags(standing, "meets open fails no_verdict no_numbers not_learned", err);
}

static int fill_record(const struct decide_result *result, size_t s, struct record *record, struct error *err) {
  const struct plan *plan = result->plan;
  const struct decide_scheme *scheme = &result->schemes[s];
  size_t n = plan->decision->n_conditions;
  *record = (struct record){.seed = plan->seed, .status = RECORD_MEASURED};
  snprintf(record->experiment, sizeof record->experiment, "decision");
  snprintf(record->label, sizeof record->label, "%s", plan->schemes[s].label);
  snprintf(record->title, sizeof record->title, "decision: %s", plan->schemes[s].label);
  double *margins =
      add_by_condition(record, "margins", "distance to the limit in margins, positive on the right side", n, err);
  double *margins_low = margins ? add_by_condition(record, "margins_low", "its 95 % interval, low end", n, err) : NULL;
  double *margins_high =
      margins_low ? add_by_condition(record, "margins_high", "its 95 % interval, high end", n, err) : NULL;
  double *value = margins_high ? add_by_condition(record, "value", "what the condition looks at", n, err) : NULL;
  double *low = value ? add_by_condition(record, "low", "95 % interval, low end", n, err) : NULL;
  double *high = low ? add_by_condition(record, "high", "95 % interval, high end", n, err) : NULL;
  if (!high) {
    return err->code;
  }
  for (size_t i = 0; i < n; i++) {
    margins[i] = scheme->conditions[i].margins;
    margins_low[i] = scheme->conditions[i].margins_low;
    margins_high[i] = scheme->conditions[i].margins_high;
    value[i] = scheme->conditions[i].value;
    low[i] = scheme->conditions[i].low;
    high[i] = scheme->conditions[i].high;
  }
  int status = add_flags(result, s, record, err);
  status = !status && plan->decision->rank ? add_rank(&scheme->rank, record, err) : status;
  status = status ? status : decide_trained_record(result, s, record, err);
  status = status ? status : attributes_set_text(&record->attributes, "scheme", plan->schemes[s].info->id, err);
  return status ? status : attributes_set_text(&record->attributes, "role", scheme_role_name(scheme->role), err);
}

/* The tensor `name` of every scheme's record, side by side. */
static int fill_comparison(const struct decide_result *result, const struct record *records, const char *name,
                           const char *what, struct record *comparison, struct error *err) {
  const struct plan *plan = result->plan;
  size_t n = plan->decision->n_conditions;
  double *numbers = memory_new(n + 1, sizeof *numbers, "conditions", err);
  int status = numbers ? 0 : (int)err->code;
  for (size_t i = 0; numbers && i < n; i++) {
    numbers[i] = (double)(i + 1);
  }
  struct axis_spec axis = {.name = "condition", .length = n, .values = numbers, .long_name = "condition of the config"};
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    status = comparison_add(comparison, &plan->schemes[s], &records[s], &axis, record_find(&records[s], name)->data,
                            what, "1", err);
  }
  free(numbers);
  return status;
}

/* ---- tables -------------------------------------------------------------------------------------------------------
 */

enum kind { KIND_FORWARD, KIND_TRAINED };
static const char *const evidence_words[] = {"forward passes", "trained models"};

/* What a condition looks at. */
static enum kind evidence_of(const struct decide_result *result, size_t i) {
  for (size_t s = 0; s < result->plan->n_schemes; s++) {
    if (result->schemes[s].conditions[i].trained) {
      return KIND_TRAINED;
    }
  }
  return KIND_FORWARD;
}

static int condition_row(const struct decide_result *result, size_t i, struct table *rows, struct error *err) {
  const struct plan_condition *c = &result->plan->decision->conditions[i];
  struct text met = {0};
  for (size_t s = 0; s < result->plan->n_schemes; s++) {
    const struct decide_scheme *scheme = &result->schemes[s];
    bool judged = scheme->standing != STANDING_NO_VERDICT && !scheme->conditions[i].swapped;
    if (scheme->conditions[i].outcome == DECIDE_MET && judged) {
      text_printf(&met, "%s%s", met.length ? ", " : "", result->plan->schemes[s].label);
    }
  }
  int status = table_number_as(rows, (double)(i + 1), err, "%zu", i + 1);
  status = status ? status : table_text(rows, err, "%s", c->measure.text);
  status = status ? status : table_text(rows, err, "%s", evidence_words[evidence_of(result, i)]);
  status = status ? status : table_number(rows, c->length, err);
  status = status ? status : table_text(rows, err, "%s", c->above ? ">=" : "<=");
  status = status ? status : table_number(rows, c->limit, err);
  status = status ? status : table_number(rows, c->margin, err);
  char *text = text_take(&met, err);
  status = status ? status : text ? table_text(rows, err, "%s", text[0] ? text : "nobody") : (int)err->code;
  free(text);
  return status;
}

static int conditions_table(const struct decide_result *result, struct table *rows, struct error *err) {
  const struct plan_decision *decision = result->plan->decision;
  const char *question = section_get(decision->keys, "question")->text;
  if (table_title(rows, err, "decision: %s", question && question[0] ? question : result->plan->title) ||
      table_column(rows, "condition", "condition", true, false, err) ||
      table_column(rows, "measure", "measure", false, false, err) ||
      table_column(rows, "evidence", "evidence", false, false, err) ||
      table_column(rows, "length", "at", true, false, err) || table_column(rows, "relation", "is", false, false, err) ||
      table_column(rows, "limit", "limit", true, false, err) ||
      table_column(rows, "margin", "margin", true, false, err) ||
      table_column(rows, "met_by", "met by", false, true, err)) {
    return err->code;
  }
  int status = 0;
  for (size_t i = 0; !status && i < decision->n_conditions; i++) {
    status = condition_row(result, i, rows, err);
  }
  for (size_t i = 0; !status && i < decision->n_stated; i++) {
    struct text met = {0};
    for (size_t m = 0; m < decision->stated[i].n_met_by; m++) {
      text_printf(&met, "%s%s", m ? ", " : "", decision->stated[i].met_by[m]);
    }
    char *text = text_take(&met, err);
    status = text ? table_note(rows, err, "Taken as stated, not measured: %s, true of %s%s%s.",
                               decision->stated[i].name, text, decision->stated[i].why ? ": " : "",
                               decision->stated[i].why ? decision->stated[i].why : "")
                  : (int)err->code;
    free(text);
  }
  return status;
}

/* "0.11 met", with the interval where there is one. */
static int number_cell(const struct decide_number *number, bool with_outcome, struct table *rows, struct error *err) {
  const char *outcome = with_outcome ? decide_outcome_name(number->outcome) : "";
  if (isnan(number->value)) {
    return table_number_as(rows, NAN, err, "%s", with_outcome ? outcome : "-");
  }
  if (isnan(number->low)) {
    return table_number_as(rows, number->value, err, "%.3g%s%s", number->value, with_outcome ? " " : "", outcome);
  }
  return table_number_as(rows, number->value, err, "%.3g [%.3g, %.3g]%s%s", number->value, number->low, number->high,
                         with_outcome ? " " : "", outcome);
}

static int scheme_row(const struct decide_result *result, size_t s, struct table *rows, struct error *err) {
  const struct plan_decision *decision = result->plan->decision;
  const struct decide_scheme *scheme = &result->schemes[s];
  int status = table_text(rows, err, "%s", result->plan->schemes[s].label);
  status = status ? status : table_text(rows, err, "%s", scheme_role_name(scheme->role));
  for (size_t i = 0; !status && i < decision->n_conditions; i++) {
    status = number_cell(&scheme->conditions[i], true, rows, err);
  }
  for (size_t i = 0; !status && i < decision->n_stated; i++) {
    status = table_text(rows, err, "%s", scheme->stated[i] ? "stated" : "not stated");
  }
  if (!status && decision->rank) {
    status = number_cell(&scheme->rank, false, rows, err);
  }
  return status
             ? status
             : table_text(rows, err, "%s%s", s == result->winner ? "winner: " : "", standing_names[scheme->standing]);
}

static int schemes_table(const struct decide_result *result, struct table *rows, struct error *err) {
  const struct plan_decision *decision = result->plan->decision;
  int status = table_title(rows, err, "decision: which schemes meet the conditions?");
  status = status ? status : table_column(rows, "scheme", "scheme", false, false, err);
  status = status ? status : table_column(rows, "role", "role", false, false, err);
  for (size_t i = 0; !status && i < decision->n_conditions; i++) {
    char name[32];
    char heading[32];
    snprintf(name, sizeof name, "condition_%zu", i + 1);
    snprintf(heading, sizeof heading, "condition %zu", i + 1);
    status = table_column(rows, name, heading, true, false, err);
  }
  for (size_t i = 0; !status && i < decision->n_stated; i++) {
    char name[32];
    snprintf(name, sizeof name, "stated_%zu", i + 1);
    status = table_column(rows, name, decision->stated[i].name, false, false, err);
  }
  if (!status && decision->rank) {
    status = table_column(rows, "rank", "ranked by", true, false, err);
  }
  status = status ? status : table_column(rows, "standing", "what follows", false, true, err);
  for (size_t s = 0; !status && s < result->plan->n_schemes; s++) {
    status = scheme_row(result, s, rows, err);
  }
  return status;
}

/* Add a text as a note, unless something failed before; the text is used up. */
static int note(int status, struct text *text, struct table *rows, struct error *err) {
  if (status) {
    text_free(text);
    return status;
  }
  char *whole = text_take(text, err);
  status = !whole ? (int)err->code : whole[0] ? table_note(rows, err, "%s", whole) : 0;
  free(whole);
  return status;
}

static int add_argument(const struct decide_result *result, struct table *rows, struct error *err) {
  struct text verdict = {0}, preferred = {0}, lead = {0}, trained = {0}, disagreement = {0}, limits = {0};
  decide_verdict(result, &verdict);
  decide_preferred_text(result, &preferred);
  decide_lead_text(result, &lead);
  decide_limits_text(result, &limits);
  if (result->evidence) {
    decide_trained_text(result, &trained);
    decide_disagreement_text(result, &disagreement);
  }
  int status = note(0, &verdict, rows, err);
  status = note(status, &preferred, rows, err);
  status = note(status, &lead, rows, err);
  status = note(status, &trained, rows, err);
  status = note(status, &disagreement, rows, err);
  for (size_t i = 0; !status && i < result->plan->decision->n_conditions; i++) {
    struct text change = {0};
    text_append(&change, i ? "" : "What would change it. ");
    decide_change_text(result, i, &change);
    status = note(0, &change, rows, err);
  }
  return note(status, &limits, rows, err);
}

/* The three groups of comparisons: the distances to the limits, and the ends of their intervals. */
static int add_comparisons(const struct decide_result *result, const struct record *records,
                           struct conclusion *conclusion, struct error *err) {
  static const struct {
    const char *group, *title, *name, *what;
  } groups[] = {
      {NULL, "Distance to each limit in margins: 1 and above is met, -1 and below is not", "margins",
       "distance to the limit in margins"},
      {"low", "The same, low end of the 95 % interval", "margins_low", "distance to the limit, low end"},
      {"high", "The same, high end of the 95 % interval", "margins_high", "distance to the limit, high end"},
  };
  struct plan_experiment entry = {.label = "decision"};
  int status = 0;
  for (size_t i = 0; !status && i < sizeof groups / sizeof *groups; i++) {
    struct record *comparison = conclusion_add_comparison(conclusion, &entry, groups[i].group, groups[i].title, err);
    status =
        comparison ? fill_comparison(result, records, groups[i].name, groups[i].what, comparison, err) : (int)err->code;
  }
  return status;
}

/* The conditions in words, a line each. */
static int add_conditions(const struct decide_result *result, struct record *comparison, struct error *err) {
  struct text lines = {0};
  for (size_t i = 0; i < result->plan->decision->n_conditions; i++) {
    text_append(&lines, i ? "\n" : "");
    decide_condition_text(&result->plan->decision->conditions[i], &lines);
  }
  char *words = text_take(&lines, err);
  int status = words ? attributes_set_text(&comparison->attributes, "conditions", words, err) : (int)err->code;
  free(words);
  return status;
}

/* What was decided, as attributes of the first group: the verdict, the winner's label, the whole argument. */
static int add_attributes(const struct decide_result *result, const struct table *argument, struct record *comparison,
                          struct error *err) {
  bool won = result->winner < result->plan->n_schemes;
  struct text text = {0};
  for (size_t i = 0; i < argument->n_notes; i++) {
    text_printf(&text, "%s%s", i ? "\n\n" : "", argument->notes[i]);
  }
  char *whole = text_take(&text, err);
  int status =
      whole ? attributes_set_text(&comparison->attributes, "verdict", argument->notes[0], err) : (int)err->code;
  status = status ? status
                  : attributes_set_text(&comparison->attributes, "winner",
                                        won ? result->plan->schemes[result->winner].label : "", err);
  status = status ? status : attributes_set_text(&comparison->attributes, "argument", whole, err);
  free(whole);
  struct text kinds = {0};
  for (size_t i = 0; i < result->plan->decision->n_conditions; i++) {
    text_printf(&kinds, "%s%s", i ? " " : "", evidence_of(result, i) == KIND_TRAINED ? "trained" : "forward");
  }
  char *evidence = status ? NULL : text_take(&kinds, err);
  text_free(&kinds);
  status = status     ? status
           : evidence ? attributes_set_text(&comparison->attributes, "evidence", evidence, err)
                      : (int)err->code;
  free(evidence);
  status = status ? status : add_conditions(result, comparison, err);
  return !status && result->evidence ? decide_trained_attributes(result, comparison, err) : status;
}

int decide_write(const struct decide_result *result, struct record *records, struct conclusion *conclusion,
                 struct error *err) {
  int status = 0;
  for (size_t s = 0; !status && s < result->plan->n_schemes; s++) {
    status = fill_record(result, s, &records[s], err);
  }
  status = status ? status : add_comparisons(result, records, conclusion, err);
  for (size_t i = 0; !status && i < (result->evidence ? 3 : 2); i++) {
    status = conclusion_add_table(conclusion, err) ? 0 : (int)err->code;
  }
  status = status ? status : conditions_table(result, &conclusion->tables[0], err);
  status = status ? status : schemes_table(result, &conclusion->tables[1], err);
  status = status ? status : add_argument(result, &conclusion->tables[1], err);
  status = !status && result->evidence ? decide_trained_table(result, &conclusion->tables[2], err) : status;
  return status ? status : add_attributes(result, &conclusion->tables[1], &conclusion->comparisons[0], err);
}
