/* The causal values of experiments.h5 for clamped and wrapped positions. The independent program masked these by
 * *position* (a key is visible where its mapped position is not above the query's), so that clamped tokens see those
 * after them. pe-run's causal mask is by place in the sequence, which is what causal means; for all other schemes the
 * two are the same. So that every value of the file is compared all the same, the masks by position are applied here,
 * to q and k as pe-run gives them.
 *
 * Tolerance as in golden_experiments.c: 1e-4 relative or 2e-5 absolute.
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

enum { L = 128, QUERIES = 32, HEADS = 4, WIDTH = 64 };
static const char group[] = "extrapolation/beyond";
static const double scale = 0.125;

static golden_file file;
static golden_tally tally;

/* q and k, or weights, of ids [n] under the model's own scheme and a position map. */
static config_run run_attention(const double *ids, size_t n, const char *map, const char *what) {
  char *numbers = config_numbers(ids, n);
  char *text = config_text(NULL,
                           "model:\n  weights: %s/data/use-lite.h5\n  tokens: {ids: [%s]}\nschemes:\n"
                           "  - sinusoidal: {layout: halves, frequencies: tensor2tensor}\n%s"
                           "experiments:\n  - attention: {mask: causal, save: [%s]}\n",
                           TEST_SOURCE_DIR, numbers, map, what);
  config_run run;
  config_run_must_pass(&run, text, "");
  free(text);
  free(numbers);
  return run;
}

static double mapped(const char *name, size_t position) {
  return !strcmp(name, "clamp") ? fmin((double)position, L - 1) : (double)(position % L);
}

/* row [n]: softmax over the keys whose mapped position is not above the query's. */
static void weights_by_position(const char *name, const double *q, const double *k, size_t n, size_t query,
                                double *row) {
  double largest = -INFINITY;
  for (size_t j = 0; j < n; j++) {
    double dot = 0;
    for (size_t c = 0; c < WIDTH; c++) {
      dot += q[query * WIDTH + c] * k[j * WIDTH + c];
    }
    row[j] = mapped(name, j) <= mapped(name, query) ? scale * dot : -INFINITY;
    largest = fmax(largest, row[j]);
  }
  double sum = 0;
  for (size_t j = 0; j < n; j++) {
    row[j] = exp(row[j] - largest);
    sum += row[j];
  }
  for (size_t j = 0; j < n; j++) {
    row[j] /= sum;
  }
}

/* JSD of p [n] against q [L] that sits on p's last L columns. */
static double divergence(const double *p, const double *q, size_t n) {
  double sum = 0;
  for (size_t j = 0; j < n; j++) {
    double a = p[j];
    double b = j < n - L ? 0 : q[j - (n - L)];
    double m = (a + b) / 2;
    sum += (a > 0 ? a * log(a / m) : 0) + (b > 0 ? b * log(b / m) : 0);
  }
  return sum / 2;
}

static void check_length(const char *name, const char *map, const golden_array *ids, size_t n, size_t length_index) {
  config_run full = run_attention(ids->data, n, map, "q, k");
  config_run tail = run_attention(ids->data + n - L, L, "", "attention_weights");
  golden_array q = config_run_read(&full, "/attention/sinusoidal/q");
  golden_array k = config_run_read(&full, "/attention/sinusoidal/k");
  golden_array trained = config_run_read(&tail, "/attention/sinusoidal/attention_weights");
  double got[4][HEADS] = {{0}};
  double *row = malloc(n * sizeof *row);
  assert_non_null(row);
  for (size_t h = 0; h < HEADS; h++) {
    for (size_t r = 0; r < QUERIES; r++) {
      size_t query = n - QUERIES + r;
      weights_by_position(name, q.data + h * n * WIDTH, k.data + h * n * WIDTH, n, query, row);
      const double *other = trained.data + (h * L + (L - QUERIES + r)) * L;
      got[0][h] += divergence(row, other, n) / QUERIES;
      for (size_t j = 0; j < n; j++) {
        size_t distance = query > j ? query - j : j - query;
        got[2][h] += (distance >= L ? row[j] : 0) / QUERIES;
        got[3][h] += row[j] * (double)distance / QUERIES;
      }
    }
    got[1][h] = got[0][h]; /* cut to the last L tokens at positions 0 ..., the mapped model is the model as trained */
  }
  static const char *const measures[] = {"truncation_jsd", "jsd_to_trained", "mass_beyond", "tail_distance"};
  for (size_t m = 0; m < 4; m++) {
    char dataset[96];
    snprintf(dataset, sizeof dataset, "%s_sinusoidal_%s_causal", measures[m], name);
    golden_array all = golden_read(&file, group, dataset);
    golden_array expected = {
        .rank = 1, .dim = {HEADS, 1, 1, 1, 1}, .n = HEADS, .data = all.data + length_index * HEADS};
    double each[HEADS];
    for (size_t h = 0; h < HEADS; h++) {
      each[h] = fmax(1e-4 * fabs(expected.data[h]), 2e-5);
    }
    golden_check_doubles(&tally, dataset, &expected, got[m], (golden_tolerance){.each = each});
    golden_array_free(&all);
  }
  free(row);
  golden_array_free(&q);
  golden_array_free(&k);
  golden_array_free(&trained);
  config_run_free(&full);
  config_run_free(&tail);
}

static void test_masked_by_position(void **state) {
  (void)state;
  golden_file_open(&file, "experiments.h5");
  golden_tally_begin(&tally, "experiments.h5 masked by position");
  golden_array ids = golden_attribute_list(&file, group, "ids");
  golden_array lengths = golden_attribute_list(&file, group, "lengths");
  for (size_t i = 0; i < lengths.n; i++) {
    char name[32];
    snprintf(name, sizeof name, "length %.0f", lengths.data[i]);
    golden_tally_case(&tally, name);
    check_length("clamp", "    positions: {clamp: 128}\n", &ids, (size_t)lengths.data[i], i);
    check_length("wrap", "    positions: {wrap: 128}\n", &ids, (size_t)lengths.data[i], i);
  }
  golden_array_free(&ids);
  golden_array_free(&lengths);
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_masked_by_position)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
