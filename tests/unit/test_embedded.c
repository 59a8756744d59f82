/* Rows that are kept are those that the scheme gives, whatever was kept, made room or was asked for by other threads.
 */
#include "base/memory.h"
#include "base/pool.h"
#include "experiments/embedded.h"
#include "real_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WIDTH = 64 };

struct fixture {
  struct real_plan real;
  struct instance *schemes[2]; /* sinusoidal with base 10000 and a learned table of 128 rows */
  struct embedded *embedded;
};

static struct instance *instance(struct fixture *fixture, const char *id) {
  struct error err = {0};
  struct instance_request request = {.scheme = host_find(fixture->real.host, id, NULL, &err),
                                     .shape = {.struct_size = sizeof(pe_shape),
                                               .n_layers = 1,
                                               .n_heads = 1,
                                               .n_kv_heads = 1,
                                               .d_model = WIDTH,
                                               .head_dim = WIDTH,
                                               .train_len = 128}};
  assert_non_null(request.scheme);
  struct instance *made = instance_new(&request, &err);
  if (!made) {
    fail_msg("%s", err.text);
  }
  return made;
}

static void open_fixture(struct fixture *fixture) {
  struct error err = {0};
  real_plan_open(&fixture->real,
                 "model: {random: {heads: 1, head_dim: 64, d_model: 64}}\nschemes: [none]\nexperiments: [encoding]\n",
                 NULL, 0);
  fixture->schemes[0] = instance(fixture, "sinusoidal");
  fixture->schemes[1] = instance(fixture, "learned");
  fixture->embedded = embedded_new(&err);
  assert_non_null(fixture->embedded);
}

static void close_fixture(struct fixture *fixture) {
  embedded_free(fixture->embedded);
  instance_free(fixture->schemes[0]);
  instance_free(fixture->schemes[1]);
  real_plan_close(&fixture->real);
}

/* Whether rows added through what is kept are the scheme's own, to the bit: n positions from `first` on. */
static int same(const struct fixture *fixture, size_t scheme, size_t n, double first, struct error *err) {
  double *positions = memory_new(n, sizeof *positions, "positions", err);
  float *x = memory_new(n, WIDTH * sizeof *x, "rows", err), *plain = memory_new(n, WIDTH * sizeof *x, "rows", err);
  for (size_t i = 0; i < n * WIDTH; i++) {
    x[i] = plain[i] = (float)(i % 97) / 7 - 5;
    positions[i / WIDTH] = first + (double)(i / WIDTH);
  }
  double length = first + (double)n;
  int status = embedded_add(fixture->embedded, fixture->schemes[scheme], n, positions, NULL, length, 1, x, WIDTH, err);
  struct error own = {0};
  int expected = instance_embed(fixture->schemes[scheme], n, positions, NULL, length, plain, WIDTH, &own);
  for (size_t i = 0; i < n * WIDTH && status == expected; i++) {
    status = x[i] == plain[i] ? status : ERROR_INTERNAL;
  }
  free(positions);
  free(x);
  free(plain);
  return status == expected ? 0 : ERROR_INTERNAL;
}

static void test_many_short_ones(void **state) {
  (void)state;
  struct fixture fixture;
  struct error err = {0};
  open_fixture(&fixture);
  for (size_t round = 0; round < 3; round++) {
    for (size_t i = 0; i < 150; i++) { /* past position 127 there is no row of the table */
      assert_int_equal(same(&fixture, i % 2, 1 + i % 9, (double)(i % 50 * 3), &err), 0);
    }
  }
  close_fixture(&fixture);
}

/* 2^22 numbers are kept: five of these do not fit, and the last is too long by itself. */
static void test_long_ones(void **state) {
  (void)state;
  struct fixture fixture;
  struct error err = {0};
  open_fixture(&fixture);
  for (size_t i = 0; i < 10; i++) {
    assert_int_equal(same(&fixture, 0, 16000, (double)(i % 5), &err), 0);
  }
  assert_int_equal(same(&fixture, 0, 70000, 0, &err), 0);
  close_fixture(&fixture);
}

static void test_scaled(void **state) {
  (void)state;
  struct fixture fixture;
  struct error err = {0};
  double positions[] = {0, 1, 2};
  float row[3 * WIDTH] = {0};
  open_fixture(&fixture);
  assert_int_equal(instance_embed(fixture.schemes[0], 3, positions, NULL, 3, row, WIDTH, &err), 0);
  for (size_t round = 0; round < 2; round++) {
    float x[3 * WIDTH] = {0};
    assert_int_equal(embedded_add(fixture.embedded, fixture.schemes[0], 3, positions, NULL, 3, 0.25, x, WIDTH, &err),
                     0);
    for (size_t i = 0; i < 3 * WIDTH; i++) {
      assert_true(x[i] == row[i] / 4);
    }
  }
  close_fixture(&fixture);
}

/* A padded row is left alone, and its position is not looked at. */
static void test_padding(void **state) {
  (void)state;
  struct fixture fixture;
  struct error err = {0};
  double positions[] = {-1, 0};
  uint8_t padding[] = {1, 0};
  float x[2 * WIDTH] = {0};
  open_fixture(&fixture);
  assert_int_equal(embedded_add(fixture.embedded, fixture.schemes[1], 2, positions, padding, 1, 1, x, WIDTH, &err), 0);
  double size = 0;
  for (size_t i = 0; i < WIDTH; i++) {
    assert_true(x[i] == 0);
    size += (double)(x[WIDTH + i] * x[WIDTH + i]);
  }
  assert_true(size > 0);
  close_fixture(&fixture);
}

static int unit(void *opaque, size_t index, unsigned thread, struct error *err) {
  (void)thread;
  return same(opaque, 0, 1 + index % 5, (double)(index * 7 % 90), err);
}

static void test_threads(void **state) {
  (void)state;
  struct fixture fixture;
  struct error err = {0};
  open_fixture(&fixture);
  struct pool *pool = pool_new(4, &err);
  assert_non_null(pool);
  assert_int_equal(pool_run(pool, 2000, unit, &fixture, &err), 0);
  pool_free(pool);
  close_fixture(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_short_ones), cmocka_unit_test(test_long_ones), cmocka_unit_test(test_scaled),
      cmocka_unit_test(test_padding),         cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
