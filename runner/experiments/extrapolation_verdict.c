/* The rule of extrapolation_evidence.h, and its outcome in words. */
#include "experiments/extrapolation_evidence.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A scheme whose attention hardly changes when its positions are taken away says nothing by being consistent. */
static const double HARDLY = 3;

static bool is_beyond(const struct extrapolation_evidence *e, const struct length_evidence *at) {
  return at->length > e->train_length;
}

/* Whether a length may decide. */
static bool is_judged(const struct extrapolation_evidence *e, const struct length_evidence *at) {
  return is_beyond(e, at) && at->defined && !at->repeated && at->spans >= EXTRAPOLATION_MIN_WINDOWS &&
         at->inside_spans >= EXTRAPOLATION_MIN_WINDOWS && at->units >= EXTRAPOLATION_MIN_UNITS;
}

static bool degrades_at(const struct length_evidence *at) {
  return at->median > at->inside;
}

static const struct length_evidence *longest_defined(const struct extrapolation_evidence *e) {
  const struct length_evidence *longest = NULL;
  for (size_t t = 0; t < e->n_lengths; t++) {
    const struct length_evidence *at = &e->lengths[t];
    longest = at->defined && (!longest || at->length > longest->length) ? at : longest;
  }
  return longest;
}

static bool is_undefined_somewhere(const struct extrapolation_evidence *e) {
  for (size_t t = 0; t < e->n_lengths; t++) {
    if (!e->lengths[t].defined) {
      return true;
    }
  }
  return false;
}

void extrapolation_evidence_control(struct extrapolation_evidence *evidence,
                                    const struct extrapolation_evidence *control) {
  evidence->control = NAN;
  for (size_t t = 0; t < control->n_lengths; t++) {
    const struct length_evidence *at = &control->lengths[t];
    if (is_judged(control, at) && degrades_at(at) && !(evidence->control <= at->length)) {
      evidence->control = at->length;
    }
  }
}

enum extrapolation_outcome extrapolation_judge(const struct extrapolation_evidence *e,
                                               const struct length_evidence **decided) {
  const struct length_evidence *longest = longest_defined(e), *first = NULL, *last = NULL;
  *decided = NULL;
  for (size_t t = 0; t < e->n_lengths; t++) {
    const struct length_evidence *at = &e->lengths[t];
    if (is_judged(e, at)) {
      first = degrades_at(at) && (!first || at->length < first->length) ? at : first;
      last = !last || at->length > last->length ? at : last;
    }
  }
  if (e->role == ROLE_CONTROL) {
    return OUTCOME_CONTROL;
  }
  if (e->role == ROLE_SWAPPED_IN) {
    return OUTCOME_SWAPPED_IN;
  }
  if (e->shuffled) {
    return OUTCOME_NO_INFORMATION;
  }
  if (!longest || (!is_beyond(e, longest) && is_undefined_somewhere(e))) {
    return OUTCOME_UNDEFINED;
  }
  if (e->signal == 0) {
    return OUTCOME_TRIVIALLY;
  }
  if (!last || isnan(e->signal) || isnan(e->floor)) {
    return OUTCOME_NOT_ENOUGH;
  }
  if (e->signal < HARDLY * e->floor) {
    return OUTCOME_HARDLY;
  }
  *decided = first ? first : last;
  return first ? OUTCOME_DEGRADES : OUTCOME_HOLDS;
}

struct words {
  char *out;
  size_t size;
};

static void say(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct words *words, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int written = vsnprintf(words->out, words->size, format, list);
  va_end(list);
  size_t used = written < 0 ? 0 : (size_t)written < words->size ? (size_t)written : words->size - 1;
  words->out += used;
  words->size -= used;
}

/* Why no length may decide. */
static void say_not_enough(const struct extrapolation_evidence *e, struct words *words) {
  const struct length_evidence *best = NULL;
  bool beyond = false, repeated = false;
  for (size_t t = 0; t < e->n_lengths; t++) {
    const struct length_evidence *at = &e->lengths[t];
    beyond = beyond || (is_beyond(e, at) && at->defined);
    repeated = repeated || (is_beyond(e, at) && at->repeated);
    if (is_beyond(e, at) && at->defined && !at->repeated) {
      best = !best || at->spans > best->spans ? at : best;
    }
  }
  const char *unit = e->by_seed ? "seeds" : "texts";
  if (!beyond) {
    say(words, "no verdict: nothing measured beyond L");
  } else if (!best && repeated) {
    say(words, "no verdict: beyond L the tokens are repeated");
  } else if (isnan(e->signal) || isnan(e->floor)) {
    say(words, "no verdict: no window shows the position signal and its floor");
  } else {
    size_t spans = best->spans < best->inside_spans ? best->spans : best->inside_spans;
    say(words, "no verdict: %zu stretches of %zu %s (needs %d of %d)", spans, best->units, unit,
        EXTRAPOLATION_MIN_WINDOWS, EXTRAPOLATION_MIN_UNITS);
  }
}

/* Lengths that the outcome says nothing of. */
static void say_limits(const struct extrapolation_evidence *e, enum extrapolation_outcome outcome,
                       struct words *words) {
  if (outcome != OUTCOME_UNDEFINED && is_undefined_somewhere(e)) {
    const struct length_evidence *longest = longest_defined(e);
    say(words, "; undefined beyond %.0f tokens", longest ? longest->length : 0.0);
  }
  double repeated = INFINITY;
  for (size_t t = 0; t < e->n_lengths; t++) {
    if (e->lengths[t].repeated && is_beyond(e, &e->lengths[t])) {
      repeated = fmin(repeated, e->lengths[t].length);
    }
  }
  if ((outcome == OUTCOME_HOLDS || outcome == OUTCOME_DEGRADES) && isfinite(repeated)) {
    say(words, "; no verdict from %.0f tokens on, where they are repeated", repeated);
  }
}

void extrapolation_word(const struct extrapolation_evidence *e, char *out, size_t size) {
  const struct length_evidence *decided;
  enum extrapolation_outcome outcome = extrapolation_judge(e, &decided);
  const struct length_evidence *longest = longest_defined(e);
  struct words words = {out, size};
  switch (outcome) {
  case OUTCOME_CONTROL:
    say(&words, "control: holds trivially, it has no positions");
    break;
  case OUTCOME_SWAPPED_IN:
    say(&words, "no verdict: swapped in without retraining");
    break;
  case OUTCOME_NO_INFORMATION:
    say(&words, "no information: positions in random order carry none");
    if (!isnan(e->knee)) {
      say(&words, ", yet the window knee at position %.0f stays", e->knee);
    }
    break;
  case OUTCOME_TRIVIALLY:
    say(&words, "holds trivially: attention does not depend on positions");
    break;
  case OUTCOME_UNDEFINED:
    say(&words, "undefined beyond %.0f tokens", longest ? longest->length : 0.0);
    break;
  case OUTCOME_NOT_ENOUGH:
    say_not_enough(e, &words);
    break;
  case OUTCOME_HARDLY:
    say(&words, "hardly encodes position: signal %.2g, floor %.2g", e->signal, e->floor);
    break;
  case OUTCOME_DEGRADES:
    say(&words, "degrades from %.0f tokens (last position %.0f): %.3g, inside %.3g", decided->length,
        decided->length - 1, decided->median, decided->inside);
    if (e->control <= decided->length) {
      say(&words, "; so does the control: more context alone does it");
    }
    break;
  case OUTCOME_HOLDS:
    say(&words, "holds to %.0f tokens", decided->length);
    break;
  }
  say_limits(e, outcome, &words);
}
