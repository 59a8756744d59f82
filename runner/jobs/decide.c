#include "jobs/decide.h"

#include "base/memory.h"
#include "experiments/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *decide_outcome_name(enum decide_outcome outcome) {
  static const char *const names[] = {"met", "not met", "not separated", "undefined", "not measured", "not learned"};
  return names[outcome];
}

/* Hold a number against its limit. */
static void hold(const struct plan_condition *condition, struct decide_number *number) {
  if (number->outcome == DECIDE_UNDEFINED || number->outcome == DECIDE_NOT_MEASURED) {
    return;
  }
  double sign = condition->above ? 1 : -1;
  double beyond = sign * (number->value - condition->limit); /* positive on the right side */
  double worst =
      isnan(number->low) ? beyond : sign * ((condition->above ? number->low : number->high) - condition->limit);
  double best =
      isnan(number->low) ? beyond : sign * ((condition->above ? number->high : number->low) - condition->limit);
  number->margins = condition->margin > 0 ? beyond / condition->margin : (beyond >= 0 ? 1 : -1);
  bool has_interval = !isnan(number->low) && condition->margin > 0;
  number->margins_low = has_interval ? worst / condition->margin : NAN;
  number->margins_high = has_interval ? best / condition->margin : NAN;
  if (number->outcome == DECIDE_NOT_LEARNED) {
    return; /* shown, not judged */
  }
  if (beyond >= condition->margin && worst >= 0) {
    number->outcome = DECIDE_MET;
  } else if (beyond <= -condition->margin && beyond < 0 && best < 0) {
    number->outcome = DECIDE_NOT_MET;
  } else {
    number->outcome = DECIDE_NOT_SEPARATED;
  }
}

bool decide_counts(const struct decide_scheme *scheme, size_t i) {
  return scheme->conditions[i].trained || !scheme->has_trained;
}

/* What the conditions that count make of a scheme. */
static enum decide_standing standing_of(const struct plan_decision *decision, const struct decide_scheme *scheme) {
  bool fails = false, open = false, swapped = false, not_learned = false, any = false;
  for (size_t i = 0; i < decision->n_conditions; i++) {
    const struct decide_number *number = &scheme->conditions[i];
    if (decide_counts(scheme, i)) {
      swapped = swapped || number->swapped;
      any = any || number->outcome != DECIDE_NOT_MEASURED;
      fails = fails || number->outcome == DECIDE_NOT_MET || number->outcome == DECIDE_UNDEFINED;
      open = open || number->outcome == DECIDE_NOT_SEPARATED || number->outcome == DECIDE_NOT_MEASURED;
      not_learned = not_learned || number->outcome == DECIDE_NOT_LEARNED;
    }
  }
  for (size_t i = 0; i < decision->n_stated; i++) {
    fails = fails || !scheme->stated[i];
  }
  swapped = swapped || (!scheme->has_trained && scheme->rank.swapped);
  return swapped       ? STANDING_NO_VERDICT
         : !any        ? STANDING_NO_NUMBERS
         : fails       ? STANDING_FAILS
         : not_learned ? STANDING_NOT_LEARNED
         : open        ? STANDING_OPEN
                       : STANDING_MEETS;
}

/* The scheme's role in forward passes; where there are none, that of its trained models. */
static void take_role(const struct decide_number *number, enum scheme_role role, struct decide_scheme *scheme,
                      bool *forward) {
  bool measured = number->outcome != DECIDE_NOT_MEASURED;
  if (measured && (!number->trained || !*forward)) {
    scheme->role = scheme->role == ROLE_SWAPPED_IN && *forward ? ROLE_SWAPPED_IN : role;
    *forward = *forward || !number->trained;
  }
}

static void count_units(const struct decide_number *number, struct decide_result *result) {
  size_t *most = number->trained ? &result->n_trained_seeds : &result->n_units;
  *most = number->n_units > *most ? number->n_units : *most;
}

static int judge_scheme(const struct plan *plan, const struct decide_source *sources, size_t n_sources, size_t s,
                        struct decide_result *result, struct error *err) {
  const struct plan_decision *decision = plan->decision;
  struct decide_scheme *scheme = &result->schemes[s];
  scheme->conditions = memory_new(decision->n_conditions, sizeof *scheme->conditions, "conditions", err);
  scheme->stated =
      scheme->conditions ? memory_new(decision->n_stated + 1, sizeof *scheme->stated, "conditions", err) : NULL;
  if (!scheme->stated) {
    return err->code;
  }
  scheme->role = plan->schemes[s].info->sites ? ROLE_UNTRAINED : ROLE_CONTROL;
  scheme->lead = scheme->lead_low = scheme->lead_high = scheme->lead_p = NAN;
  bool forward = false;
  for (size_t i = 0; i < decision->n_conditions; i++) {
    struct decide_number *number = &scheme->conditions[i];
    enum scheme_role role = scheme->role;
    if (decide_number(plan, sources, n_sources, &decision->conditions[i], s, number, &role, &result->unit, err)) {
      return err->code;
    }
    hold(&decision->conditions[i], number);
    take_role(number, role, scheme, &forward);
    count_units(number, result);
    scheme->has_trained = scheme->has_trained || (number->trained && number->outcome != DECIDE_NOT_MEASURED);
  }
  for (size_t i = 0; i < decision->n_stated; i++) {
    for (size_t m = 0; m < decision->stated[i].n_met_by; m++) {
      scheme->stated[i] = scheme->stated[i] || !strcmp(decision->stated[i].met_by[m], plan->schemes[s].label);
    }
  }
  if (decision->rank) {
    enum scheme_role role = scheme->role;
    if (decide_number(plan, sources, n_sources, decision->rank, s, &scheme->rank, &role, &result->unit, err)) {
      return err->code;
    }
    take_role(&scheme->rank, role, scheme, &forward);
  }
  scheme->standing = standing_of(decision, scheme);
  return 0;
}

static bool is_better(const struct plan_condition *rank, const struct decide_number *a, const struct decide_number *b) {
  if (isnan(a->value) || isnan(b->value)) {
    return !isnan(a->value) && isnan(b->value);
  }
  return rank->above ? a->value > b->value : a->value < b->value;
}

static bool runs(const struct decide_scheme *scheme) {
  return scheme->standing == STANDING_MEETS || scheme->standing == STANDING_OPEN;
}

/* The leader's lead over a scheme, unit by unit, and p of the paired t test in scheme->lead_p. */
static int pair_with_leader(const struct plan_condition *rank, const struct decide_number *leader,
                            struct decide_scheme *scheme, struct error *err) {
  const struct decide_number *number = &scheme->rank;
  double sign = rank->above ? 1 : -1;
  scheme->lead = sign * (leader->value - number->value);
  if (leader->n_units != number->n_units || leader->n_units < 2 || isnan(scheme->lead)) {
    return 0;
  }
  double *differences = memory_new(leader->n_units, sizeof *differences, "differences", err);
  if (!differences) {
    return err->code;
  }
  for (size_t i = 0; i < leader->n_units; i++) {
    differences[i] = sign * (leader->units[i] - number->units[i]);
  }
  struct interval interval = student_interval(differences, leader->n_units, 0.95);
  free(differences);
  double freedom = (double)leader->n_units - 1, error = interval.half / student_quantile(0.05, freedom);
  scheme->lead_low = interval.mean - interval.half;
  scheme->lead_high = interval.mean + interval.half;
  scheme->lead_p = error > 0 ? student_two_sided(interval.mean / error, freedom) : interval.mean == 0 ? 1 : 0;
  return 0;
}

/* Pairs of the leader with all others in the running; p after Holm. */
static int compare_with_leader(struct decide_result *result, struct error *err) {
  size_t n = result->plan->n_schemes;
  double *p = memory_new(n, 2 * sizeof *p, "pairs", err), *adjusted = p + n;
  int status = p ? 0 : (int)err->code;
  for (size_t s = 0; !status && s < n; s++) {
    if (s != result->leader && runs(&result->schemes[s])) {
      status = pair_with_leader(result->plan->decision->rank, &result->schemes[result->leader].rank,
                                &result->schemes[s], err);
    }
    p[s] = result->schemes[s].lead_p;
  }
  if (!status) {
    holm_adjust(p, n, adjusted);
  }
  for (size_t s = 0; !status && s < n; s++) {
    result->schemes[s].lead_p = adjusted[s];
  }
  free(p);
  return status;
}

/* Whether the leader leads by at least the margin, and, with several units, the interval of the lead does not hold 0
 * and p after Holm is 0.05 at most. */
static bool leads(const struct plan_condition *rank, const struct decide_number *leader,
                  const struct decide_scheme *scheme) {
  if (isnan(scheme->rank.value)) {
    return !isnan(leader->value);
  }
  bool told = isnan(scheme->lead_p) || (scheme->lead_low > 0 && scheme->lead_p <= 0.05);
  return scheme->lead > 0 && scheme->lead >= rank->margin && told;
}

/* Among those that meet every condition; those that may meet them can take the lead away. */
static int find_winner(struct decide_result *result, struct error *err) {
  const struct plan *plan = result->plan;
  const struct plan_condition *rank = plan->decision->rank;
  size_t none = plan->n_schemes;
  result->winner = result->leader = result->second = none;
  for (size_t s = 0; s < plan->n_schemes; s++) {
    result->n_meets += result->schemes[s].standing == STANDING_MEETS;
    result->n_open += result->schemes[s].standing == STANDING_OPEN;
  }
  for (size_t s = 0; s < plan->n_schemes; s++) {
    if (result->schemes[s].standing == STANDING_MEETS &&
        (result->leader == none ||
         (rank && is_better(rank, &result->schemes[s].rank, &result->schemes[result->leader].rank)))) {
      result->leader = s;
    }
  }
  if (!result->n_meets) {
    return 0;
  }
  bool wins = rank ? !isnan(result->schemes[result->leader].rank.value) : result->n_meets + result->n_open == 1;
  if (rank && compare_with_leader(result, err)) {
    return err->code;
  }
  for (size_t s = 0; rank && s < plan->n_schemes; s++) {
    if (s == result->leader || !runs(&result->schemes[s])) {
      continue;
    }
    wins = wins && leads(rank, &result->schemes[result->leader].rank, &result->schemes[s]);
    if (result->second == none || is_better(rank, &result->schemes[s].rank, &result->schemes[result->second].rank)) {
      result->second = s;
    }
  }
  result->by_rank = rank && result->n_meets + result->n_open > 1;
  result->winner = wins || result->n_meets + result->n_open == 1 ? result->leader : none;
  return 0;
}

int decide_judge(const struct plan *plan, const struct decide_source *sources, size_t n_sources,
                 struct decide_result *out, struct error *err) {
  *out = (struct decide_result){.plan = plan, .unit = "", .forward_length = NAN};
  out->schemes = memory_new(plan->n_schemes, sizeof *out->schemes, "decision", err);
  int status = out->schemes ? 0 : (int)err->code;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    status = judge_scheme(plan, sources, n_sources, s, out, err);
  }
  /* What no scheme has is no property of a scheme: the config asks for something that was not run. */
  for (size_t i = 0; !status && i < plan->decision->n_conditions; i++) {
    bool measured = false;
    for (size_t s = 0; s < plan->n_schemes; s++) {
      measured = measured || out->schemes[s].conditions[i].outcome != DECIDE_NOT_MEASURED;
    }
    out->unjudged = out->unjudged || !measured;
  }
  for (size_t i = 0; !status && i < n_sources; i++) {
    for (size_t s = 0; !sources[i].trained && isnan(out->forward_length) && s < plan->n_schemes; s++) {
      out->forward_length = decide_attribute(&sources[i].records[s], "train_length");
    }
  }
  status = status ? status : find_winner(out, err);
  if (status) {
    decide_free(out);
  }
  return status;
}

void decide_free(struct decide_result *result) {
  for (size_t s = 0; result->schemes && s < result->plan->n_schemes; s++) {
    struct decide_scheme *scheme = &result->schemes[s];
    for (size_t i = 0; scheme->conditions && i < result->plan->decision->n_conditions; i++) {
      free(scheme->conditions[i].units);
    }
    free(scheme->rank.units);
    free(scheme->conditions);
    free(scheme->stated);
  }
  free(result->schemes);
  *result = (struct decide_result){0};
}
