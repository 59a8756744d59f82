/* The three experiments on a real trained layer against an independent float64 program (data/README.md, experiments.h5;
 * the definition of every dataset is its attribute `doc`). The program is run as a user runs it: ids through a config,
 * values out of the results file.
 *
 * Tolerance: 1e-4 relative or 2e-5 absolute, whichever is larger; shift errors 1e-5 of the largest logit: what float32
 * attention leaves of float64 values.
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

/* Schemes in the golden file's names, as config entries. */
static const struct {
  const char *name, *entry;
} schemes[] = {
    {"none", "  - none\n"},
    {"rope", "  - rope: {base: 10000}\n"},
    {"alibi", "  - alibi\n"},
    {"sinusoidal", "  - sinusoidal: {layout: halves, frequencies: tensor2tensor}\n"},
    {"sinusoidal_interpolated",
     "  - sinusoidal: {layout: halves, frequencies: tensor2tensor}\n    label: sinusoidal_interpolated\n"
     "    positions: {divide: auto}\n"},
    {"sinusoidal_clamp", "  - sinusoidal: {layout: halves, frequencies: tensor2tensor}\n    label: sinusoidal_clamp\n"
                         "    positions: {clamp: auto}\n"},
    {"sinusoidal_wrap", "  - sinusoidal: {layout: halves, frequencies: tensor2tensor}\n    label: sinusoidal_wrap\n"
                        "    positions: {wrap: auto}\n"},
};
enum { N_PLAIN = 4, N_SCHEMES = sizeof schemes / sizeof *schemes };

static golden_file file;
static golden_tally tally;

/* A config on the shipped weights: ids, the first `n` schemes, one experiment. */
static char *config_on(const golden_array *ids, size_t n, const char *experiment) {
  char *numbers = config_numbers(ids->data, ids->n);
  char *text = config_text(NULL, "model:\n  weights: %s/data/use-lite.h5\n  tokens: {ids: [%s]}\nschemes:\n",
                           TEST_SOURCE_DIR, numbers);
  for (size_t i = 0; i < n; i++) {
    text = config_text(text, "%s", schemes[i].entry);
  }
  text = config_text(text, "experiments:\n  - %s\n", experiment);
  free(numbers);
  return text;
}

/* Per element max(1e-4 |expected|, 2e-5); to be freed. */
static double *tolerances(const golden_array *expected) {
  double *each = malloc(expected->n * sizeof *each);
  assert_non_null(each);
  for (size_t i = 0; i < expected->n; i++) {
    each[i] = fmax(1e-4 * fabs(expected->data[i]), 2e-5);
  }
  return each;
}

static void check(const char *what, const golden_array *expected, const golden_array *got) {
  assert_int_equal(expected->n, got->n);
  double *each = tolerances(expected);
  golden_check_doubles(&tally, what, expected, got->data, (golden_tolerance){.each = each});
  free(each);
}

/* Compare golden `group/name` with the dataset `path` of a run. */
static void check_dataset(const config_run *run, const char *group, const char *name, const char *path) {
  golden_array expected = golden_read(&file, group, name);
  golden_array got = config_run_read(run, path);
  check(name, &expected, &got);
  golden_array_free(&expected);
  golden_array_free(&got);
}

/* Row of `got` [rows][n] that holds the permutation `wanted` [n]. */
static size_t find_permutation(const golden_array *got, const double *wanted) {
  size_t n = got->dim[1];
  for (size_t row = 0; row < got->dim[0]; row++) {
    if (!memcmp(got->data + row * n, wanted, n * sizeof *wanted)) {
      return row;
    }
  }
  fail_msg("a permutation of the golden file is missing");
  return 0;
}

/* Deviations by permutation under one mask, whatever the order of permutations. */
static void check_deviations(const config_run *run, const char *group, const char *name, const char *label,
                             const char *measure, const char *permutations, size_t mask) {
  char path[160];
  snprintf(path, sizeof path, "/equivariance/%s/%s", label, measure);
  golden_array got = config_run_read(run, path);
  snprintf(path, sizeof path, "/equivariance/%s/%s", label, permutations);
  golden_array own = config_run_read(run, path);
  golden_array expected = golden_read(&file, group, name);
  golden_array wanted = golden_read(&file, group, "permutations");
  golden_array ordered = {.rank = 1, .n = expected.n, .data = calloc(expected.n, sizeof(double))};
  assert_non_null(ordered.data);
  for (size_t row = 0; row < expected.n; row++) {
    size_t found = find_permutation(&own, wanted.data + row * wanted.dim[1]);
    ordered.data[row] = got.data[mask * own.dim[0] + found];
  }
  check(name, &expected, &ordered);
  golden_array_free(&got);
  golden_array_free(&own);
  golden_array_free(&expected);
  golden_array_free(&wanted);
  golden_array_free(&ordered);
}

static void test_equivariance(void **state) {
  (void)state;
  static const char *const groups[] = {"equivariance/I_work_he", "equivariance/he_works_they_work"};
  static const char *const masks[] = {"none", "causal"};
  golden_tally_begin(&tally, "experiments.h5 equivariance");
  for (size_t g = 0; g < 2; g++) {
    golden_tally_case(&tally, groups[g]);
    golden_array ids = golden_attribute_list(&file, groups[g], "ids");
    char *text = config_on(&ids, N_PLAIN, "equivariance: {mask: [none, causal]}");
    config_run run;
    config_run_must_pass(&run, text, "");
    for (size_t s = 0; s < N_PLAIN; s++) {
      for (size_t m = 0; m < 2; m++) {
        char name[96];
        snprintf(name, sizeof name, "deviation_%s_%s", schemes[s].name, masks[m]);
        check_deviations(&run, groups[g], name, schemes[s].name, "deviation", "permutations", m);
      }
      if (g == 1) {
        char name[96];
        snprintf(name, sizeof name, "last_row_deviation_%s", schemes[s].name);
        check_deviations(&run, "equivariance/last_row", name, schemes[s].name, "last_row_deviation",
                         "last_row_permutations", 0);
      }
    }
    config_run_free(&run);
    free(text);
    golden_array_free(&ids);
  }
  golden_tally_end(&tally);
}

static void test_relative_position(void **state) {
  (void)state;
  static const char group[] = "relative_position/equal_tokens";
  golden_tally_begin(&tally, "experiments.h5 relative_position");
  golden_tally_case(&tally, group);
  double token = golden_number(&file, group, "token");
  golden_array id = {.rank = 1, .n = 1, .data = &token};
  char *text =
      config_on(&id, N_PLAIN,
                "relative_position: {length: 32, shifts: [1, 16, 96, 256, 4096, 65536], stages: [], save: [logits]}");
  config_run run;
  config_run_must_pass(&run, text, "");
  for (size_t s = 0; s < N_PLAIN; s++) {
    char name[96];
    char path[160];
    snprintf(name, sizeof name, "toeplitz_residual_%s", schemes[s].name);
    snprintf(path, sizeof path, "/relative_position/%s/toeplitz_residual", schemes[s].name);
    check_dataset(&run, group, name, path);
    snprintf(path, sizeof path, "/relative_position/%s/logits", schemes[s].name);
    golden_array logits = config_run_read(&run, path);
    double largest = 0;
    for (size_t i = 0; i < logits.n; i++) {
      largest = fmax(largest, fabs(logits.data[i]));
    }
    snprintf(name, sizeof name, "shift_error_%s", schemes[s].name);
    snprintf(path, sizeof path, "/relative_position/%s/shift_error", schemes[s].name);
    golden_array expected = golden_read(&file, group, name);
    golden_array got = config_run_read(&run, path);
    golden_check_doubles(&tally, name, &expected, got.data, (golden_tolerance){.absolute = 1e-5 * largest});
    golden_array_free(&logits);
    golden_array_free(&expected);
    golden_array_free(&got);
  }
  config_run_free(&run);
  free(text);
  golden_tally_end(&tally);
}

static void test_centred(void **state) {
  (void)state;
  static const char group[] = "relative_position/centred";
  golden_tally_begin(&tally, "experiments.h5 centred");
  golden_array tokens = golden_attribute_list(&file, group, "tokens");
  for (size_t t = 0; t < tokens.n; t++) {
    char label[32];
    snprintf(label, sizeof label, "token %.0f", tokens.data[t]);
    golden_tally_case(&tally, label);
    golden_array id = {.rank = 1, .n = 1, .data = tokens.data + t};
    char *text = config_on(&id, N_PLAIN, "relative_position: {length: 32, shifts: [1], stages: []}");
    config_run run;
    config_run_must_pass(&run, text, "");
    for (size_t s = 0; s < N_PLAIN; s++) {
      char name[96];
      char path[160];
      snprintf(name, sizeof name, "toeplitz_residual_centred_%s", schemes[s].name);
      snprintf(path, sizeof path, "/relative_position/%s/toeplitz_residual_centred", schemes[s].name);
      golden_array all = golden_read(&file, group, name);
      size_t heads = all.n / tokens.n;
      golden_array expected = {.rank = 1, .dim = {heads, 1, 1, 1, 1}, .n = heads, .data = all.data + t * heads};
      golden_array got = config_run_read(&run, path);
      check(name, &expected, &got);
      golden_array_free(&all);
      golden_array_free(&got);
    }
    config_run_free(&run);
    free(text);
  }
  golden_array_free(&tokens);
  golden_tally_end(&tally);
}

static void check_masked(const config_run *run, const char *group, const char *measure, const char *scheme,
                         const char *mask, const char *dataset) {
  char name[128];
  char path[160];
  snprintf(name, sizeof name, "%s_%s_%s", measure, scheme, mask);
  snprintf(path, sizeof path, "/extrapolation/%s/%s", scheme, dataset);
  if (golden_has(&file, group, name)) {
    check_dataset(run, group, name, path);
  }
}

/* What the design says of these weights: past 128 tokens attention leaves the trained pattern, and interpolated
 * positions take most of it back; mean of heads, causal mask. */
static void check_worked_numbers(const config_run *run) {
  static const struct {
    const char *scheme;
    size_t length; /* 1: 160 tokens, 2: 256 */
    double expected, digits;
  } numbers[] = {{"sinusoidal", 1, 0.387, 5e-4},
                 {"sinusoidal_interpolated", 1, 0.039, 5e-4},
                 {"sinusoidal", 2, 0.50, 5e-3},
                 {"sinusoidal_interpolated", 2, 0.11, 5e-3}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char path[160];
    snprintf(path, sizeof path, "/extrapolation/%s/jsd_to_trained", numbers[i].scheme);
    golden_array got = config_run_read(run, path);
    size_t heads = got.dim[1];
    double mean = 0;
    for (size_t head = 0; head < heads; head++) {
      mean += got.data[numbers[i].length * heads + head] / (double)heads;
    }
    if (!(fabs(mean - numbers[i].expected) <= numbers[i].digits)) {
      fail_msg("%s: %.5f is not %.3f", path, mean, numbers[i].expected);
    }
    golden_array_free(&got);
  }
}

static void test_beyond(void **state) {
  (void)state;
  static const char group[] = "extrapolation/beyond";
  static const char *const measures[] = {"truncation_jsd", "jsd_to_trained", "mass_beyond", "tail_distance"};
  static const char *const masks[] = {"none", "causal"};
  golden_tally_begin(&tally, "experiments.h5 beyond");
  golden_array ids = golden_attribute_list(&file, group, "ids");
  for (size_t m = 0; m < 2; m++) {
    golden_tally_case(&tally, masks[m]);
    char experiment[160];
    snprintf(
        experiment, sizeof experiment,
        "extrapolation: {train_length: 128, lengths: [128, 160, 256, 512, 1024], offsets: [8], spans: 1, mask: %s}",
        masks[m]);
    char *text = config_on(&ids, N_SCHEMES, experiment);
    config_run run;
    config_run_must_pass(&run, text, "");
    if (m == 1) {
      check_worked_numbers(&run);
    }
    for (size_t s = 0; s < N_SCHEMES; s++) {
      if (m == 1 && (!strcmp(schemes[s].name, "sinusoidal_clamp") || !strcmp(schemes[s].name, "sinusoidal_wrap"))) {
        golden_leave_out(&tally, schemes[s].name, "masked by position in the file: compared in golden_position_mask");
        continue;
      }
      for (size_t i = 0; i < 4; i++) {
        check_masked(&run, group, measures[i], schemes[s].name, masks[m], measures[i]);
      }
    }
    config_run_free(&run);
    free(text);
  }
  golden_array_free(&ids);
  golden_tally_end(&tally);
}

static void test_windows(void **state) {
  (void)state;
  static const char group[] = "extrapolation/windows";
  static const char signal[] = "extrapolation/signal";
  static const char *const masks[] = {"none", "causal"};
  golden_tally_begin(&tally, "experiments.h5 windows");
  golden_array ids = golden_attribute_list(&file, group, "ids");
  for (size_t m = 0; m < 2; m++) {
    golden_tally_case(&tally, masks[m]);
    char experiment[240];
    snprintf(experiment, sizeof experiment,
             "extrapolation: {train_length: 128, lengths: [64, 128, 256, 512, 1024], window: 40, "
             "offsets: [8, 32, 64, 88, 128, 256, 512, 1024, 4096, 65536], spans: 1, mask: %s}",
             masks[m]);
    char *text = config_on(&ids, N_PLAIN, experiment);
    config_run run;
    config_run_must_pass(&run, text, "");
    for (size_t s = 0; s < N_PLAIN; s++) {
      const char *name = schemes[s].name;
      check_masked(&run, group, "window_jsd", name, masks[m], "window_jsd_by_window");
      check_masked(&run, signal, "position_signal", name, masks[m], "position_signal_by_window");
      check_masked(&run, signal, "swapped_in", name, masks[m], "swapped_in_by_window");
      if (m == 1) {
        char golden[96];
        char path[160];
        snprintf(golden, sizeof golden, "normalised_entropy_%s", name);
        snprintf(path, sizeof path, "/extrapolation/%s/normalised_entropy", name);
        check_dataset(&run, group, golden, path);
        snprintf(golden, sizeof golden, "mean_distance_%s", name);
        snprintf(path, sizeof path, "/extrapolation/%s/mean_distance", name);
        check_dataset(&run, group, golden, path);
      }
    }
    config_run_free(&run);
    free(text);
  }
  golden_array_free(&ids);
  golden_tally_end(&tally);
}

static int open_file(void **state) {
  (void)state;
  golden_file_open(&file, "experiments.h5");
  return 0;
}

static int close_file(void **state) {
  (void)state;
  golden_file_close(&file);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equivariance), cmocka_unit_test(test_relative_position), cmocka_unit_test(test_centred),
      cmocka_unit_test(test_beyond),       cmocka_unit_test(test_windows),
  };
  return cmocka_run_group_tests(tests, open_file, close_file);
}
