/* Extrapolation on built models, run as a user runs it: random queries and keys, given ones, positions that are
 * shuffled or interpolated. Expected values are exact arithmetic or published figures, named where they stand.
 */
#include "golden_check.h"
#include "run_config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "experiments/statistics.h"

/* Angles of a head of width 128 trained on 64 tokens, asked for 512: every turn of training's that is not yet whole is
 * new, unless positions or frequencies are divided by 8. Costs: K(0) - K(1) of plain, interpolated, NTK-aware and YaRN
 * scaling at width 128, base 10000 (computed from the formulas of Chen et al. 2023 and Peng et al. 2023 in extended
 * precision). First distance with a negative sum of cosines: the tables behind Men et al. 2024. */
static void test_frequencies(void **state) {
  (void)state;
  static const struct {
    const char *label, *entry;
    double resolution;        /* NaN: not stated */
    double negative_unscaled; /* NaN: not stated */
    bool nothing_unseen;
  } cases[] = {
      {"plain", "rope: {base: 10000}", 0.0298, 1707, false},
      {"base_5e4", "rope: {base: 5e4}", NAN, 5306, false},
      {"base_5e5", "rope: {base: 5e5}", NAN, 18438, false},
      {"base_1e6", "rope: {base: 1e6}", NAN, 27115, false},
      {"linear", "rope: {scaling: linear, factor: 8}", 0.0005, 1707, true},
      {"divided", "rope: {base: 10000}\n    positions: {divide: auto}", 0.0005, 1707, true},
      {"ntk", "rope: {scaling: ntk, factor: 8}", 0.0250, 1707, false},
      {"yarn", "rope: {scaling: yarn, factor: 8, original_max_position_embeddings: 4096}", 0.0298, 1707, false},
  };
  enum { CASES = sizeof cases / sizeof *cases, PAIRS = 64, LENGTHS = 2 };
  char *text = config_text(NULL, "model: {random: {heads: 1, head_dim: 128, d_model: 8}}\nseeds: 1\nschemes:\n");
  for (size_t i = 0; i < CASES; i++) {
    text = config_text(text, "  - %s\n    label: %s\n", cases[i].entry, cases[i].label);
  }
  text = config_text(text, "experiments:\n  - extrapolation: {train_length: 64, lengths: [64, 512], spans: 1, offsets: "
                           "[8], window: 8}\n");
  config_run run;
  config_run_must_pass(&run, text, "");
  for (size_t i = 0; i < CASES; i++) {
    char path[160];
    snprintf(path, sizeof path, "/extrapolation/%s/unseen_share", cases[i].label);
    golden_array unseen = config_run_read(&run, path);
    snprintf(path, sizeof path, "/extrapolation/%s/neighbour_resolution", cases[i].label);
    golden_array resolution = config_run_read(&run, path);
    snprintf(path, sizeof path, "/extrapolation/%s/first_negative_distance_unscaled", cases[i].label);
    golden_array negative = config_run_read(&run, path);
    assert_int_equal(unseen.n, PAIRS * LENGTHS);
    double sum = 0;
    for (size_t pair = 0; pair < PAIRS; pair++) {
      assert_true(cases[i].nothing_unseen || unseen.data[pair * LENGTHS] == 0); /* at L all is seen */
      sum += unseen.data[pair * LENGTHS + 1];
    }
    print_message("%s: unseen %.4f, resolution %.5f, first negative %.0f\n", cases[i].label, sum / PAIRS,
                  resolution.data[1], negative.data[1]);
    assert_true(cases[i].nothing_unseen ? sum == 0 : sum > 0 || !strcmp(cases[i].label, "yarn"));
    assert_true(isnan(cases[i].resolution) || fabs(resolution.data[1] - cases[i].resolution) <= 5e-5);
    assert_true(negative.data[1] == cases[i].negative_unscaled);
    golden_array_free(&unseen);
    golden_array_free(&resolution);
    golden_array_free(&negative);
  }
  config_run_free(&run);
  free(text);
}

/* ln of attention near (distances 1 to 16) over attention far (96 to 111), one a seed; [seed][distance] of 256 rows. */
static struct interval decay(const config_run *run, const char *label) {
  char path[160];
  snprintf(path, sizeof path, "/extrapolation/%s/mass_by_distance", label);
  golden_array mass = config_run_read(run, path);
  size_t seeds = mass.dim[0], width = mass.n / seeds;
  double ratios[16];
  assert_int_equal(seeds, 5); /* by default, where the model is random */
  for (size_t seed = 0; seed < seeds; seed++) {
    double near = 0, far = 0;
    for (size_t d = 0; d < 16; d++) {
      near += mass.data[seed * width + 1 + d];
      far += mass.data[seed * width + 96 + d];
    }
    ratios[seed] = log(near / far);
  }
  golden_array_free(&mass);
  return student_interval(ratios, seeds, 0.95);
}

/* E[q R k] = 0 at every distance for independent q and k (Barbero et al. 2025, Prop. 3.2): rope shows no decay there,
 * no more than no positions do; alibi does. */
static void test_random_queries_do_not_decay(void **state) {
  (void)state;
  config_run run;
  config_run_must_pass(
      &run,
      "model: {random: {heads: 4, head_dim: 16, d_model: 16, correlation: 0}}\n"
      "schemes:\n  - rope\n  - alibi\n  - learned: {max_positions: 256}\n"
      "experiments:\n  - extrapolation: {train_length: 256, lengths: [256, 320], mask: causal, offsets: "
      "[8, 300], window: 8, spans: 2}\n"
      "expect:\n  - truncation_jsd.alibi.mean < 0.1\n  - effective_span_90[length=256].alibi.mean > 8\n"
      "  - first_token_share.rope.max < 0.5\n  - logit_outside[length=256].rope.max == 0\n",
      "");
  struct interval rope = decay(&run, "rope");
  struct interval none = decay(&run, "none");
  struct interval alibi = decay(&run, "alibi");
  print_message("ln(near / far): rope %.3f +- %.3f, none %.3f +- %.3f, alibi %.3f +- %.3f\n", rope.mean, rope.half,
                none.mean, none.half, alibi.mean, alibi.half);
  assert_true(fabs(rope.mean) <= rope.half);
  assert_true(fabs(none.mean) <= none.half);
  assert_true(alibi.mean - alibi.half > 0.5);
  assert_non_null(strstr(run.output, "undefined beyond 256 tokens"));
  assert_non_null(strstr(run.output, "unit: seed"));
  config_run_free(&run);
}

/* The knee of moved windows follows from the size of positions: it stays when their order is destroyed, and no verdict
 * comes of it. */
static void test_shuffled_keeps_the_knee(void **state) {
  (void)state;
  char *text = config_text(NULL,
                           "model:\n  weights: %s/data/use-lite.h5\n  tokens: {file: %s/data/text-a.txt}\n"
                           "schemes:\n  - sinusoidal: {layout: halves, frequencies: tensor2tensor}\n"
                           "    label: shuffled\n    positions: {shuffled: true}\n"
                           "experiments:\n  - extrapolation: {lengths: [160], offsets: [8, 24, 40, 56, 72, 88, 96, "
                           "128, 256], spans: 2}\n",
                           TEST_SOURCE_DIR, TEST_SOURCE_DIR);
  config_run run;
  config_run_must_pass(&run, text, "");
  assert_non_null(strstr(run.output, "no information: positions in random order carry none, yet the window knee at "
                                     "position "));
  golden_array jsd = config_run_read(&run, "/extrapolation/comparison_window_jsd/shuffled");
  golden_array last = config_run_read(&run, "/extrapolation/comparison_window_jsd/last_position");
  assert_int_equal(jsd.n, 9);
  assert_true(last.data[0] == 47 && last.data[8] == 295); /* 8 + 40 - 1, 256 + 40 - 1 */
  assert_true(jsd.data[8] > 2 * jsd.data[4]);
  golden_array_free(&jsd);
  golden_array_free(&last);
  config_run_free(&run);
  free(text);
}

/* Multiples of 1/8 within [-1, 1] by a generator that is written out, as [1][tokens][4]. */
static char *given_rows(char *text, const char *name, size_t tokens, uint32_t seed) {
  text = config_text(text, "    %s: [[", name);
  uint32_t x = seed;
  for (size_t i = 0; i < tokens; i++) {
    text = config_text(text, i ? ", [" : "[");
    for (size_t c = 0; c < 4; c++) {
      x = x * 1664525u + 1013904223u;
      text = config_text(text, "%s%g", c ? ", " : "", (double)((int)(x >> 16) % 17 - 8) / 8);
    }
    text = config_text(text, "]");
  }
  return config_text(text, "]]\n");
}

static char *given_config(const char *texts) {
  char *text = config_text(NULL, "model:\n  qk:\n");
  text = given_rows(text, "q", 80, 1);
  text = given_rows(text, "k", 80, 2);
  return config_text(text,
                     "%sschemes:\n  - alibi\nexperiments:\n  - extrapolation: {train_length: 8, lengths: [16, 128], "
                     "offsets: [1, 2, 8, 16], window: 4}\n",
                     texts);
}

/* Somebody's own q and k are judged as well, once it is said where one text ends and the next begins. */
static void test_given_queries_and_keys(void **state) {
  (void)state;
  char *text = given_config("    texts: [40, 40]\n");
  config_run run;
  config_run_must_pass(&run, text, "");
  assert_non_null(strstr(run.output, "holds to 16 tokens; no verdict from 128 tokens on, where they are repeated"));
  golden_array by_text = config_run_read(&run, "/extrapolation/alibi/truncation_jsd_by_text");
  assert_int_equal(by_text.dim[0], 2);
  assert_true(by_text.data[0] != by_text.data[2]);
  golden_array_free(&by_text);
  config_run_free(&run);
  free(text);

  text = given_config("");
  config_run_must_pass(&run, text, "");
  assert_non_null(strstr(run.output, "no verdict: 20 stretches of 1 texts (needs 20 of 2)"));
  config_run_free(&run);
  free(text);

  text = given_config("    texts: [40, 41]\n");
  config_run_start(&run, text, "");
  assert_int_equal(run.exit_code, 1);
  assert_non_null(strstr(run.output, "model.qk.texts: 81 tokens in all, but q and k have 80"));
  config_run_free(&run);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frequencies),
      cmocka_unit_test(test_random_queries_do_not_decay),
      cmocka_unit_test(test_shuffled_keeps_the_knee),
      cmocka_unit_test(test_given_queries_and_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
