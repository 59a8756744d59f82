/* Sandwich: inner products of a published sinusoidal table, and the bias made of them: tests/golden/data/sandwich.h5.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bias_check.h"
#include "golden_check.h"

static const golden_tolerance tolerance = {.absolute = 1e-4};

static void test_sandwich(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "sandwich.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    golden_tally_case(&tally, name);
    golden_array bias = golden_read(&file, name, "out_bias");
    golden_array gram = golden_read(&file, name, "out_gram");
    plugin_setting settings[] = {PLUGIN_NUMBER("dbar", golden_number(&file, name, "dbar"))};
    plugin_fixture sandwich;
    plugin_fixture_require(&sandwich, "sandwich",
                           &(plugin_request){.n_heads = (uint32_t)bias.dim[0], PLUGIN_SETTINGS(settings)});
    double *pos = bias_positions(0, 1, bias.dim[1]);
    float *got = bias_matrix(&sandwich, 0, bias.dim[1], pos, bias.dim[2], pos);
    golden_check_floats(&tally, "out_bias", &bias, got, tolerance);
    /* The part that stands on a peer alone: head h times its divisor 8 (h+1) / H. */
    for (size_t head = 0; head < bias.dim[0]; head++) {
      float *product = calloc(gram.n, sizeof *product);
      assert_non_null(product);
      for (size_t element = 0; element < gram.n; element++) {
        product[element] = (float)(got[head * gram.n + element] * 8.0 * (double)(head + 1) / (double)bias.dim[0]);
      }
      golden_check_floats(&tally, "out_gram", &gram, product, tolerance);
      free(product);
    }
    free(got);
    free(pos);
    plugin_fixture_close(&sandwich);
    golden_array_free(&gram);
    golden_array_free(&bias);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sandwich)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
