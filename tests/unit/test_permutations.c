/* Sets of permutations: counts by arithmetic, every row a permutation, no row twice. */
#include "experiments/permutations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check_rows(const struct permutations *set, bool distinct) {
  for (size_t row = 0; row < set->count; row++) {
    const uint32_t *p = set->items + row * set->n;
    char seen[64] = {0};
    for (size_t i = 0; i < set->n; i++) {
      assert_true(p[i] < set->n);
      assert_false(seen[p[i]]);
      seen[p[i]] = 1;
    }
    for (size_t other = 0; distinct && other < row; other++) {
      assert_true(memcmp(p, set->items + other * set->n, set->n * sizeof *p) != 0);
    }
  }
}

static void test_exhaustive(void **state) {
  (void)state;
  static const size_t factorials[] = {1, 1, 2, 6, 24, 120, 720};
  struct rng rng = rng_stream(1, "test");
  for (size_t n = 2; n <= 6; n++) {
    struct permutations set;
    struct error err;
    assert_int_equal(permutations_new(n, 10, false, &rng, &set, &err), 0);
    assert_true(set.exhaustive);
    assert_int_equal(set.count, factorials[n]);
    assert_true(permutation_is_identity(set.items, n));
    assert_true(permutation_is_reversal(set.items + (set.count - 1) * n, n));
    check_rows(&set, true);
    permutations_free(&set);
  }
}

static void test_keep_last(void **state) {
  (void)state;
  struct rng rng = rng_stream(1, "test");
  struct permutations set;
  struct error err;
  assert_int_equal(permutations_new(4, 10, true, &rng, &set, &err), 0);
  assert_int_equal(set.count, 6);
  check_rows(&set, true);
  for (size_t row = 0; row < set.count; row++) {
    assert_int_equal(set.items[row * 4 + 3], 3);
  }
  permutations_free(&set);
}

/* Above six: identity, reversal, n - 1 rotations, n - 1 swaps of neighbours, then the sample. */
static void test_sample(void **state) {
  (void)state;
  struct rng rng = rng_stream(1, "test");
  struct permutations set;
  struct error err;
  assert_int_equal(permutations_new(9, 50, false, &rng, &set, &err), 0);
  assert_false(set.exhaustive);
  assert_int_equal(set.count, 2 + 8 + 8 + 50);
  assert_true(permutation_is_identity(set.items, 9));
  assert_true(permutation_is_reversal(set.items + 9, 9));
  assert_int_equal(set.items[2 * 9], 1);  /* first rotation */
  assert_int_equal(set.items[10 * 9], 1); /* first swap */
  assert_int_equal(set.items[10 * 9 + 1], 0);
  check_rows(&set, false);
  permutations_free(&set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exhaustive),
      cmocka_unit_test(test_keep_last),
      cmocka_unit_test(test_sample),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
