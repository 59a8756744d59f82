/* A condition that follows from another one asks nothing: it is refused, so that a decision does not count one reason
 * twice. */
#include "config/plan_parts.h"

#include "config/yaml_tree.h"

#include <stdio.h>
#include <string.h>

/* The same measure, reduced in the same way, at the same places of its other axes. */
static bool same_measure(const struct plan_condition *a, const struct plan_condition *b) {
  const struct plan_expectation *x = &a->measure, *y = &b->measure;
  bool same = !strcmp(x->measure, y->measure) && x->reduction == y->reduction && x->n_choices == y->n_choices &&
              (!x->experiment[0] || !y->experiment[0] || !strcmp(x->experiment, y->experiment));
  for (size_t i = 0; same && i < x->n_choices; i++) {
    bool found = false;
    for (size_t j = 0; j < y->n_choices; j++) {
      found = found ||
              (!strcmp(x->choices[i].axis, y->choices[j].axis) && !strcmp(x->choices[i].value, y->choices[j].value));
    }
    same = found;
  }
  return same;
}

static bool is_measure(const struct plan_condition *condition, const char *name) {
  return !strcmp(condition->measure.measure, name);
}

/* Whether a condition is of the kind "the scheme has a value (that training could have set)". */
static bool asks_for_a_value(const struct plan_condition *condition) {
  return condition->above && (is_measure(condition, "defined") || is_measure(condition, "trained"));
}

/* Measures of extrapolation that are numbers only where the scheme has a value for the whole length. */
static bool needs_a_value(const struct plan_condition *condition) {
  static const char *const names[] = {"truncation_jsd",     "jsd_to_trained", "mass_beyond", "tail_distance",
                                      "normalised_entropy", "mean_distance",  NULL};
  for (size_t i = 0; names[i]; i++) {
    if (is_measure(condition, names[i])) {
      return true;
    }
  }
  return false;
}

/* Why `b` holds wherever `a` does; NULL: it need not. */
static const char *follows(const struct plan_condition *a, const struct plan_condition *b) {
  if (same_measure(a, b) && a->length == b->length && a->above == b->above &&
      (a->above ? a->limit + a->margin >= b->limit + b->margin : a->limit - a->margin <= b->limit - b->margin)) {
    return "its limit is no harder to keep";
  }
  if (asks_for_a_value(a) && asks_for_a_value(b) && a->length >= b->length &&
      (is_measure(a, "trained") || is_measure(b, "defined")) && b->limit <= a->limit) {
    return "what has a value at a length has one at every shorter one, and what is trained is defined";
  }
  if (needs_a_value(a) && asks_for_a_value(b) && is_measure(b, "defined") && a->length >= b->length && b->limit <= 1) {
    return "that measure is a number only where the scheme is defined";
  }
  if (is_measure(a, "shift_error") && is_measure(b, "window_jsd") && !a->above && !b->above) {
    return "a score that depends on the distance alone gives the same window everywhere, by algebra";
  }
  return NULL;
}

void decision_check(struct reader *reader, const struct node *node, const struct plan *plan) {
  const struct plan_decision *decision = plan->decision;
  const struct node *list = node_get(node, "conditions");
  for (size_t b = 0; b < decision->n_conditions; b++) {
    for (size_t a = 0; a < decision->n_conditions; a++) {
      const char *why = a == b ? NULL : follows(&decision->conditions[a], &decision->conditions[b]);
      bool mutual = why && follows(&decision->conditions[b], &decision->conditions[a]);
      if (!why || (mutual && a > b)) {
        continue; /* of two that say the same the second is refused */
      }
      const char *path = arena_printf(&reader->arena, "decision.conditions[%zu]", b);
      reader_report(reader, ERROR_CONFIG_CONFLICT, list && b < list->count ? list->items[b] : node, path,
                    "follows from conditions[%zu] (%.80s at %g): %s; take it out", a,
                    decision->conditions[a].measure.text, decision->conditions[a].length, why);
      break;
    }
  }
}
