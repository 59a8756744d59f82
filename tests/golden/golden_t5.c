/* T5 buckets, biases and gradients of other people's code: tests/golden/data/t5.h5 and training.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bias_check.h"
#include "golden_check.h"

/* Integers and copies: equal. `boundary_*` too, since edges are whole numbers here. */
static const golden_tolerance equal = {.absolute = 0};

static void open_t5(plugin_fixture *t5, const golden_file *file, const char *name, const float *table, uint32_t heads) {
  plugin_setting settings[] = {
      PLUGIN_NUMBER("num_buckets", golden_number(file, name, "num_buckets")),
      PLUGIN_NUMBER("max_distance", golden_number(file, name, "max_distance")),
      PLUGIN_TEXT("direction", golden_number(file, name, "bidirectional") != 0 ? "bidirectional" : "causal")};
  plugin_tensor tensors[] = {
      {.name = "table", .dims = {.rank = 2, .dim = {(size_t)settings[0].number, heads}}, .data = table}};
  plugin_fixture_require(t5, "t5",
                         &(plugin_request){.n_heads = heads, PLUGIN_SETTINGS(settings), PLUGIN_TENSORS(tensors)});
}

/* A table that holds its own row numbers shows the bucket of every distance. */
static void check_buckets(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array relative = golden_read(file, name, "in_relative_position");
  golden_array bucket = golden_read(file, name, "out_bucket");
  const size_t num_buckets = (size_t)golden_number(file, name, "num_buckets");
  float *numbers = calloc(num_buckets, sizeof *numbers);
  assert_non_null(numbers);
  for (size_t i = 0; i < num_buckets; i++) {
    numbers[i] = (float)i;
  }
  plugin_fixture t5;
  open_t5(&t5, file, name, numbers, 1);
  const double query = 0;
  float *got = bias_matrix(&t5, 0, 1, &query, relative.n, relative.data);
  golden_check_floats(tally, "out_bucket", &bucket, got, equal);
  free(got);
  plugin_fixture_close(&t5);
  free(numbers);
  golden_array_free(&bucket);
  golden_array_free(&relative);
}

static void check_bias(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array table = golden_read(file, name, "in_table");
  golden_array bias = golden_read(file, name, "out_bias");
  float *values = golden_floats(&table);
  plugin_fixture t5;
  open_t5(&t5, file, name, values, (uint32_t)table.dim[1]);
  double *pos = bias_positions(0, 1, bias.dim[1] > bias.dim[2] ? bias.dim[1] : bias.dim[2]);
  float *got = bias_matrix(&t5, 0, bias.dim[1], pos, bias.dim[2], pos);
  golden_check_floats(tally, "out_bias", &bias, got, equal);
  free(got);
  free(pos);
  plugin_fixture_close(&t5);
  free(values);
  golden_array_free(&bias);
  golden_array_free(&table);
}

static void test_t5(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "t5.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    golden_tally_case(&tally, file.cases[i]);
    if (golden_case_begins(file.cases[i], "bias_")) {
      check_bias(&tally, &file, file.cases[i]);
    } else {
      check_buckets(&tally, &file, file.cases[i]);
    }
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

static void check_gradient(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array table = golden_read(file, name, "in_table");
  golden_array expected = golden_read(file, name, "out_gradient_table");
  float *values = golden_floats(&table);
  plugin_fixture t5;
  open_t5(&t5, file, name, values, (uint32_t)table.dim[1]);
  float *got = calloc(expected.n, sizeof *got);
  assert_non_null(got);
  bias_golden_vjp(tally, file, name, &t5, (float *const[]){got}, equal);
  golden_check_floats(tally, "out_gradient_table", &expected, got, bias_of_largest(&expected, 1e-5));
  free(got);
  plugin_fixture_close(&t5);
  free(values);
  golden_array_free(&expected);
  golden_array_free(&table);
}

static void test_gradients(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "training.h5");
  golden_tally tally;
  golden_tally_begin(&tally, "training.h5 vjp_t5_*");
  for (size_t i = 0; i < file.n_cases; i++) {
    if (golden_case_begins(file.cases[i], "vjp_t5_")) {
      golden_tally_case(&tally, file.cases[i]);
      check_gradient(&tally, &file, file.cases[i]);
    }
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_t5), cmocka_unit_test(test_gradients)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
