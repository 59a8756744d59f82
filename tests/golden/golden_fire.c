/* FIRE biases and gradients of other people's code: tests/golden/data/fire.h5 and training.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bias_check.h"
#include "golden_check.h"

static const golden_tolerance bias_tolerance = {.absolute = 1e-5};

enum { TENSORS = 6 };
static const char *const tensor_names[TENSORS] = {"c", "L_multiplier", "w1", "b1", "w2", "b2"};

/* One case: its network, given as datasets, or for the two numbers ahead of it as attributes. */
typedef struct fire_case {
  float *values[TENSORS];
  pe_dims dims[TENSORS];
  plugin_fixture fixture;
} fire_case;

static void read_tensor(fire_case *fire, int which, const golden_file *file, const char *name) {
  char dataset[32];
  snprintf(dataset, sizeof dataset, "in_%s", tensor_names[which]);
  if (!golden_has(file, name, dataset)) {
    fire->values[which] = calloc(1, sizeof(float));
    assert_non_null(fire->values[which]);
    fire->values[which][0] = (float)golden_number(file, name, tensor_names[which]);
    fire->dims[which] = (pe_dims){.rank = 1, .dim = {1}};
    return;
  }
  golden_array array = golden_read(file, name, dataset);
  fire->values[which] = golden_floats(&array);
  fire->dims[which] = (pe_dims){.rank = (uint32_t)array.rank, .dim = {array.dim[0], array.dim[1]}};
  golden_array_free(&array);
}

static void open_case(fire_case *fire, const golden_file *file, const char *name, double eps, const char *distance) {
  plugin_tensor tensors[TENSORS];
  for (int which = 0; which < TENSORS; which++) {
    read_tensor(fire, which, file, name);
    tensors[which] =
        (plugin_tensor){.name = tensor_names[which], .dims = fire->dims[which], .data = fire->values[which]};
  }
  plugin_setting settings[] = {PLUGIN_NUMBER("mlp_width", golden_number(file, name, "mlp_width")),
                               PLUGIN_NUMBER("threshold", golden_number(file, name, "L0")), PLUGIN_NUMBER("eps", eps),
                               PLUGIN_TEXT("distance", distance)};
  plugin_fixture_require(&fire->fixture, "fire",
                         &(plugin_request){.n_heads = (uint32_t)golden_number(file, name, "heads"),
                                           PLUGIN_SETTINGS(settings),
                                           PLUGIN_TENSORS(tensors)});
}

static void close_case(fire_case *fire) {
  plugin_fixture_close(&fire->fixture);
  for (int which = 0; which < TENSORS; which++) {
    free(fire->values[which]);
  }
}

/* This transcription takes |i - j| above the diagonal, which a causal mask hides; the whole matrix is compared. */
static void test_fire(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "fire.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    golden_tally_case(&tally, name);
    fire_case fire;
    open_case(&fire, &file, name, golden_number(&file, name, "eps"), "symmetric");
    golden_array bias = golden_read(&file, name, "out_bias");
    double *pos = bias_positions(0, 1, bias.dim[1]);
    float *got = bias_matrix(&fire.fixture, 0, bias.dim[1], pos, bias.dim[2], pos);
    golden_check_floats(&tally, "out_bias", &bias, got, bias_tolerance);
    free(got);
    free(pos);
    golden_array_free(&bias);
    close_case(&fire);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

/* The training cases take distance 0 above the diagonal. */
static void test_gradients(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "training.h5");
  golden_tally tally;
  golden_tally_begin(&tally, "training.h5 vjp_fire*");
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    if (!golden_case_begins(name, "vjp_fire")) {
      continue;
    }
    golden_tally_case(&tally, name);
    fire_case fire;
    open_case(&fire, &file, name, golden_number(&file, name, "fire_eps"), "causal");
    golden_array expected[TENSORS];
    float *got[TENSORS];
    char dataset[TENSORS][40];
    for (int which = 0; which < TENSORS; which++) {
      snprintf(dataset[which], sizeof dataset[which], "out_gradient_%s", tensor_names[which]);
      expected[which] = golden_read(&file, name, dataset[which]);
      got[which] = calloc(expected[which].n, sizeof(float));
      assert_non_null(got[which]);
    }
    bias_golden_vjp(&tally, &file, name, &fire.fixture, got, bias_tolerance);
    for (int which = 0; which < TENSORS; which++) {
      golden_check_floats(&tally, dataset[which], &expected[which], got[which],
                          bias_of_largest(&expected[which], 1e-5));
      free(got[which]);
      golden_array_free(&expected[which]);
    }
    close_case(&fire);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fire), cmocka_unit_test(test_gradients)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
