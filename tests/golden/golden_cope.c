/* CoPE, tests/golden/data/cope.h5: no scheme here computes it, and this program says so case by case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "golden_check.h"

static void test_file(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "cope.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    golden_leave_out(&tally, file.cases[i],
                     "contextual positions are sums over a whole row of logits, which a tile does not have");
  }
  assert_int_equal(tally.left_out, file.n_cases);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
