/* xPos on queries and keys, and their products: tests/golden/data/xpos.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "golden_check.h"
#include "plugin_fixture.h"

/* data/README.md, float32 column. */
static const golden_tolerance row_tolerance = {.absolute = 5e-6};
static const golden_tolerance score_tolerance = {.absolute = 5e-5};

/* in [heads][n][d] at positions first .. first+n-1 of a call of `length`; the caller frees the result. */
static float *turned(plugin_fixture *fixture, int32_t role, const golden_array *in, double first, double length) {
  size_t n = in->dim[1];
  double *positions = calloc(n, sizeof *positions);
  float *out = calloc(in->n, sizeof *out);
  float *values = golden_floats(in);
  assert_non_null(positions);
  assert_non_null(out);
  for (size_t t = 0; t < n; t++) {
    positions[t] = first + (double)t;
  }
  assert_int_equal(plugin_fixture_qk(fixture, role, (uint32_t)in->dim[0], length, n, positions, values, out), PE_OK);
  free(values);
  free(positions);
  return out;
}

/* scores [heads][nq][nk] = q k^T, added up in double so that only the scheme's rounding is seen. */
static double *products(const float *q, const float *k, size_t heads, size_t nq, size_t nk, size_t width) {
  double *scores = calloc(heads * nq * nk, sizeof *scores);
  assert_non_null(scores);
  for (size_t h = 0; h < heads; h++) {
    for (size_t i = 0; i < nq; i++) {
      for (size_t j = 0; j < nk; j++) {
        for (size_t e = 0; e < width; e++) {
          scores[(h * nq + i) * nk + j] += (double)q[(h * nq + i) * width + e] * (double)k[(h * nk + j) * width + e];
        }
      }
    }
  }
  return scores;
}

static void check_expected_rows(golden_tally *tally, const golden_file *file, const char *name, const char *what,
                                const float *got) {
  if (golden_has(file, name, what)) {
    golden_array expected = golden_read(file, name, what);
    golden_check_floats(tally, what, &expected, got, row_tolerance);
    golden_array_free(&expected);
  }
}

static void check_case(golden_tally *tally, const golden_file *file, const char *name, plugin_fixture *fixture) {
  double length = golden_number(file, name, "T");
  int decoding = golden_has(file, name, "in_q_last");
  golden_array q = golden_read(file, name, decoding ? "in_q_last" : "in_q");
  golden_array k = golden_read(file, name, "in_k");
  const char *scores_name = decoding ? "out_scores_last" : "out_scores";
  float *turned_q = turned(fixture, PE_ROLE_QUERY, &q, length - (double)q.dim[1], length);
  float *turned_k = turned(fixture, PE_ROLE_KEY, &k, 0, length);
  check_expected_rows(tally, file, name, "out_q", turned_q);
  check_expected_rows(tally, file, name, "out_k", turned_k);
  if (golden_has(file, name, scores_name)) {
    golden_array expected = golden_read(file, name, scores_name);
    double *scores = products(turned_q, turned_k, q.dim[0], q.dim[1], k.dim[1], q.dim[2]);
    golden_check_doubles(tally, scores_name, &expected, scores, score_tolerance);
    free(scores);
    golden_array_free(&expected);
  }
  free(turned_q);
  free(turned_k);
  golden_array_free(&q);
  golden_array_free(&k);
}

static void test_file(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "xpos.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    golden_tally_case(&tally, name);
    /* rotary-embedding-torch rounds the centre down, torchscale up; the attribute says where it came to lie. */
    int down = golden_has_attribute(&file, name, "center") &&
               golden_number(&file, name, "center") == floor(golden_number(&file, name, "T") / 2);
    plugin_setting settings[] = {PLUGIN_NUMBER("base", golden_number(&file, name, "base")),
                                 PLUGIN_NUMBER("scale_base", golden_number(&file, name, "scale_base")),
                                 PLUGIN_TEXT("centre", down ? "floor" : "ceil")};
    plugin_fixture fixture;
    plugin_fixture_require(&fixture, "xpos",
                           &(plugin_request){.n_heads = (uint32_t)golden_number(&file, name, "heads"),
                                             .head_dim = (uint32_t)golden_number(&file, name, "head_dim"),
                                             PLUGIN_SETTINGS(settings)});
    check_case(&tally, &file, name, &fixture);
    plugin_fixture_close(&fixture);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
