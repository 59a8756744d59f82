/* Attention weights of a real trained layer against the model itself as run by TensorFlow.js (data/README.md,
 * use-lite.h5), every full case and the padded batch, fed as ids through configs: within 1e-5, which tells every other
 * reading of the layout apart (the nearest one, epsilon 1e-5, is off by 4e-5).
 */
#include "golden_check.h"
#include "run_config.h"

#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static golden_file file;
static golden_tally tally;

/* Run ids [n] through the experiment `attention` and compare [heads][n][n] weights, and the output where it is given.
 */
static void check_case(const double *ids, size_t n, const golden_array *weights, const golden_array *output) {
  char *numbers = config_numbers(ids, n);
  char *text = config_text(NULL,
                           "model:\n  weights: %s/data/use-lite.h5\n  tokens: {ids: [%s]}\nschemes:\n"
                           "  - sinusoidal: {layout: halves, frequencies: tensor2tensor}\n"
                           "experiments:\n  - attention: {save: [attention_weights, output]}\n",
                           TEST_SOURCE_DIR, numbers);
  config_run run;
  config_run_must_pass(&run, text, "");
  golden_array got = config_run_read(&run, "/attention/sinusoidal/attention_weights");
  assert_int_equal(got.n, weights->n);
  golden_check_doubles(&tally, "attention_weights", weights, got.data, (golden_tolerance){.absolute = 1e-5});
  golden_array_free(&got);
  if (output) {
    /* A float64 program agrees with the model's own float32 within 1.2e-5 (data/README.md); outputs up to 16 in float32
     * are rounded by half of 1.9e-6 on either side, and so is what goes into the sum of 256 products. */
    got = config_run_read(&run, "/attention/sinusoidal/output");
    golden_check_doubles(&tally, "attention_output", output, got.data, (golden_tolerance){.absolute = 1.2e-5 + 3e-6});
    golden_array_free(&got);
  }
  config_run_free(&run);
  free(text);
  free(numbers);
}

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *info, void *context) {
  (void)group;
  (void)info;
  char(*names)[64] = context;
  size_t i = 0;
  while (names[i][0]) {
    i++;
  }
  snprintf(names[i], sizeof names[i], "%s", name);
  return 0;
}

static void test_cases(void **state) {
  (void)state;
  char names[64][64] = {{0}};
  assert_true(
      H5Literate_by_name(file.handle, "/cases", H5_INDEX_NAME, H5_ITER_INC, NULL, add_name, names, H5P_DEFAULT) >= 0);
  golden_tally_begin(&tally, "use-lite.h5 attention");
  for (size_t i = 0; names[i][0]; i++) {
    char group[96];
    snprintf(group, sizeof group, "cases/%.63s", names[i]);
    golden_tally_case(&tally, names[i]);
    if (golden_number(&file, group, "full") == 0) {
      golden_leave_out(&tally, names[i], "not a full case: the file holds a few rows of it alone");
      continue;
    }
    golden_array ids = golden_read(&file, group, "ids");
    golden_array weights = golden_read(&file, group, "attention_weights");
    golden_array output = golden_read(&file, group, "attention_output");
    check_case(ids.data, ids.n, &weights, &output);
    golden_array_free(&ids);
    golden_array_free(&weights);
    golden_array_free(&output);
  }
  golden_tally_end(&tally);
}

/* The padded batch: each row on its own, ids of -1 included. Golden weights are [batch][heads][T][T]. */
static void test_batch(void **state) {
  (void)state;
  golden_tally_begin(&tally, "use-lite.h5 batch");
  golden_array ids = golden_read(&file, "batch", "ids");
  golden_array weights = golden_read(&file, "batch", "attention_weights");
  size_t rows = ids.dim[0];
  size_t n = ids.dim[1];
  size_t part = weights.n / rows;
  for (size_t row = 0; row < rows; row++) {
    char name[32];
    snprintf(name, sizeof name, "row %zu", row);
    golden_tally_case(&tally, name);
    golden_array one = {.rank = 3, .dim = {part / n / n, n, n, 1, 1}, .n = part, .data = weights.data + row * part};
    check_case(ids.data + row * n, n, &one, NULL);
  }
  golden_array_free(&ids);
  golden_array_free(&weights);
  golden_tally_end(&tally);
}

static int open_file(void **state) {
  (void)state;
  golden_file_open(&file, "use-lite.h5");
  return 0;
}

static int close_file(void **state) {
  (void)state;
  golden_file_close(&file);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_batch)};
  return cmocka_run_group_tests(tests, open_file, close_file);
}
