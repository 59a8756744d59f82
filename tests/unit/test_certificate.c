/* The certificate and the linear map of a shift: published figures, exact arithmetic, and the compiler's own float as a
 * second way to round. */
#include "base/rng.h"
#include "experiments/certificate.h"
#include "experiments/experiment.h"
#include "experiments/relative_position.h"
#include "real_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct tensor *tensor_of(const struct record *record, const char *name) {
  const struct tensor *tensor = record_find(record, name);
  if (!tensor) {
    fail_msg("%s/%s has no %s", record->experiment, record->label, name);
  }
  return tensor;
}

static double value_of(const struct record *record, const char *name, size_t index) {
  return tensor_value(tensor_of(record, name), index);
}

static void is_near(const char *what, double got, double expected, double share) {
  if (!(fabs(got - expected) <= share * expected)) {
    fail_msg("%s: %.4g is not within %g %% of %.4g", what, got, 100 * share, expected);
  }
}

/* ---- published figures ---- */

/* d = 128, base 10000, Gaussian q and k, distances below 64: rms of [score(shift) - score(0)] / sqrt(d) of another
 * program: position and frequency both in bfloat16 0.2 at 256 and 0.7 at 4096, rows stored in bfloat16 0.003 at every
 * shift, tables and products in bfloat16 0.0045, all +- 20 %; angles and rows in float32 1.5e-6, 2.2e-5, 8.5e-5 and
 * 6.1e-4, linear in the shift, which are asked for in size alone (a factor of 2): where rows stand within the window is
 * not told, and the few fastest pairs decide. */
static void published_drift_is_met(void **state) {
  (void)state;
  static const char config[] =
      "model: {random: {heads: 1, head_dim: 128, d_model: 128}}\nschemes: [rope]\nexperiments:\n"
      "  - relative_position: {shifts: [256, 4096, 16384, 131072], samples: 200, dtypes: [float32, bfloat16],\n"
      "      stages: [position_and_frequency, output, table_and_product, angle, frequency]}\n";
  static const size_t n_dtypes = 2, n_shifts = 4;
  static const double angles[] = {1.5e-6, 2.2e-5, 8.5e-5, 6.1e-4};
  struct real_plan real;
  struct record record;
  real_plan_open(&real, config, NULL, 0);
  real_plan_run(&real, 0, &record);
  assert_int_equal(record.status, RECORD_MEASURED);
  const size_t bfloat16 = n_shifts; /* behind float32 of the same stage */
  is_near("position and frequency at 256", value_of(&record, "drift_rms", bfloat16), 0.2, 0.2);
  is_near("position and frequency at 4096", value_of(&record, "drift_rms", bfloat16 + 1), 0.7, 0.2);
  for (size_t shift = 0; shift < n_shifts; shift++) {
    size_t stage = n_dtypes * n_shifts;
    is_near("output", value_of(&record, "drift_rms", stage + bfloat16 + shift), 0.003, 0.2);
    is_near("table and product", value_of(&record, "drift_rms", 2 * stage + bfloat16 + shift), 0.0045, 0.2);
    double angle = value_of(&record, "drift_rms", 3 * stage + shift);
    assert_true(angle > angles[shift] / 2 && angle < angles[shift] * 2);
    /* Frequency alone: no drift but float64's own, wrong by the fidelity error, the same at every shift. */
    double drift = value_of(&record, "drift_rms", 4 * stage + bfloat16 + shift);
    double wrong = value_of(&record, "fidelity_rms", 4 * stage + bfloat16 + shift);
    assert_true(drift < 1e-9);
    assert_true(wrong > 1e-3);
    is_near("frequency", wrong, value_of(&record, "fidelity_rms", 4 * stage + bfloat16), 1e-6);
  }
  record_free(&record);
  real_plan_close(&real);
}

/* ---- exact arithmetic ---- */

/* Whole numbers are exact up to 2^8 in bfloat16 and 2^11 in float16 (8 and 11 significant bits), and beyond 1e6 in
 * float32: the first position that is not ends the scheme, whatever the scheme is. float16 has no number above 65504.
 */
static void positions_are_exact_as_far_as_the_format(void **state) {
  (void)state;
  static const char config[] =
      "model: {random: {heads: 2, head_dim: 16, d_model: 32}}\nschemes: [rope, sinusoidal, xpos, alibi, rope2d]\n"
      "experiments:\n"
      "  - relative_position: {shifts: [1, 100, 500, 3000, 60000, 1000000], samples: 2, stages: [position]}\n";
  struct real_plan real;
  real_plan_open(&real, config, NULL, 0);
  for (size_t scheme = 0; scheme < real.plan->n_schemes; scheme++) {
    struct record record;
    const char *label = real.plan->schemes[scheme].label;
    real_plan_run(&real, scheme, &record);
    assert_int_equal(record.status, RECORD_MEASURED);
    if (strcmp(label, "none") != 0) {
      assert_true(value_of(&record, "drift_longest_position", FORMAT_BFLOAT16) == 256);
      assert_true(value_of(&record, "drift_longest_position", FORMAT_FLOAT16) == 2048);
      assert_int_equal((int)value_of(&record, "drift_outcome", FORMAT_BFLOAT16), OUTCOME_LIMITED_BY_POSITION);
      assert_true(isnan(value_of(&record, "drift_rms", (FORMAT_FLOAT16 + 1) * 6 - 1)));
    }
    record_free(&record);
  }
  real_plan_close(&real);
}

/* A pair (head_dim 2) turned by hand by a tenth of the position, one stage after the other stored as the compiler's
 * float. */
struct hand {
  bool position, frequency, angle, table, product, output, accumulation;
};

static double stored(bool as_float, double value) {
  return as_float ? (double)(float)value : value;
}

static void turn_by_hand(const struct hand *hand, double position, const double in[2], double out[2]) {
  double angle = stored(hand->angle, stored(hand->position, position) * stored(hand->frequency, 0.1));
  double c = stored(hand->table, cos(angle)), s = stored(hand->table, sin(angle));
  out[0] = stored(hand->output, stored(hand->product, in[0] * c) - stored(hand->product, in[1] * s));
  out[1] = stored(hand->output, stored(hand->product, in[1] * c) + stored(hand->product, in[0] * s));
}

static double score_by_hand(const struct hand *hand, double shift, size_t sample, size_t distance, uint64_t seed) {
  const struct rng q_rng = rng_stream(seed, "certificate.q"), k_rng = rng_stream(seed, "certificate.k");
  double q[2], k[2], query[2], key[2];
  for (size_t i = 0; i < 2; i++) {
    q[i] = (double)(float)rng_normal(&q_rng, 2 * sample + i);
    k[i] = (double)(float)rng_normal(&k_rng, 2 * sample + i);
  }
  turn_by_hand(hand, shift + (double)distance, q, query);
  turn_by_hand(hand, shift, k, key);
  double sum = stored(hand->accumulation, query[0] * key[0]);
  return stored(hand->accumulation, sum + query[1] * key[1]) / sqrt(2);
}

static void stages_round_what_they_name(void **state) {
  (void)state;
  /* One pair, of the frequency 1 / 10, which float32 does not have; 2^25 + 1 is no float32 either. */
  static const char config[] =
      "seed: 5\nmodel: {random: {heads: 1, head_dim: 2, d_model: 4}}\nschemes:\n  - rope: {scaling: linear, factor: "
      "10}\n"
      "experiments:\n  - relative_position: {shifts: [33554433], distances: 5, samples: 3, dtypes: [float32]}\n";
  static const struct hand hands[] = {[CERTIFICATE_POSITION] = {.position = true},
                                      [CERTIFICATE_FREQUENCY] = {.frequency = true},
                                      [CERTIFICATE_ANGLE] = {.angle = true},
                                      [CERTIFICATE_TABLE] = {.table = true},
                                      [CERTIFICATE_PRODUCT] = {.product = true},
                                      [CERTIFICATE_OUTPUT] = {.output = true},
                                      [CERTIFICATE_ACCUMULATION] = {.accumulation = true}};
  struct real_plan real;
  struct record record;
  real_plan_open(&real, config, NULL, 0);
  real_plan_run(&real, 0, &record);
  for (size_t stage = 0; stage < sizeof hands / sizeof *hands; stage++) {
    double square = 0, most = 0;
    for (size_t i = 0; i < 15; i++) {
      double drift =
          score_by_hand(&hands[stage], 33554433, i / 5, i % 5, 5) - score_by_hand(&hands[stage], 0, i / 5, i % 5, 5);
      square += drift * drift / 15;
      most = fmax(most, fabs(drift));
    }
    double rms = value_of(&record, "drift_rms", stage), largest = value_of(&record, "drift_max", stage);
    if (fabs(rms - sqrt(square)) > 1e-14 || fabs(largest - most) > 1e-14) {
      fail_msg("%s: %.17g and %.17g, by hand %.17g and %.17g", certificate_stage_names[stage], rms, largest,
               sqrt(square), most);
    }
  }
  record_free(&record);
  real_plan_close(&real);
}

/* ---- every scheme ---- */

static const char every_scheme[] =
    "model: {random: {heads: 4, head_dim: 16, d_model: 32}}\n"
    "schemes:\n"
    "  - rope\n"
    "  - {rope: {layout: interleaved}, label: interleaved}\n"
    "  - {rope: {partial_rotary_factor: 0.5}, label: partial}\n"
    "  - {rope: {scaling: linear, factor: 4}, label: linear}\n"
    "  - {rope: {scaling: ntk, factor: 4}, label: ntk}\n"
    "  - {rope: {scaling: dynamic, factor: 4, original_max_position_embeddings: 128}, label: dynamic}\n"
    "  - {rope: {scaling: yarn, factor: 4, original_max_position_embeddings: 128}, label: yarn}\n"
    "  - {rope: {scaling: llama3, factor: 8, original_max_position_embeddings: 8192, low_freq_factor: 1,\n"
    "            high_freq_factor: 4}, label: llama3}\n"
    "  - {rope: {scaling: proportional, partial_rotary_factor: 0.5}, label: proportional}\n"
    "  - {rope: {scaling: longrope, factor: 4, original_max_position_embeddings: 128,\n"
    "            short_factor: [1, 1, 1, 1, 1, 1, 1, 1], long_factor: [1, 1, 2, 2, 3, 3, 4, 4]}, label: longrope}\n"
    "  - {rope: {}, label: divided, positions: {divide: 3}}\n"
    "  - {rope: {}, label: shuffled, positions: {shuffled: true}}\n"
    "  - rope2d\n"
    "  - sinusoidal\n"
    "  - {sinusoidal: {layout: halves, frequencies: tensor2tensor}, label: tensor2tensor}\n"
    "  - {table: {inv_freq: [1, 0.3, 0.01]}, label: table_turned}\n"
    "  - xpos\n"
    "  - learned: {max_positions: 256}\n"
    "  - alibi\n"
    "  - {alibi: {}, label: alibi_offset, positions: {offset: 1000}}\n"
    "  - t5\n"
    "  - kerple\n"
    "  - fire\n"
    "  - sandwich\n"
    "  - none\n"
    "experiments:\n"
    "  - relative_position: {shifts: [1, 100, 3000, 70000, 1000000], samples: 3, distances: 24}\n";

static bool is_redone(const char *label) {
  static const char *const as_they_are[] = {"xpos",   "learned", "alibi",    "alibi_offset", "t5",
                                            "kerple", "fire",    "sandwich", "none"};
  for (size_t i = 0; i < sizeof as_they_are / sizeof *as_they_are; i++) {
    if (!strcmp(label, as_they_are[i])) {
      return false;
    }
  }
  return true;
}

/* The redone scheme, unrounded, is the plugin: float32 rows differ by float32 rounding. */
static void check_redone(const struct record *record) {
  const char *way = attributes_find(&record->attributes, "certificate")->text;
  bool redone = is_redone(record->label);
  if (redone != !strncmp(way, "redone", 6)) {
    fail_msg("%s: %s", record->label, way);
  }
  if (redone) {
    assert_true(value_of(record, "redone_difference", 0) <= value_of(record, "redone_bound", 0));
    assert_true(value_of(record, "redone_bound", 0) < 3e-7);
  }
  for (int stage = 0; stage < N_CERTIFICATE_STAGES; stage++) {
    bool always = stage == CERTIFICATE_POSITION || stage == CERTIFICATE_OUTPUT || stage == CERTIFICATE_ACCUMULATION;
    bool product = stage == CERTIFICATE_PRODUCT || stage == CERTIFICATE_TABLE_AND_PRODUCT;
    bool sines = strstr(way, "sines") != NULL;
    bool measured = value_of(record, "drift_outcome", (size_t)stage * N_NUMBER_FORMATS) != OUTCOME_NOT_MEASURED;
    if (measured != (always || (redone && !(product && sines)))) {
      fail_msg("%s: stage %s", record->label, certificate_stage_names[stage]);
    }
  }
}

/* No error exceeds its predicted bound, where there is one. */
static void check_bounds(const struct record *record) {
  static const char *const measures[][2] = {{"drift_rms", "drift_bound_rms"},
                                            {"drift_max", "drift_bound_max"},
                                            {"fidelity_rms", "fidelity_bound_rms"},
                                            {"fidelity_max", "fidelity_bound_max"}};
  for (size_t m = 0; m < 4; m++) {
    const struct tensor *errors = tensor_of(record, measures[m][0]), *bounds = tensor_of(record, measures[m][1]);
    for (size_t i = 0; i < errors->count; i++) {
      double error = tensor_value(errors, i), bound = tensor_value(bounds, i);
      if (error > bound || (isnan(error) && !isnan(bound))) {
        fail_msg("%s: %s[%zu] is %g, bound %g", record->label, measures[m][0], i, error, bound);
      }
    }
  }
}

/* In float64 a relative scheme has no drift but float64's own, and its fidelity is the same. */
static void check_float64(const struct record *record) {
  const struct tensor *drift = tensor_of(record, "drift_max");
  size_t n_shifts = drift->axis[2].length;
  for (size_t stage = 0; stage < drift->axis[0].length; stage++) {
    for (size_t shift = 0; shift < n_shifts; shift++) {
      double value = tensor_value(drift, stage * N_NUMBER_FORMATS * n_shifts + shift);
      double own = value_of(record, "own_drift_max", shift);
      assert_true(isnan(value) || value <= own + 1e-8);
    }
  }
}

static void check_none(const struct record *record) {
  static const char *const zero[] = {"shift_error", "logit_spread", "toeplitz_residual_centred", "own_drift_max"};
  for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) {
    for (size_t j = 0; j < tensor_of(record, zero[i])->count; j++) {
      assert_true(value_of(record, zero[i], j) == 0);
    }
  }
  for (size_t i = 0; i < tensor_of(record, "drift_max")->count; i++) {
    double drift = value_of(record, "drift_max", i);
    assert_true(drift == 0 || isnan(drift)); /* NaN: the stages that it does not have */
  }
  assert_true(value_of(record, "drift_max", 0) == 0);
}

/* M_k is the rotation by k w of every pair, at every shift; w as the paper has it. */
static void check_map(const struct record *record, bool tensor2tensor) {
  const struct tensor *map = tensor_of(record, "shift_map");
  size_t pairs = map->axis[1].length;
  assert_int_equal(pairs, 16);
  for (size_t i = 0; i < map->count / 4; i++) {
    double shift = map->axis[0].values[i / pairs];
    double w = pow(10000, -(double)(i % pairs) / (double)(tensor2tensor ? pairs - 1 : pairs));
    const double expected[] = {cos(shift * w), sin(shift * w), -sin(shift * w), cos(shift * w)};
    for (size_t j = 0; j < 4; j++) {
      if (fabs(tensor_value(map, 4 * i + j) - expected[j]) > 3e-7) {
        fail_msg("shift %g, pair %zu: %.9g, expected %.9g", shift, i % pairs, tensor_value(map, 4 * i + j),
                 expected[j]);
      }
    }
  }
  for (size_t shift = 0; shift < map->axis[0].length; shift++) {
    assert_true(value_of(record, "shift_map_residual", shift) <= value_of(record, "shift_map_bound", shift));
    assert_true(value_of(record, "shift_map_bound", shift) < 2e-6);
    assert_true(value_of(record, "shift_map_orthogonality", shift) < 1e-6);
  }
}

static const char *last_cell(const struct table *table, const char *label) {
  for (size_t row = 0; row < table_rows(table); row++) {
    if (!strcmp(table->cells[row * table->n_columns].text, label)) {
      return table->cells[(row + 1) * table->n_columns - 1].text;
    }
  }
  fail_msg("no row of %s", label);
  return NULL;
}

static void check_verdicts(const struct conclusion *conclusion) {
  static const char *const expected[][2] = {{"rope", "holds within rounding"}, {"none", "trivially"},
                                            {"shuffled", "does not hold"},     {"dynamic", "does not hold"},
                                            {"sinusoidal", "does not hold"},   {"xpos", "holds where it is defined"},
                                            {"alibi", "holds within rounding"}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const char *words = last_cell(&conclusion->tables[0], expected[i][0]);
    if (strncmp(words, expected[i][1], strlen(expected[i][1])) != 0) {
      fail_msg("%s: '%s', expected '%s ...'", expected[i][0], words, expected[i][1]);
    }
  }
  const struct table *map = &conclusion->tables[1], *certificate = &conclusion->tables[2];
  assert_non_null(strstr(last_cell(map, "sinusoidal"), "a shift is linear"));
  assert_non_null(strstr(last_cell(certificate, "rope"), "bfloat16 holds to position 256, then drifts"));
  assert_non_null(strstr(last_cell(certificate, "none"), "trivially"));
  bool no_drift = false;
  for (size_t i = 0; i < certificate->n_cells; i++) {
    no_drift = no_drift || strstr(certificate->cells[i].text, "limited by dtype, no drift");
  }
  assert_true(no_drift);
}

static void every_scheme_keeps_its_bounds(void **state) {
  (void)state;
  struct real_plan real;
  real_plan_open(&real, every_scheme, NULL, 0);
  const struct plan *plan = real.plan;
  struct record *records = calloc(plan->n_schemes, sizeof *records);
  const struct record **pointers = calloc(plan->n_schemes, sizeof *pointers);
  assert_non_null(records);
  assert_non_null(pointers);
  for (size_t i = 0; i < plan->n_schemes; i++) {
    real_plan_run(&real, i, &records[i]);
    pointers[i] = &records[i];
    if (records[i].status != RECORD_MEASURED) {
      fail_msg("%s: %s", records[i].label, records[i].error.text);
    }
    check_redone(&records[i]);
    check_bounds(&records[i]);
    check_float64(&records[i]);
    if (!strcmp(records[i].label, "none")) {
      check_none(&records[i]);
    } else if (record_find(&records[i], "shift_map")) {
      check_map(&records[i], !strcmp(records[i].label, "tensor2tensor"));
    }
  }
  struct conclusion conclusion = {0};
  struct error err = {0};
  assert_int_equal(conclude_relative_position(plan, &plan->experiments[0], pointers, &conclusion, &err), 0);
  check_verdicts(&conclusion);
  conclusion_free(&conclusion);
  for (size_t i = 0; i < plan->n_schemes; i++) {
    record_free(&records[i]);
  }
  free(records);
  free(pointers);
  real_plan_close(&real);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published_drift_is_met),
      cmocka_unit_test(positions_are_exact_as_far_as_the_format),
      cmocka_unit_test(stages_round_what_they_name),
      cmocka_unit_test(every_scheme_keeps_its_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
