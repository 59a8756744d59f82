/* KERPLE biases and gradients of the authors' code: tests/golden/data/kerple.h5 and training.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bias_check.h"
#include "golden_check.h"

static const golden_tolerance bias_tolerance = {.absolute = 1e-5};

/* Numbers of one case, exact in float32. */
typedef struct kerple_case {
  golden_array a, p;
  float *a_values, *p_values;
  plugin_fixture fixture;
} kerple_case;

static void open_case(kerple_case *kerple, const golden_file *file, const char *name) {
  kerple->a = golden_read(file, name, "in_a");
  kerple->p = golden_read(file, name, "in_p");
  kerple->a_values = golden_floats(&kerple->a);
  kerple->p_values = golden_floats(&kerple->p);
  const size_t heads = kerple->a.n;
  plugin_setting settings[] = {PLUGIN_TEXT("kernel", golden_text_is(file, name, "kernel", "log") ? "log" : "power")};
  plugin_tensor tensors[] = {{.name = "a", .dims = {.rank = 1, .dim = {heads}}, .data = kerple->a_values},
                             {.name = "p", .dims = {.rank = 1, .dim = {heads}}, .data = kerple->p_values}};
  plugin_fixture_require(
      &kerple->fixture, "kerple",
      &(plugin_request){.n_heads = (uint32_t)heads, PLUGIN_SETTINGS(settings), PLUGIN_TENSORS(tensors)});
}

static void close_case(kerple_case *kerple) {
  plugin_fixture_close(&kerple->fixture);
  free(kerple->a_values);
  free(kerple->p_values);
  golden_array_free(&kerple->a);
  golden_array_free(&kerple->p);
}

static void test_kerple(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "kerple.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    if (golden_case_begins(name, "scale_weight")) {
      golden_leave_out(&tally, name, "multiplies scores by exp(-wa d^wp), which is no added bias");
      continue;
    }
    golden_tally_case(&tally, name);
    kerple_case kerple;
    open_case(&kerple, &file, name);
    golden_array bias = golden_read(&file, name, "out_bias");
    double *pos = bias_positions(0, 1, bias.dim[1]);
    float *got = bias_matrix(&kerple.fixture, 0, bias.dim[1], pos, bias.dim[2], pos);
    golden_check_floats(&tally, "out_bias", &bias, got, bias_tolerance);
    free(got);
    free(pos);
    golden_array_free(&bias);
    close_case(&kerple);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

static void test_gradients(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "training.h5");
  golden_tally tally;
  golden_tally_begin(&tally, "training.h5 vjp_kerple_*");
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    if (!golden_case_begins(name, "vjp_kerple_")) {
      continue;
    }
    golden_tally_case(&tally, name);
    kerple_case kerple;
    open_case(&kerple, &file, name);
    golden_array da = golden_read(&file, name, "out_gradient_a");
    golden_array dp = golden_read(&file, name, "out_gradient_p");
    float *got_a = calloc(da.n, sizeof *got_a);
    float *got_p = calloc(dp.n, sizeof *got_p);
    assert_non_null(got_a);
    assert_non_null(got_p);
    bias_golden_vjp(&tally, &file, name, &kerple.fixture, (float *const[]){got_a, got_p}, bias_tolerance);
    golden_check_floats(&tally, "out_gradient_a", &da, got_a, bias_of_largest(&da, 1e-5));
    golden_check_floats(&tally, "out_gradient_p", &dp, got_p, bias_of_largest(&dp, 1e-5));
    free(got_a);
    free(got_p);
    golden_array_free(&da);
    golden_array_free(&dp);
    close_case(&kerple);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kerple), cmocka_unit_test(test_gradients)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
