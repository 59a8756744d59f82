/* The shipped configs, run as they are, against what is known of them from outside: the example that can be checked by
 * hand, and the order of the position maps on real text.
 */
#include "run_config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double got, double expected, double tolerance) {
  if (!(fabs(got - expected) <= tolerance)) {
    fail_msg("%.17g instead of %.17g", got, expected);
  }
}

/* X = (1,0), (0,1), (1,1), identity projections, no scaling: S is exact; row 0 of A and of Y as data/README.md prints
 * them (course_full), to its eight digits. */
static void test_worked_example(void **state) {
  (void)state;
  static const double s[9] = {1, 0, 1, 0, 1, 1, 1, 1, 2};
  static const double a[3] = {0.42231880, 0.15536240, 0.42231880};
  static const double y[2] = {0.84463760, 0.57768120};
  config_run run;
  config_run_must_pass(&run,
                       "model:\n  matrix: {x: [[1, 0], [0, 1], [1, 1]], scale: 1}\nschemes: [none]\nexperiments:\n"
                       "  - equivariance: {mask: [none, causal], save: [logits, attention_weights, context]}\n",
                       "");
  golden_array logits = config_run_read(&run, "/equivariance/none/logits");
  golden_array weights = config_run_read(&run, "/equivariance/none/attention_weights");
  golden_array context = config_run_read(&run, "/equivariance/none/context");
  for (size_t i = 0; i < 9; i++) {
    assert_true(logits.data[i] == s[i]);
  }
  for (size_t i = 0; i < 3; i++) {
    assert_near(weights.data[i], a[i], 3e-8);
  }
  for (size_t i = 0; i < 2; i++) {
    assert_near(context.data[i], y[i], 6e-8);
  }
  golden_array_free(&logits);
  golden_array_free(&weights);
  golden_array_free(&context);
  config_run_free(&run);
}

/* The same scaled by 1/sqrt 2: equivariant without a mask, off by 0.5988879073 for [2, 1, 0] with the causal one. */
static void test_causal_is_not_equivariant(void **state) {
  (void)state;
  config_run run;
  config_run_must_pass(&run,
                       "model:\n  matrix: {x: [[1, 0], [0, 1], [1, 1]], scale: 0.70710678118654757}\nschemes: [none]\n"
                       "experiments:\n  - equivariance: {mask: [none, causal]}\n",
                       "");
  golden_array deviation = config_run_read(&run, "/equivariance/none/deviation");
  assert_int_equal(deviation.n, 12);
  for (size_t p = 0; p < 6; p++) {
    assert_near(deviation.data[p], 0, 3e-7);
  }
  assert_near(deviation.data[6 + 5], 0.5988879073, 1e-7);
  golden_array_free(&deviation);
  config_run_free(&run);
}

/* Mean over heads of jsd_to_trained at one of the lengths. */
static double to_trained(const config_run *run, const char *label, size_t length) {
  char path[128];
  snprintf(path, sizeof path, "/extrapolation/%s/jsd_to_trained", label);
  golden_array values = config_run_read(run, path);
  double sum = 0;
  for (size_t head = 0; head < values.dim[1]; head++) {
    sum += values.data[length * values.dim[1] + head] / (double)values.dim[1];
  }
  golden_array_free(&values);
  return sum;
}

/* Position interpolation takes back most of what plain extrapolation loses (Chen et al. 2023), wrapping less. */
static void test_order_on_shipped_texts(void **state) {
  (void)state;
  static const char scheme[] = "  - sinusoidal: {layout: halves, frequencies: tensor2tensor}\n";
  char *text =
      config_text(NULL,
                  "model:\n  weights: %s/data/use-lite.h5\n  tokens: {file: [%s/data/text-a.txt, "
                  "%s/data/text-b.txt]}\nschemes:\n%s%s    label: interpolated\n    positions: {divide: auto}\n"
                  "%s    label: wrapped\n    positions: {wrap: auto}\n"
                  "experiments:\n  - extrapolation: {lengths: [256, 512], offsets: [8], spans: 1}\n",
                  TEST_SOURCE_DIR, TEST_SOURCE_DIR, TEST_SOURCE_DIR, scheme, scheme, scheme);
  config_run run;
  config_run_must_pass(&run, text, "");
  for (size_t length = 0; length < 2; length++) {
    double plain = to_trained(&run, "sinusoidal", length);
    double interpolated = to_trained(&run, "interpolated", length);
    double wrapped = to_trained(&run, "wrapped", length);
    print_message("jsd_to_trained at %d: interpolated %.4f, wrapped %.4f, plain %.4f\n", length ? 512 : 256,
                  interpolated, wrapped, plain);
    assert_true(interpolated < wrapped);
    assert_true(wrapped < plain);
  }
  config_run_free(&run);
  free(text);
}

/* A run of ids on the shipped weights that saves what a scheme makes of them. */
static config_run run_ids(const char *ids, const char *scheme) {
  char *text =
      config_text(NULL,
                  "model:\n  weights: %s/data/use-lite.h5\n  tokens: {ids: [%s]}\nschemes:\n  - %s\n    label: "
                  "scheme\nexperiments:\n  - attention: {save: [attention_weights, embeddings, q, k, context]}\n",
                  TEST_SOURCE_DIR, ids, scheme);
  config_run run;
  config_run_must_pass(&run, text, "");
  free(text);
  return run;
}

/* Left padding does not move the real tokens: they sit at 0, 1, 2, so their input and their q and k are those of the
 * unpadded run bit for bit; padding gets no weight, and the weights among the real tokens agree within float32
 * rounding. */
static void test_left_padding(void **state) {
  (void)state;
  static const char *const schemes[] = {"sinusoidal: {layout: halves, frequencies: tensor2tensor}", "rope: {}",
                                        "alibi: {}"};
  for (size_t s = 0; s < 3; s++) {
    config_run padded = run_ids("-1, -1, 16, 171, 40", schemes[s]);
    config_run plain = run_ids("16, 171, 40", schemes[s]);
    golden_array x = config_run_read(&padded, "/attention/scheme/embeddings");
    golden_array y = config_run_read(&plain, "/attention/scheme/embeddings");
    assert_memory_equal(x.data + 2 * x.dim[1], y.data, y.n * sizeof *y.data);
    golden_array q = config_run_read(&padded, "/attention/scheme/q");
    golden_array r = config_run_read(&plain, "/attention/scheme/q");
    for (size_t head = 0; head < q.dim[0]; head++) {
      size_t width = q.dim[2];
      assert_memory_equal(q.data + (head * 5 + 2) * width, r.data + head * 3 * width, 3 * width * sizeof *q.data);
    }
    golden_array a = config_run_read(&padded, "/attention/scheme/attention_weights");
    golden_array b = config_run_read(&plain, "/attention/scheme/attention_weights");
    for (size_t head = 0; head < a.dim[0]; head++) {
      for (size_t row = 0; row < 3; row++) {
        const double *padded_row = a.data + (head * 5 + row + 2) * 5;
        assert_true(padded_row[0] == 0 && padded_row[1] == 0);
        for (size_t key = 0; key < 3; key++) {
          assert_near(padded_row[key + 2], b.data[(head * 3 + row) * 3 + key], 1e-6);
        }
      }
    }
    golden_array *all[] = {&x, &y, &q, &r, &a, &b};
    for (size_t i = 0; i < 6; i++) {
      golden_array_free(all[i]);
    }
    config_run_free(&padded);
    config_run_free(&plain);
  }
}

/* Padding on the left and a causal mask leave the first rows without a visible key: rows of zeros, no NaN in anything
 * that is saved, and the other rows are distributions. */
static void test_empty_rows(void **state) {
  (void)state;
  char *text =
      config_text(NULL,
                  "model:\n  weights: %s/data/use-lite.h5\n  tokens: {ids: [-1, -1, 16, 171]}\nschemes: "
                  "[rope]\nexperiments:\n  - attention: {mask: causal, save: [attention_weights, context, q, k]}\n",
                  TEST_SOURCE_DIR);
  config_run run;
  config_run_must_pass(&run, text, "");
  static const char *const tensors[] = {"attention_weights", "context", "q", "k"};
  for (size_t t = 0; t < 4; t++) {
    char path[64];
    snprintf(path, sizeof path, "/attention/rope/%s", tensors[t]);
    golden_array values = config_run_read(&run, path);
    size_t width = values.dim[2];
    for (size_t row = 0; row < values.dim[0] * 4; row++) {
      double sum = 0;
      for (size_t i = 0; i < width; i++) {
        double value = values.data[row * width + i];
        assert_true(isfinite(value));
        assert_true(t > 1 || row % 4 > 1 || value == 0);
        sum += value;
      }
      if (t == 0) {
        assert_near(sum, row % 4 > 1 ? 1 : 0, 1e-6);
      }
    }
    golden_array_free(&values);
  }
  config_run_free(&run);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_worked_example),
                                     cmocka_unit_test(test_causal_is_not_equivariant),
                                     cmocka_unit_test(test_order_on_shipped_texts), cmocka_unit_test(test_left_padding),
                                     cmocka_unit_test(test_empty_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
