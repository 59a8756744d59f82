/* The pool: every unit once, the error of the lowest failing unit, one task at a time per thread number. */
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>

enum { UNITS = 1000, THREADS = 4 };

struct tally {
  atomic_uint runs[UNITS];
  atomic_uint inside[THREADS]; /* tasks running under this thread number */
  atomic_uint faults;
  unsigned used; /* threads that may come; 0: all */
};

static int count_unit(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)err;
  struct tally *tally = context;
  if (unit >= UNITS || thread >= THREADS || (tally->used && thread >= tally->used) ||
      atomic_fetch_add(&tally->inside[thread], 1) != 0) {
    atomic_fetch_add(&tally->faults, 1);
    return 0;
  }
  atomic_fetch_add(&tally->runs[unit], 1);
  atomic_fetch_sub(&tally->inside[thread], 1);
  return 0;
}

static void every_unit_runs_once(void **state) {
  (void)state;
  for (unsigned threads = 1; threads <= THREADS; threads++) {
    struct error err;
    struct pool *pool = pool_new(threads, &err);
    assert_non_null(pool);
    assert_int_equal(pool_threads(pool), threads);
    for (size_t units = 0; units <= UNITS; units += units < 8 ? 1 : 248) {
      static struct tally tally;
      for (size_t unit = 0; unit < UNITS; unit++) {
        atomic_store(&tally.runs[unit], 0);
      }
      assert_int_equal(pool_run(pool, units, count_unit, &tally, &err), 0);
      assert_int_equal(atomic_load(&tally.faults), 0);
      for (size_t unit = 0; unit < UNITS; unit++) {
        assert_int_equal(atomic_load(&tally.runs[unit]), unit < units ? 1 : 0);
      }
    }
    pool_free(pool);
  }
}

/* One pool, whose rounds have as many threads as they are told, whatever the rounds before had. */
static void threads_used_may_change_between_rounds(void **state) {
  (void)state;
  struct error err;
  struct pool *pool = pool_new_for(THREADS, 1, &err);
  assert_non_null(pool);
  for (unsigned round = 0; round < 400; round++) {
    static struct tally tally;
    unsigned used = 1 + round * 7 % THREADS;
    assert_int_equal(pool_use(pool, used, &err), 0);
    assert_int_equal(pool_threads(pool), THREADS);
    for (size_t unit = 0; unit < UNITS; unit++) {
      atomic_store(&tally.runs[unit], 0);
    }
    tally.used = used;
    assert_int_equal(pool_run(pool, 64, count_unit, &tally, &err), 0);
    assert_int_equal(atomic_load(&tally.faults), 0);
    for (size_t unit = 0; unit < UNITS; unit++) {
      assert_int_equal(atomic_load(&tally.runs[unit]), unit < 64 ? 1 : 0);
    }
  }
  pool_free(pool);
}

static int fail_every_seventh(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  const size_t *first = context;
  if (unit >= *first && (unit - *first) % 7 == 0) {
    return error_set(err, ERROR_UNDEFINED, "unit %zu", unit);
  }
  return 0;
}

static void lowest_failing_unit_is_reported(void **state) {
  (void)state;
  for (unsigned threads = 1; threads <= THREADS; threads++) {
    struct error err;
    struct pool *pool = pool_new(threads, &err);
    assert_non_null(pool);
    for (size_t first = 0; first < 200; first++) {
      char expected[32];
      assert_int_equal(error_set(&err, ERROR_INTERNAL, "unit %zu", first), ERROR_INTERNAL);
      __builtin_memcpy(expected, err.text, sizeof expected);
      assert_int_equal(pool_run(pool, UNITS, fail_every_seventh, &first, &err), ERROR_UNDEFINED);
      assert_int_equal(err.code, ERROR_UNDEFINED);
      assert_string_equal(err.text, expected);
    }
    /* A failed round leaves nothing behind. */
    static struct tally tally;
    assert_int_equal(pool_run(pool, UNITS, count_unit, &tally, &err), 0);
    for (size_t unit = 0; unit < UNITS; unit++) {
      assert_int_equal(atomic_load(&tally.runs[unit]), threads);
    }
    pool_free(pool);
  }
}

static void no_pool_is_one_thread(void **state) {
  (void)state;
  static struct tally tally;
  struct error err;
  assert_int_equal(pool_threads(NULL), 1);
  assert_int_equal(pool_run(NULL, UNITS, count_unit, &tally, &err), 0);
  for (size_t unit = 0; unit < UNITS; unit++) {
    assert_int_equal(atomic_load(&tally.runs[unit]), 1);
  }
  size_t first = 3;
  assert_int_equal(pool_run(NULL, UNITS, fail_every_seventh, &first, &err), ERROR_UNDEFINED);
  assert_string_equal(err.text, "unit 3");
  pool_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_unit_runs_once),
      cmocka_unit_test(threads_used_may_change_between_rounds),
      cmocka_unit_test(lowest_failing_unit_is_reported),
      cmocka_unit_test(no_pool_is_one_thread),
  };
  return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
