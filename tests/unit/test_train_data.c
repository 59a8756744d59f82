/* Tasks against their definitions, and the cut of a text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "train/data.h"

enum { LENGTH = 40 };

/* One example: tokens z [n + 1], of which the last is only a target; answer: where the counted ones begin. */
struct example {
  int32_t ids[LENGTH], targets[LENGTH];
  size_t used;
};

static struct example draw(enum task task, uint64_t index, size_t length) {
  struct example e;
  struct data data;
  data_open_task(&data, task);
  e.used = data_example(&data, SPLIT_TEST, 4, index, length, e.ids, e.targets);
  assert_true(e.used <= length);
  for (size_t i = 0; i < length; i++) {
    assert_in_range(e.ids[i], 0, data.vocab - 1);
    assert_true(e.targets[i] >= -1 && e.targets[i] < (int32_t)data.vocab);
    /* A target is the next token; behind the example there are none. */
    assert_true(e.targets[i] < 0 || i + 1 >= e.used || e.targets[i] == e.ids[i + 1]);
    assert_true(i < e.used || e.targets[i] < 0);
  }
  return e;
}

static void test_copy_and_reverse(void **state) {
  (void)state;
  for (uint64_t index = 0; index < 50; index++) {
    struct example copy = draw(TASK_COPY, index, 20), reverse = draw(TASK_REVERSE, index, 20);
    assert_int_equal(copy.used, 20);
    for (size_t i = 0; i < 10; i++) {
      assert_int_equal(copy.targets[10 + i], copy.ids[i]);
      assert_int_equal(reverse.targets[10 + i], reverse.ids[9 - i]);
      assert_true(i == 9 || copy.targets[i] < 0);
    }
    assert_int_equal(copy.ids[10], 16);
  }
}

static void test_addition(void **state) {
  (void)state;
  for (uint64_t index = 0; index < 200; index++) {
    struct example e = draw(TASK_ADDITION, index, 20); /* 6 digits */
    long a = 0, b = 0, c = 0;
    assert_int_equal(e.used, 20);
    for (size_t i = 6; i-- > 0;) {
      a = 10 * a + e.ids[i];
      b = 10 * b + e.ids[7 + i];
    }
    for (size_t i = 7; i-- > 0;) {
      c = 10 * c + e.targets[13 + i];
    }
    assert_int_equal(a + b, c);
    assert_int_equal(e.ids[6], 10);
    assert_int_equal(e.ids[13], 11);
    assert_int_equal(e.targets[12], -1);
  }
}

static void test_parity(void **state) {
  (void)state;
  for (uint64_t index = 0; index < 100; index++) {
    struct example e = draw(TASK_PARITY, index, 12);
    int odd = 0;
    for (size_t i = 0; i < 11; i++) {
      odd += e.ids[i];
      assert_int_equal(e.targets[i], -1);
    }
    assert_int_equal(e.ids[11], 2);
    assert_int_equal(e.targets[11], odd % 2);
  }
}

static void test_passkey(void **state) {
  (void)state;
  bool early = false, late = false;
  for (uint64_t index = 0; index < 200; index++) {
    struct example e = draw(TASK_PASSKEY, index, LENGTH);
    size_t key = 0;
    while (e.ids[key] != 18) {
      key++;
    }
    early = early || key < 4;
    late = late || key > 28;
    assert_int_equal(e.used, LENGTH);
    for (size_t k = 0; k < 3; k++) {
      assert_in_range(e.ids[key + 1 + k], 0, 9);
      assert_int_equal(e.targets[LENGTH - 3 + k], e.ids[key + 1 + k]);
    }
    assert_int_equal(e.ids[LENGTH - 3], 19);
  }
  assert_true(early && late);
}

static void test_batches_are_functions_of_their_place(void **state) {
  (void)state;
  struct data data;
  data_open_task(&data, TASK_COPY);
  int32_t ids[2][8 * LENGTH], targets[2][8 * LENGTH];
  size_t lengths[LENGTH + 1] = {0};
  for (uint64_t step = 0; step < 100; step++) {
    data_batch(&data, 5, step, 8, LENGTH, ids[0], targets[0]);
    data_batch(&data, 5, step, 8, LENGTH, ids[1], targets[1]);
    assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
    for (size_t row = 0; row < 8; row++) {
      size_t used = LENGTH;
      while (targets[0][row * LENGTH + used - 1] < 0) {
        used--;
      }
      lengths[used]++;
    }
  }
  for (size_t used = 4; used <= LENGTH; used += 2) {
    assert_true(lengths[used] > 10); /* 800 examples on 19 sizes */
  }
  data_batch(&data, 6, 0, 8, LENGTH, ids[1], targets[1]);
  assert_memory_not_equal(ids[0], ids[1], sizeof ids[0]);
}

static void test_text_is_cut_once(void **state) {
  (void)state;
  struct error err = {0};
  struct data data;
  assert_int_equal(data_open_corpus(&data, 10000, 3, &err), 0);
  assert_int_equal(data_size(&data, SPLIT_TRAIN), 8500);
  assert_int_equal(data_size(&data, SPLIT_SELECT), 500);
  assert_int_equal(data_size(&data, SPLIT_TEST), 1000);
  int32_t ids[LENGTH], targets[LENGTH];
  data_window(&data, SPLIT_TEST, 1000 - LENGTH - 1, LENGTH, ids, targets);
  assert_int_equal(targets[LENGTH - 1], data.bytes[9999]);
  assert_int_equal(ids[0], data.bytes[9999 - LENGTH]);
  assert_memory_equal(ids + 1, targets, (LENGTH - 1) * sizeof *ids);
  data_close(&data);
  const char *const missing[] = {"/nowhere/text"};
  assert_int_equal(data_open_text(&data, missing, 1, &err), ERROR_FILE_READ);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy_and_reverse),
                                     cmocka_unit_test(test_addition),
                                     cmocka_unit_test(test_parity),
                                     cmocka_unit_test(test_passkey),
                                     cmocka_unit_test(test_batches_are_functions_of_their_place),
                                     cmocka_unit_test(test_text_is_cut_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
