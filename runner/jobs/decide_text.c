/* The argument in words. Every number in it is a value of the decision's records, a limit or a margin. */
#include "jobs/decide.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *label(const struct decide_result *result, size_t s) {
  return result->plan->schemes[s].label;
}

/* "a, b and c" of the schemes with a standing; how many. */
static size_t list_standing(const struct decide_result *result, enum decide_standing standing, struct text *out) {
  size_t count = 0, written = 0;
  for (size_t s = 0; s < result->plan->n_schemes; s++) {
    count += result->schemes[s].standing == standing;
  }
  for (size_t s = 0; s < result->plan->n_schemes; s++) {
    if (result->schemes[s].standing == standing) {
      text_printf(out, "%s%s", written == 0 ? "" : written + 1 == count ? " and " : ", ", label(result, s));
      written++;
    }
  }
  return count;
}

void decide_condition_text(const struct plan_condition *condition, struct text *out) {
  text_printf(out, "%s at %.10g %s %.10g (margin %.10g)", condition->measure.text, condition->length,
              condition->above ? ">=" : "<=", condition->limit, condition->margin);
}

void decide_verdict(const struct decide_result *result, struct text *out) {
  const struct plan *plan = result->plan;
  if (result->unjudged) {
    text_append(out, "No decision: a condition names what was not measured.");
  } else if (!result->n_meets && !result->n_open) {
    text_append(out, "Condition not met: no scheme meets every condition.");
  } else if (result->winner < plan->n_schemes && !result->by_rank) {
    text_printf(out, "Winner: %s, the only scheme that meets every condition.", label(result, result->winner));
  } else if (result->winner < plan->n_schemes) {
    text_printf(out, "Winner: %s, which leads those that meet every condition by more than the margin.",
                label(result, result->winner));
  } else if (!result->n_meets) {
    text_append(out, "No winner: the data do not tell whether ");
    list_standing(result, STANDING_OPEN, out);
    text_append(out, result->n_open == 1 ? " meets the conditions." : " meet the conditions.");
  } else {
    text_append(out, "No winner: the data do not separate ");
    list_standing(result, STANDING_MEETS, out);
    text_append(out, result->n_open ? " from what may meet the conditions: " : "");
    if (result->n_open) {
      list_standing(result, STANDING_OPEN, out);
    }
    text_append(out, plan->decision->rank ? "." : "; the config names no measure to rank them by.");
  }
}

/* The first preferred scheme with a standing; n_schemes: none. */
static size_t first_preferred(const struct decide_result *result, enum decide_standing standing) {
  const struct plan *plan = result->plan;
  for (size_t i = 0; i < plan->decision->n_prefer; i++) {
    for (size_t s = 0; s < plan->n_schemes; s++) {
      if (!strcmp(plan->decision->prefer[i], label(result, s)) && result->schemes[s].standing == standing) {
        return s;
      }
    }
  }
  return plan->n_schemes;
}

/* Why a scheme is not in the running: the first condition that it does not meet. */
static void why_not(const struct decide_result *result, size_t s, struct text *out) {
  const struct plan_decision *decision = result->plan->decision;
  const struct decide_scheme *scheme = &result->schemes[s];
  if (scheme->standing == STANDING_NO_VERDICT) {
    text_append(out, "is swapped in without retraining, so that nothing is decided about it");
    return;
  }
  for (size_t i = 0; i < decision->n_conditions; i++) {
    const struct decide_number *number = &scheme->conditions[i];
    if (!decide_counts(scheme, i)) {
      continue;
    }
    if (number->outcome == DECIDE_NOT_LEARNED) {
      text_append(out, "has not learned at the length that it was trained on, so that nothing beyond is judged");
      return;
    }
    if (number->outcome == DECIDE_NOT_MET) {
      text_printf(out, "misses condition %zu (%.3g where %.10g is the limit)", i + 1, number->value,
                  decision->conditions[i].limit);
      return;
    }
    if (number->outcome == DECIDE_UNDEFINED || number->outcome == DECIDE_NOT_MEASURED) {
      text_printf(out, "is %s under condition %zu", decide_outcome_name(number->outcome), i + 1);
      return;
    }
  }
  for (size_t i = 0; i < decision->n_stated; i++) {
    if (!scheme->stated[i]) {
      text_printf(out, "does not have what is stated as '%s'", decision->stated[i].name);
      return;
    }
  }
  text_append(out, scheme->standing == STANDING_OPEN ? "is too close to a limit to tell" : "meets every condition");
}

void decide_preferred_text(const struct decide_result *result, struct text *out) {
  const struct plan *plan = result->plan;
  const struct plan_decision *decision = plan->decision;
  if (!decision->n_prefer) {
    text_append(out, "The config prefers no scheme.");
  } else {
    text_append(out, "The config prefers ");
    for (size_t i = 0; i < decision->n_prefer; i++) {
      text_printf(out, "%s%s", i ? ", then " : "", decision->prefer[i]);
    }
    text_append(out, ".");
    for (size_t s = 0; s < plan->n_schemes; s++) {
      if (!strcmp(label(result, s), decision->prefer[0])) {
        text_printf(out, " Of %s the data say that it ", decision->prefer[0]);
        why_not(result, s, out);
        text_append(out, ".");
      }
    }
  }
  if (result->winner < plan->n_schemes) {
    text_printf(out, " The data decided for %s.", label(result, result->winner));
    return;
  }
  size_t taken = first_preferred(result, STANDING_MEETS);
  text_append(out, " The data decided for none.");
  if (taken < plan->n_schemes) {
    text_printf(out, " Following the preference, which is no measurement, one would take %s.", label(result, taken));
  }
}

/* The scheme under verdict whose value is nearest to the limit among those that meet (that do not meet) it. */
static size_t nearest(const struct decide_result *result, size_t condition, bool met) {
  size_t best = result->plan->n_schemes;
  bool above = result->plan->decision->conditions[condition].above;
  for (size_t s = 0; s < result->plan->n_schemes; s++) {
    const struct decide_number *number = &result->schemes[s].conditions[condition];
    if (result->schemes[s].standing == STANDING_NO_VERDICT || number->swapped || isnan(number->value) ||
        (number->outcome == DECIDE_MET) != met) {
      continue;
    }
    double best_value = best < result->plan->n_schemes ? result->schemes[best].conditions[condition].value : NAN;
    if (isnan(best_value) || ((number->value < best_value) == (met == above))) {
      best = s;
    }
  }
  return best;
}

void decide_change_text(const struct decide_result *result, size_t condition, struct text *out) {
  const struct plan_condition *c = &result->plan->decision->conditions[condition];
  double sign = c->above ? -1 : 1;
  size_t inside = nearest(result, condition, true), outside = nearest(result, condition, false);
  text_printf(out, "Condition %zu, ", condition + 1);
  decide_condition_text(c, out);
  text_append(out, ": ");
  if (inside < result->plan->n_schemes) {
    double value = result->schemes[inside].conditions[condition].value;
    text_printf(out, "with a limit %s %.3g %s no longer meets it", c->above ? "above" : "below",
                value + sign * c->margin, label(result, inside));
  } else {
    text_append(out, "nobody meets it");
  }
  if (outside < result->plan->n_schemes) {
    double value = result->schemes[outside].conditions[condition].value;
    text_printf(out, "; %s is next, at %.3g: it would take a limit of %.3g", label(result, outside), value,
                value + sign * c->margin);
  }
  text_append(out, ".");
}

void decide_lead_text(const struct decide_result *result, struct text *out) {
  const struct plan *plan = result->plan;
  const struct plan_condition *rank = plan->decision->rank;
  if (!rank || result->leader >= plan->n_schemes) {
    return;
  }
  const struct decide_number *first = &result->schemes[result->leader].rank;
  text_printf(out, "Ranked by %s at %.10g, %s best: %s has %.3g", rank->measure.text, rank->length,
              rank->above ? "largest" : "smallest", label(result, result->leader), first->value);
  if (result->second < plan->n_schemes) {
    const struct decide_number *second = &result->schemes[result->second].rank;
    text_printf(out, ", %s %.3g: a lead of %.3g where the margin is %.10g", label(result, result->second),
                second->value, fabs(first->value - second->value), rank->margin);
    const struct decide_scheme *next = &result->schemes[result->second];
    if (!isnan(next->lead_p)) {
      text_printf(out, " (95 %% interval [%.3g, %.3g], p after Holm %.2g)", next->lead_low, next->lead_high,
                  next->lead_p);
    }
  }
  text_append(out, ".");
}

void decide_limits_text(const struct decide_result *result, struct text *out) {
  bool trained = result->evidence != NULL, forward = false;
  for (size_t i = 0; i < result->plan->n_experiments; i++) {
    trained = trained || result->plan->experiments[i].info->trains;
    forward = forward || !result->plan->experiments[i].info->trains;
  }
  if (forward) {
    text_append(out,
                "What forward passes cannot show: how well a model trained with each scheme would predict, how its "
                "weights would have come out, what more layers or more training do. A mechanism that decays with "
                "distance wins measures of consistency by construction; none of them says that a far token is "
                "put to use.");
  }
  if (trained) {
    text_append(out, forward ? " " : "");
    text_append(out, "The trained models are small ones: their order need not be that of large ones.");
  }
  if (result->unit[0] || result->n_trained_seeds > 1) {
    text_append(out, " Intervals are 95 % t intervals over ");
    if (result->unit[0]) {
      text_printf(out, "%zu %ss%s", result->n_units, result->unit, result->n_trained_seeds > 1 ? " and " : "");
    }
    if (result->n_trained_seeds > 1) {
      text_printf(out, "%zu seeds of trained models", result->n_trained_seeds);
    }
    text_append(out, ".");
  } else {
    text_append(out, " There is one unit (text or seed), so no interval: the margin alone separates.");
  }
}
