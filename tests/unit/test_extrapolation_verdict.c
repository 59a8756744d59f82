/* The verdict beyond the training length, on built evidence: one case for each outcome, with L = 128. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "experiments/extrapolation_evidence.h"

enum { LENGTHS = 5 };

/* A scheme that is the model, has signal, and whose medians stay below what is seen inside. */
static struct extrapolation_evidence sound(struct length_evidence lengths[LENGTHS]) {
  static const double at[LENGTHS] = {64, 128, 160, 256, 512};
  for (size_t t = 0; t < LENGTHS; t++) {
    lengths[t] = (struct length_evidence){.length = at[t],
                                          .defined = true,
                                          .spans = 20,
                                          .inside_spans = 40,
                                          .units = 2,
                                          .median = at[t] > 128 ? 0.1 : 0,
                                          .inside = at[t] > 128 ? 0.2 : NAN};
  }
  return (struct extrapolation_evidence){.role = ROLE_MODEL,
                                         .train_length = 128,
                                         .lengths = lengths,
                                         .n_lengths = LENGTHS,
                                         .signal = 0.4,
                                         .floor = 0.05,
                                         .control = NAN,
                                         .knee = NAN};
}

static void expect(const struct extrapolation_evidence *evidence, enum extrapolation_outcome outcome, double decided_at,
                   const char *words) {
  const struct length_evidence *decided;
  char text[240];
  assert_int_equal(extrapolation_judge(evidence, &decided), outcome);
  if (isnan(decided_at)) {
    assert_null(decided);
  } else {
    assert_non_null(decided);
    assert_true(decided->length == decided_at);
  }
  extrapolation_word(evidence, text, sizeof text);
  assert_string_equal(text, words);
}

static void test_holds(void **state) {
  (void)state;
  struct length_evidence at[LENGTHS];
  struct extrapolation_evidence e = sound(at);
  expect(&e, OUTCOME_HOLDS, 512, "holds to 512 tokens");
  e.role = ROLE_UNTRAINED; /* random, or given q and k: judged as well */
  e.by_seed = true;
  expect(&e, OUTCOME_HOLDS, 512, "holds to 512 tokens");
}

static void test_degrades_at_the_right_length(void **state) {
  (void)state;
  struct length_evidence at[LENGTHS];
  struct extrapolation_evidence e = sound(at);
  at[3].median = 0.25;
  at[4].median = 0.3;
  expect(&e, OUTCOME_DEGRADES, 256, "degrades from 256 tokens (last position 255): 0.25, inside 0.2");
  at[2].median = 0.2; /* equal is not more */
  expect(&e, OUTCOME_DEGRADES, 256, "degrades from 256 tokens (last position 255): 0.25, inside 0.2");
  e.control = 512; /* `none` does so further out */
  expect(&e, OUTCOME_DEGRADES, 256, "degrades from 256 tokens (last position 255): 0.25, inside 0.2");
  e.control = NAN;
  struct length_evidence first = at[2]; /* lengths in any order */
  at[2] = at[4];
  at[4] = first;
  expect(&e, OUTCOME_DEGRADES, 256, "degrades from 256 tokens (last position 255): 0.25, inside 0.2");
}

/* Where more keys alone do the same, that is said. */
static void test_control_degrades_too(void **state) {
  (void)state;
  struct length_evidence at[LENGTHS], without[LENGTHS];
  struct extrapolation_evidence e = sound(at), control = sound(without);
  control.role = ROLE_CONTROL;
  at[3].median = 0.25;
  extrapolation_evidence_control(&e, &control);
  assert_true(isnan(e.control));
  without[2].median = 0.21;
  without[4].median = 0.21;
  extrapolation_evidence_control(&e, &control);
  assert_true(e.control == 160);
  expect(&e, OUTCOME_DEGRADES, 256,
         "degrades from 256 tokens (last position 255): 0.25, inside 0.2; so does the control: more context alone does "
         "it");
}

static void test_undefined(void **state) {
  (void)state;
  struct length_evidence at[LENGTHS];
  struct extrapolation_evidence e = sound(at);
  at[4].defined = false;
  expect(&e, OUTCOME_HOLDS, 256, "holds to 256 tokens; undefined beyond 256 tokens");
  at[2].defined = at[3].defined = false;
  expect(&e, OUTCOME_UNDEFINED, NAN, "undefined beyond 128 tokens");
}

static void test_trivially(void **state) {
  (void)state;
  struct length_evidence at[LENGTHS];
  struct extrapolation_evidence e = sound(at);
  e.signal = e.floor = 0;
  expect(&e, OUTCOME_TRIVIALLY, NAN, "holds trivially: attention does not depend on positions");
  e.role = ROLE_CONTROL;
  expect(&e, OUTCOME_CONTROL, NAN, "control: holds trivially, it has no positions");
}

static void test_hardly_encodes_position(void **state) {
  (void)state;
  struct length_evidence at[LENGTHS];
  struct extrapolation_evidence e = sound(at);
  e.signal = 0.14;
  expect(&e, OUTCOME_HARDLY, NAN, "hardly encodes position: signal 0.14, floor 0.05");
  e.signal = 0.16; /* 3 x floor is 0.15 */
  expect(&e, OUTCOME_HOLDS, 512, "holds to 512 tokens");
}

/* Whatever its numbers are. */
static void test_swapped_in_has_no_verdict(void **state) {
  (void)state;
  struct length_evidence at[LENGTHS];
  struct extrapolation_evidence e = sound(at);
  e.role = ROLE_SWAPPED_IN;
  for (int i = 0; i < 3; i++) {
    at[3].median = 0.1 * i * i;
    expect(&e, OUTCOME_SWAPPED_IN, NAN, "no verdict: swapped in without retraining");
  }
  at[4].defined = false;
  expect(&e, OUTCOME_SWAPPED_IN, NAN, "no verdict: swapped in without retraining; undefined beyond 256 tokens");
}

static void test_shuffled_has_no_information(void **state) {
  (void)state;
  struct length_evidence at[LENGTHS];
  struct extrapolation_evidence e = sound(at);
  e.role = ROLE_MAPPED;
  e.shuffled = true;
  e.knee = 131;
  expect(&e, OUTCOME_NO_INFORMATION, NAN,
         "no information: positions in random order carry none, yet the window knee at position 131 stays");
}

static void test_not_enough(void **state) {
  (void)state;
  struct length_evidence at[LENGTHS];
  struct extrapolation_evidence e = sound(at);
  for (size_t t = 0; t < LENGTHS; t++) {
    at[t].spans = 19;
  }
  expect(&e, OUTCOME_NOT_ENOUGH, NAN, "no verdict: 19 stretches of 2 texts (needs 20 of 2)");
  e = sound(at);
  for (size_t t = 0; t < LENGTHS; t++) {
    at[t].units = 1;
  }
  expect(&e, OUTCOME_NOT_ENOUGH, NAN, "no verdict: 20 stretches of 1 texts (needs 20 of 2)");
  e = sound(at);
  for (size_t t = 0; t < LENGTHS; t++) {
    at[t].repeated = true;
  }
  expect(&e, OUTCOME_NOT_ENOUGH, NAN, "no verdict: beyond L the tokens are repeated");
  e = sound(at);
  at[4].repeated = true;
  at[4].median = 0.6; /* repeated tokens decide nothing */
  expect(&e, OUTCOME_HOLDS, 256, "holds to 256 tokens; no verdict from 512 tokens on, where they are repeated");
  e = sound(at);
  e.n_lengths = 2;
  expect(&e, OUTCOME_NOT_ENOUGH, NAN, "no verdict: nothing measured beyond L");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_holds),
      cmocka_unit_test(test_degrades_at_the_right_length),
      cmocka_unit_test(test_control_degrades_too),
      cmocka_unit_test(test_undefined),
      cmocka_unit_test(test_trivially),
      cmocka_unit_test(test_hardly_encodes_position),
      cmocka_unit_test(test_swapped_in_has_no_verdict),
      cmocka_unit_test(test_shuffled_has_no_information),
      cmocka_unit_test(test_not_enough),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
