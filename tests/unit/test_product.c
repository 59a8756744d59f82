/* Both methods of multiplying queries with packed keys: against float64, against exact integers, and from every place
 * in a tile. */
#include "attention/product.h"

#include "base/blas.h"
#include "base/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>

static void *need(size_t count, size_t size) {
  struct error err;
  void *memory = memory_new(count, size, "test", &err);
  assert_non_null(memory);
  return memory;
}

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Numbers of every magnitude from 2^-20 to 2^20, both signs. */
static float any_number(uint32_t *state) {
  float mantissa = (float)next(state) / 8388608.0f - 1.0f;
  return ldexpf(mantissa, (int)(next(state) % 41) - 20);
}

/* c [n_rows][n_keys], the caller's to free. */
static float *multiply(const struct product_method *method, const float *q, size_t n_rows, const float *k,
                       size_t n_keys, size_t width, float scale) {
  size_t n_panels = product_panels(n_keys), columns = n_panels * PRODUCT_PANEL;
  size_t rows = (n_rows + PRODUCT_ROWS - 1) / PRODUCT_ROWS * PRODUCT_ROWS, filled = (n_keys + 15) / 16 * 16;
  unsigned char *panels = need(n_panels, method->panel_bytes(width));
  void *packed = need(method->query_bytes(n_rows, width), 1);
  float *wide = need(rows, columns * sizeof(float)), *c = need(n_rows, n_keys * sizeof(float));
  for (size_t panel = 0; panel < n_panels; panel++) {
    size_t key = panel * PRODUCT_PANEL, left = n_keys - key < PRODUCT_PANEL ? n_keys - key : PRODUCT_PANEL;
    assert_true(method->pack_keys(k + key * width, left, width, panels + panel * method->panel_bytes(width)));
  }
  assert_true(method->pack_queries(q, n_rows, width, scale, packed));
  const struct product product = method->of_shape(width, n_rows, filled, columns);
  method->begin();
  product_run(&product, panels, packed, wide);
  method->end();
  for (size_t row = 0; row < n_rows; row++) {
    memcpy(c + row * n_keys, wide + row * columns, n_keys * sizeof(float));
  }
  free(panels);
  free(packed);
  free(wide);
  return c;
}

/* A sum of `width` products in float32, in any order, is off by at most (width + 1) 2^-24 times the sum of their
 * magnitudes; scaling a query adds one more unit. */
static void close_to_float64(void **state) {
  (void)state;
  static const size_t shapes[][3] = {{1, 1, 1},     {5, 16, 2},   {32, 64, 64}, {33, 17, 31},
                                     {64, 128, 33}, {16, 48, 64}, {20, 80, 65}, {40, 100, 300}};
  const struct product_method *const methods[] = {product_float32(), product_best()};
  uint32_t seed = 7;
  for (size_t at = 0; at < sizeof shapes / sizeof shapes[0]; at++) {
    size_t n_rows = shapes[at][0], n_keys = shapes[at][1], width = shapes[at][2];
    float *q = need(n_rows, width * sizeof(float)), *k = need(n_keys, width * sizeof(float));
    const float scale = 0.3f;
    for (size_t i = 0; i < n_rows * width; i++) {
      q[i] = any_number(&seed);
    }
    for (size_t i = 0; i < n_keys * width; i++) {
      k[i] = any_number(&seed);
    }
    for (size_t which = 0; which < 2; which++) {
      float *c = multiply(methods[which], q, n_rows, k, n_keys, width, scale);
      for (size_t row = 0; row < n_rows; row++) {
        for (size_t key = 0; key < n_keys; key++) {
          double sum = 0.0, magnitudes = 0.0;
          for (size_t channel = 0; channel < width; channel++) {
            double term = (double)scale * (double)q[row * width + channel] * (double)k[key * width + channel];
            sum += term;
            magnitudes += fabs(term);
          }
          double got = (double)c[row * n_keys + key], allowed = ((double)width + 2.0) * 0x1p-24 * magnitudes;
          if (!(fabs(got - sum) <= allowed)) {
            fail_msg("%s, width %zu, row %zu, key %zu: got %.9g, expected %.9g, allowed difference %.2g",
                     methods[which]->name, width, row, key, got, sum, allowed);
          }
        }
      }
      free(c);
    }
    free(q);
    free(k);
  }
}

/* Integers up to 2^11 need two bfloat16, and sums of 3 of their products fit into a float32: nothing is rounded. */
static void integers_are_exact(void **state) {
  (void)state;
  enum { ROWS = 37, KEYS = 70, WIDTH = 3 };
  const struct product_method *const methods[] = {product_float32(), product_best()};
  float q[ROWS * WIDTH], k[KEYS * WIDTH];
  uint32_t seed = 3;
  for (size_t i = 0; i < ROWS * WIDTH; i++) {
    q[i] = (float)(next(&seed) % 4097) - 2048.0f;
  }
  for (size_t i = 0; i < KEYS * WIDTH; i++) {
    k[i] = (float)(next(&seed) % 4097) - 2048.0f;
  }
  for (size_t which = 0; which < 2; which++) {
    float *c = multiply(methods[which], q, ROWS, k, KEYS, WIDTH, 1.0f);
    for (size_t row = 0; row < ROWS; row++) {
      for (size_t key = 0; key < KEYS; key++) {
        int64_t sum = 0;
        for (size_t channel = 0; channel < WIDTH; channel++) {
          sum += (int64_t)q[row * WIDTH + channel] * (int64_t)k[key * WIDTH + channel];
        }
        assert_int_equal((int64_t)c[row * KEYS + key], sum);
      }
    }
    free(c);
  }
}

/* The same query and key give the same bits wherever they stand. */
static void bits_do_not_depend_on_the_place(void **state) {
  (void)state;
  enum { ROWS = 64, KEYS = 112, WIDTH = 70 };
  const struct product_method *const methods[] = {product_float32(), product_best()};
  float q[ROWS * WIDTH], k[KEYS * WIDTH];
  uint32_t seed = 11;
  for (size_t channel = 0; channel < WIDTH; channel++) {
    q[channel] = any_number(&seed);
    k[channel] = any_number(&seed);
  }
  for (size_t row = 1; row < ROWS; row++) {
    memcpy(q + row * WIDTH, q, WIDTH * sizeof(float));
  }
  for (size_t key = 1; key < KEYS; key++) {
    memcpy(k + key * WIDTH, k, WIDTH * sizeof(float));
  }
  for (size_t which = 0; which < 2; which++) {
    float *c = multiply(methods[which], q, ROWS, k, KEYS, WIDTH, 0.7f);
    for (size_t at = 1; at < ROWS * KEYS; at++) {
      assert_memory_equal(c, c + at, sizeof *c);
    }
    free(c);
  }
}

static void split_refuses_what_does_not_fit(void **state) {
  (void)state;
  const struct product_method *method = product_split();
  if (!method) {
    skip();
  }
  static const float refused[] = {0x1p56f, -0x1p56f, 3e38f, INFINITY, -INFINITY, NAN};
  enum { WIDTH = 40 };
  float x[2 * WIDTH] = {0x1.fffffep55f, -0x1.fffffep55f, 1e-45f};
  void *panel = need(method->panel_bytes(WIDTH), 1), *packed = need(method->query_bytes(2, WIDTH), 1);
  assert_true(method->pack_keys(x, 2, WIDTH, panel));
  assert_true(method->pack_queries(x, 2, WIDTH, 1.0f, packed));
  /* A query counts as it is scaled. */
  assert_false(method->pack_queries(x, 2, WIDTH, 2.0f, packed));
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    for (size_t at = 0; at < 2 * WIDTH; at += 13) {
      float was = x[at];
      x[at] = refused[i];
      assert_false(method->pack_keys(x, 2, WIDTH, panel));
      assert_false(method->pack_queries(x, 2, WIDTH, 1.0f, packed));
      x[at] = was;
    }
  }
  free(panel);
  free(packed);
}

int main(void) {
  struct error err;
  if (blas_open(&err)) {
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(close_to_float64),
      cmocka_unit_test(integers_are_exact),
      cmocka_unit_test(bits_do_not_depend_on_the_place),
      cmocka_unit_test(split_refuses_what_does_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
