/* The random-weight control: other numbers, the same moments, the same content. */
#include "input/model.h"
#include "model_section.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 64, HEADS = 2, HEAD_DIM = 32 };

struct moments {
  double mean, deviation;
};

static struct moments moments_of(const float *values, size_t n) {
  struct moments m = {0, 0};
  for (size_t i = 0; i < n; i++) {
    m.mean += (double)values[i] / (double)n;
  }
  for (size_t i = 0; i < n; i++) {
    m.deviation += ((double)values[i] - m.mean) * ((double)values[i] - m.mean) / (double)n;
  }
  m.deviation = sqrt(m.deviation);
  return m;
}

static struct model *open_random(void) {
  struct section *section = model_section_new();
  struct error err;
  model_section_number(section, "random.heads", HEADS);
  model_section_number(section, "random.head_dim", HEAD_DIM);
  model_section_number(section, "random.d_model", WIDTH);
  struct model *model = model_open(section, 1, &err);
  section_free(section);
  assert_non_null(model);
  return model;
}

/* The weights themselves: q of unit rows, as there is no layer norm. [heads][WIDTH][HEAD_DIM] */
static void read_weights(const struct model *model, float *q, float *k) {
  static float unit[WIDTH * WIDTH];
  struct error err;
  for (size_t i = 0; i < WIDTH; i++) {
    unit[i * WIDTH + i] = 1;
  }
  assert_int_equal(model_project(model, unit, WIDTH, q, k, NULL, NULL, &err), 0);
}

/* 2048 numbers a head: a mean is known to 1 / sqrt 2048 deviations, a deviation to 1 / sqrt 4096 of itself; five times
 * that is allowed. */
static void same_moments(const float *own, const float *twin) {
  enum { N = WIDTH * HEAD_DIM };
  for (size_t head = 0; head < HEADS; head++) {
    struct moments a = moments_of(own + head * N, N), b = moments_of(twin + head * N, N);
    assert_true(fabs(a.mean - b.mean) <= 5 * a.deviation / sqrt(N));
    assert_true(fabs(a.deviation - b.deviation) <= 5 * a.deviation / sqrt(2.0 * N));
    double product = 0;
    for (size_t i = 0; i < N; i++) {
      product += ((double)own[head * N + i] - a.mean) * ((double)twin[head * N + i] - b.mean) / N;
    }
    assert_true(fabs(product) <= 5 * a.deviation * b.deviation / sqrt(N)); /* independent */
  }
}

static void test_weights(void **state) {
  (void)state;
  static float q[HEADS * WIDTH * HEAD_DIM], k[HEADS * WIDTH * HEAD_DIM];
  static float twin_q[HEADS * WIDTH * HEAD_DIM], twin_k[HEADS * WIDTH * HEAD_DIM], again[HEADS * WIDTH * HEAD_DIM];
  struct error err;
  struct model *model = open_random();
  struct model *twin = model_random_twin(model, 7, &err);
  assert_non_null(twin);
  assert_int_equal(twin->value_dim, 0);
  assert_true(twin->score_scale == model->score_scale);
  read_weights(model, q, k);
  read_weights(twin, twin_q, twin_k);
  same_moments(q, twin_q);
  same_moments(k, twin_k);
  size_t index[] = {0, 3};
  float x[2 * WIDTH], twin_x[2 * WIDTH];
  assert_int_equal(model_content(model, 0, index, 2, x, &err), 0);
  assert_int_equal(model_content(twin, 0, index, 2, twin_x, &err), 0);
  assert_memory_equal(x, twin_x, sizeof x);
  model_random_twin_close(twin);
  twin = model_random_twin(model, 7, &err); /* the same seed, the same twin */
  read_weights(twin, again, NULL);
  assert_memory_equal(again, twin_q, sizeof again);
  model_random_twin_close(twin);
  model_close(model);
}

/* A plain matrix has no projections to redraw. */
static void test_matrix_has_none(void **state) {
  (void)state;
  struct section *section = model_section_new();
  const double x[6] = {1, 0, 0, 1, 1, 1};
  struct error err;
  model_section_matrix(section, "matrix.x", x, 3, 2);
  struct model *model = model_open(section, 1, &err);
  section_free(section);
  assert_non_null(model);
  assert_null(model_random_twin(model, 1, &err));
  assert_int_equal(err.code, ERROR_NONE);
  model_close(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_weights), cmocka_unit_test(test_matrix_has_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
