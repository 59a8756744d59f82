#include "jobs/decide.h"

#include "base/memory.h"
#include "experiments/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *decide_outcome_name(enum decide_outcome outcome) {
  static const char *const names[] = {"met", "not met", "not separated", "undefined", "not measured"};
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
  if (beyond >= condition->margin && worst >= 0) {
    number->outcome = DECIDE_MET;
  } else if (beyond <= -condition->margin && beyond < 0 && best < 0) {
    number->outcome = DECIDE_NOT_MET;
  } else {
    number->outcome = DECIDE_NOT_SEPARATED;
  }
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
  bool fails = false, open = false, swapped = false, any = false;
  for (size_t i = 0; i < decision->n_conditions; i++) {
    struct decide_number *number = &scheme->conditions[i];
    enum scheme_role role = scheme->role;
    if (decide_number(plan, sources, n_sources, &decision->conditions[i], s, number, &role, &result->unit, err)) {
      return err->code;
    }
    hold(&decision->conditions[i], number);
    swapped = swapped || role == ROLE_SWAPPED_IN;
    scheme->role = role;
    any = any || number->outcome != DECIDE_NOT_MEASURED;
    fails = fails || number->outcome == DECIDE_NOT_MET || number->outcome == DECIDE_UNDEFINED;
    open = open || number->outcome == DECIDE_NOT_SEPARATED || number->outcome == DECIDE_NOT_MEASURED;
    result->n_units = number->n_units > result->n_units ? number->n_units : result->n_units;
  }
  for (size_t i = 0; i < decision->n_stated; i++) {
    for (size_t m = 0; m < decision->stated[i].n_met_by; m++) {
      scheme->stated[i] = scheme->stated[i] || !strcmp(decision->stated[i].met_by[m], plan->schemes[s].label);
    }
    fails = fails || !scheme->stated[i];
  }
  if (decision->rank) {
    enum scheme_role role = scheme->role;
    if (decide_number(plan, sources, n_sources, decision->rank, s, &scheme->rank, &role, &result->unit, err)) {
      return err->code;
    }
    swapped = swapped || role == ROLE_SWAPPED_IN;
  }
  scheme->role = swapped ? ROLE_SWAPPED_IN : scheme->role;
  scheme->standing = swapped ? STANDING_NO_VERDICT
                     : !any  ? STANDING_NO_NUMBERS
                     : fails ? STANDING_FAILS
                     : open  ? STANDING_OPEN
                             : STANDING_MEETS;
  return 0;
}

/* Whether `a` leads `b` by at least the margin, and the interval of their difference, unit by unit, does not hold 0. */
static bool leads(const struct plan_condition *rank, const struct decide_number *a, const struct decide_number *b,
                  struct error *err, bool *answer) {
  double sign = rank->above ? 1 : -1;
  double lead = sign * (a->value - b->value);
  *answer = isnan(b->value) ? !isnan(a->value) : lead > 0 && lead >= rank->margin;
  if (!*answer || a->n_units != b->n_units || a->n_units < 2 || isnan(b->value)) {
    return true;
  }
  double *differences = memory_new(a->n_units, sizeof *differences, "differences", err);
  if (!differences) {
    return false;
  }
  for (size_t i = 0; i < a->n_units; i++) {
    differences[i] = sign * (a->units[i] - b->units[i]);
  }
  struct interval interval = student_interval(differences, a->n_units, 0.95);
  *answer = interval.mean - interval.half > 0;
  free(differences);
  return true;
}

static bool is_better(const struct plan_condition *rank, const struct decide_number *a, const struct decide_number *b) {
  if (isnan(a->value) || isnan(b->value)) {
    return !isnan(a->value) && isnan(b->value);
  }
  return rank->above ? a->value > b->value : a->value < b->value;
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
  for (size_t s = 0; rank && s < plan->n_schemes; s++) {
    enum decide_standing standing = result->schemes[s].standing;
    if (s == result->leader || (standing != STANDING_MEETS && standing != STANDING_OPEN)) {
      continue;
    }
    bool answer;
    if (!leads(rank, &result->schemes[result->leader].rank, &result->schemes[s].rank, err, &answer)) {
      return err->code;
    }
    wins = wins && answer;
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
  *out = (struct decide_result){.plan = plan, .unit = ""};
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
