/* Rows through a layer: against sums in double precision, and bit for bit whatever the block and the threads. */
#include "base/pool.h"
#include "input/layer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Numbers without structure, in [-1, 1): a linear congruential generator (Numerical Recipes). */
static float *numbers(size_t n, uint32_t seed) {
  float *values = calloc(n, sizeof *values);
  assert_non_null(values);
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)((double)(seed >> 8) / 8388608.0 - 1);
  }
  return values;
}

static void rows_equal_the_sum_of_products(void **state) {
  (void)state;
  enum { ROWS = 13, D_IN = 150, HEADS = 3, WIDTH = 7, D_OUT = HEADS * WIDTH };
  float *x = numbers(ROWS * D_IN, 1), *w = numbers(D_IN * D_OUT, 2), *bias = numbers(D_OUT, 3);
  float out[HEADS * ROWS * WIDTH];
  struct projection projection;
  struct error err;
  assert_int_equal(projection_init(&projection, w, bias, D_IN, D_OUT, &err), 0);
  projection_rows(&projection, x, ROWS, WIDTH, ROWS * WIDTH, out);
  for (size_t head = 0; head < HEADS; head++) {
    for (size_t i = 0; i < ROWS; i++) {
      for (size_t e = 0; e < WIDTH; e++) {
        size_t column = head * WIDTH + e;
        double sum = (double)bias[column], size = fabs(sum);
        for (size_t j = 0; j < D_IN; j++) {
          double product = (double)x[i * D_IN + j] * (double)w[j * D_OUT + column];
          sum += product;
          size += fabs(product);
        }
        /* At most 64 + 3 additions and a product are rounded: 68 half units of the sum of sizes (Higham, section 3.1).
         */
        double bound = 68 * ldexp(1, -24) * size;
        assert_true(fabs((double)out[(head * ROWS + i) * WIDTH + e] - sum) <= bound);
      }
    }
  }
  projection_destroy(&projection);
  free(x);
  free(w);
  free(bias);
}

static void layer_norm_of_a_known_row(void **state) {
  (void)state;
  /* Mean 2, variance (4 + 0 + 4 + 0) / 4 = 2; with epsilon 2 the divisor is 2. */
  const float x[4] = {0, 2, 4, 2}, scale[4] = {1, 1, 2, 1}, bias[4] = {0, 5, 1, -1};
  const float expected[4] = {-1, 5, 3, -1};
  float out[4];
  layer_norm_rows(x, 1, 4, scale, bias, 2, out);
  assert_memory_equal(out, expected, sizeof out);
}

/* A row's q, k and v are the same bits alone, among others, and with any number of threads. */
static void bits_depend_on_the_row_alone(void **state) {
  (void)state;
  enum { ROWS = 101, D = 96, HEADS = 4, WIDTH = 20, D_OUT = HEADS * WIDTH };
  struct error err;
  struct layer layer = {.d_model = D, .norm_epsilon = 1e-6, .head_dim = WIDTH, .value_dim = WIDTH};
  layer.norm_scale = numbers(D, 4);
  layer.norm_bias = numbers(D, 5);
  float *x = numbers(ROWS * D, 6), *w = numbers(D * D_OUT, 7);
  assert_int_equal(projection_init(&layer.q, w, NULL, D, D_OUT, &err), 0);
  assert_int_equal(projection_init(&layer.k, w, NULL, D, D_OUT, &err), 0);
  assert_int_equal(projection_init(&layer.v, w, NULL, D, D_OUT, &err), 0);
  float *all = calloc(ROWS * D_OUT, sizeof *all), *again = calloc(ROWS * D_OUT, sizeof *again);
  float *alone = calloc(D_OUT, sizeof *alone);
  assert_true(all && again && alone);
  assert_int_equal(layer_project(&layer, x, ROWS, all, NULL, NULL, NULL, &err), 0);
  for (unsigned threads = 1; threads <= 3; threads++) {
    struct pool *pool = pool_new(threads, &err);
    assert_non_null(pool);
    assert_int_equal(layer_project(&layer, x, ROWS, NULL, NULL, again, pool, &err), 0);
    assert_memory_equal(again, all, ROWS * D_OUT * sizeof *all);
    pool_free(pool);
  }
  for (size_t i = 0; i < ROWS; i++) {
    assert_int_equal(layer_project(&layer, x + i * D, 1, NULL, alone, NULL, NULL, &err), 0);
    for (size_t head = 0; head < HEADS; head++) {
      assert_memory_equal(alone + head * WIDTH, all + (head * ROWS + i) * WIDTH, WIDTH * sizeof *all);
    }
  }
  free(all);
  free(again);
  free(alone);
  free(x);
  free(w);
  layer_destroy(&layer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_equal_the_sum_of_products),
      cmocka_unit_test(layer_norm_of_a_known_row),
      cmocka_unit_test(bits_depend_on_the_row_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
