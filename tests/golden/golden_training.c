/* Training against PyTorch's autograd and AdamW in float64: tests/golden/data/training.h5, described in
 * data/README.md under "training.h5", whose tolerances for float32 code are used. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder_fixture.h"
#include "golden_check.h"

/* The scheme of a case as a config would have it. */
static void scheme_of(const golden_file *file, const char *name, char *id, size_t id_size, char *params, size_t size) {
  assert_true(golden_text(file, name, "scheme", id, id_size));
  snprintf(params, size, "{}");
  if (!strcmp(id, "rope")) {
    snprintf(params, size, "{base: %g, rotary_dim: %g, layout: half}", golden_number(file, name, "base"),
             golden_number(file, name, "rotary_dim"));
    assert_true(golden_text_is(file, name, "layout", "half"));
  } else if (!strcmp(id, "t5")) {
    double head_dim = golden_number(file, name, "d_model") / golden_number(file, name, "heads");
    bool one = golden_number(file, name, "score_scale") == 1;
    assert_true(one || fabs(golden_number(file, name, "score_scale") - 1 / sqrt(head_dim)) < 1e-12);
    snprintf(params, size, "{num_buckets: %g, max_distance: %g, direction: causal, score_scale: %s}",
             golden_number(file, name, "num_buckets"), golden_number(file, name, "max_distance"),
             one ? "one" : "model");
  } else if (!strcmp(id, "learned")) {
    snprintf(params, size, "{max_positions: %g}", golden_number(file, name, "max_positions"));
  } else if (!strcmp(id, "kerple")) {
    char kernel[16];
    assert_true(golden_text(file, name, "kernel", kernel, sizeof kernel));
    snprintf(params, size, "{kernel: %s}", kernel);
  } else if (!strcmp(id, "fire")) {
    snprintf(params, size, "{mlp_width: %g, threshold: %g, eps: %g}", golden_number(file, name, "mlp_width"),
             golden_number(file, name, "L0"), golden_number(file, name, "fire_eps"));
  } else if (!strcmp(id, "sinusoidal")) {
    assert_true(golden_text_is(file, name, "layout", "interleaved"));
    assert_true(golden_number(file, name, "base") == 10000);
  }
}

static struct decoder_shape shape_of(const golden_file *file, const char *name) {
  return (struct decoder_shape){.layers = (size_t)golden_number(file, name, "layers"),
                                .d_model = (size_t)golden_number(file, name, "d_model"),
                                .heads = (size_t)golden_number(file, name, "heads"),
                                .d_ff = (size_t)golden_number(file, name, "d_ff"),
                                .vocab = (size_t)golden_number(file, name, "vocab"),
                                .tied = golden_number(file, name, "tied") != 0,
                                .gelu = golden_text_is(file, name, "gelu", "erf") ? GELU_ERF : GELU_TANH,
                                .embed_scale = golden_number(file, name, "embed_scale"),
                                .pe_scale = 1,
                                .score_scale = golden_number(file, name, "score_scale"),
                                .norm_epsilon = golden_number(file, name, "ln_epsilon")};
}

static struct optimiser_setting setting_of(const golden_file *file, const char *name) {
  return (struct optimiser_setting){.learning_rate = golden_number(file, name, "lr"),
                                    .beta1 = golden_number(file, name, "beta1"),
                                    .beta2 = golden_number(file, name, "beta2"),
                                    .epsilon = golden_number(file, name, "epsilon"),
                                    .weight_decay = golden_number(file, name, "weight_decay"),
                                    .decay = golden_text_is(file, name, "decay", "all") ? DECAY_ALL : DECAY_MATRICES,
                                    .clip_norm = golden_number(file, name, "clip_norm"),
                                    .warmup_steps = (size_t)golden_number_or(file, name, "warmup_steps", 0),
                                    .total_steps = (size_t)golden_number_or(file, name, "total_steps", 1),
                                    .min_ratio = golden_number_or(file, name, "min_ratio", 1)};
}

static int32_t *golden_ids(const golden_file *file, const char *name, const char *what, size_t *n) {
  golden_array array = golden_read(file, name, what);
  int32_t *ids = malloc(array.n * sizeof *ids);
  assert_non_null(ids);
  for (size_t i = 0; i < array.n; i++) {
    ids[i] = (int32_t)array.data[i];
  }
  *n = array.n;
  golden_array_free(&array);
  return ids;
}

static void open_case(decoder_fixture *fixture, const golden_file *file, const char *name, unsigned threads) {
  char id[32], params[160];
  scheme_of(file, name, id, sizeof id, params, sizeof params);
  struct decoder_shape shape = shape_of(file, name);
  size_t length = (size_t)golden_number(file, name, "T");
  decoder_fixture_open(fixture, id, params, &shape, (double)length, (size_t)golden_number(file, name, "batch"), length,
                       threads);
}

/* Parameters of a tree into the block. */
static void read_parameters(decoder_fixture *fixture, const golden_file *file, const char *name, const char *tree) {
  for (size_t i = 0; i < fixture->layout.n; i++) {
    const struct parameter *parameter = &fixture->layout.items[i];
    char path[160];
    snprintf(path, sizeof path, "%s/%s", tree, parameter->name);
    golden_array array = golden_read(file, name, path);
    assert_int_equal(array.n, parameter->count);
    for (size_t j = 0; j < array.n; j++) {
      fixture->parameters[parameter->offset + j] = (float)array.data[j];
    }
    golden_array_free(&array);
  }
}

/* Tensors whose gradient is 0 in exact arithmetic: adding to a whole row changes no softmax. */
static bool is_noise(const char *parameter) {
  const char *slash = strrchr(parameter, '/');
  const char *last = slash ? slash + 1 : parameter;
  return !strcmp(last, "b_k") || !strcmp(parameter, "scheme/b2");
}

static double largest(const golden_array *array) {
  double most = 0;
  for (size_t i = 0; i < array->n; i++) {
    most = fmax(most, fabs(array->data[i]));
  }
  return most;
}

static void check_gradients(golden_tally *tally, const decoder_fixture *fixture, const golden_file *file,
                            const char *name) {
  for (size_t i = 0; i < fixture->layout.n; i++) {
    const struct parameter *parameter = &fixture->layout.items[i];
    char path[160];
    snprintf(path, sizeof path, "out_gradient/%s", parameter->name);
    golden_array expected = golden_read(file, name, path);
    double of = largest(&expected);
    /* Where rope turns the keys, b_k has a gradient in the turned channels. */
    golden_tolerance tolerance = {.absolute = of < 1e-14 ? 5e-7 : 2e-5 * of};
    golden_check_floats(tally, path, &expected, fixture->gradient + parameter->offset, tolerance);
    golden_array_free(&expected);
  }
}

/* Steps: 5e-6 where the gradient says where to go, 2 lr per step elsewhere. */
static void check_step(golden_tally *tally, const decoder_fixture *fixture, const golden_file *file, const char *name,
                       int steps) {
  double lr = golden_number(file, name, "lr");
  for (size_t i = 0; i < fixture->layout.n; i++) {
    const struct parameter *parameter = &fixture->layout.items[i];
    if (is_noise(parameter->name)) {
      continue;
    }
    char path[160];
    snprintf(path, sizeof path, "out_gradient/%s", parameter->name);
    golden_array gradient = golden_read(file, name, path);
    snprintf(path, sizeof path, "out_step%d/%s", steps, parameter->name);
    golden_array expected = golden_read(file, name, path);
    double *each = malloc(expected.n * sizeof *each);
    assert_non_null(each);
    for (size_t j = 0; j < expected.n; j++) {
      double g = fabs(gradient.data[j]);
      each[j] = g >= 1e-4 || g == 0 ? 5e-6 : 2 * lr * steps;
    }
    golden_check_floats(tally, path, &expected, fixture->parameters + parameter->offset,
                        (golden_tolerance){.each = each});
    free(each);
    golden_array_free(&expected);
    golden_array_free(&gradient);
  }
}

static void check_attention(golden_tally *tally, const decoder_fixture *fixture, const golden_file *file,
                            const char *name) {
  golden_array expected = golden_read(file, name, "out_attention_weights");
  size_t layers = fixture->layout.shape.layers, count = expected.n / layers;
  float *all = malloc(expected.n * sizeof *all);
  assert_non_null(all);
  for (size_t layer = 0; layer < layers; layer++) {
    memcpy(all + layer * count, decoder_attention(fixture->decoder, layer), count * sizeof *all);
  }
  golden_check_floats(tally, "out_attention_weights", &expected, all, (golden_tolerance){.absolute = 2e-5});
  free(all);
  golden_array_free(&expected);
}

static void check_model(golden_tally *tally, const golden_file *file, const char *name) {
  decoder_fixture fixture;
  open_case(&fixture, file, name, 1);
  read_parameters(&fixture, file, name, "in_parameters");
  struct optimiser_setting setting = setting_of(file, name);
  size_t n;
  int32_t *ids = golden_ids(file, name, "in_ids", &n), *targets = golden_ids(file, name, "in_targets", &n);
  struct batch batch = {.sequences = (size_t)golden_number(file, name, "batch"), .ids = ids, .targets = targets};
  batch.length = n / batch.sequences;
  golden_array logits = golden_read(file, name, "out_logits"), losses = golden_read(file, name, "out_loss"),
               norms = golden_read(file, name, "out_gradient_norm");
  double loss[4], norm[3];
  decoder_fixture_loss(&fixture, &batch, false);
  golden_check_floats(tally, "out_logits", &logits, decoder_logits(fixture.decoder),
                      (golden_tolerance){.absolute = 2e-5});
  check_attention(tally, &fixture, file, name);
  for (size_t step = 0; step < 3; step++) {
    struct error err = {0};
    loss[step] = decoder_fixture_loss(&fixture, &batch, true);
    if (step == 0) {
      check_gradients(tally, &fixture, file, name);
    }
    assert_int_equal(optimiser_step(&fixture.layout, &setting, step, setting.learning_rate, fixture.gradient,
                                    fixture.first, fixture.second, fixture.parameters, NULL, &norm[step], &err),
                     0);
    /* The variants of a case hold step 3 alone. */
    if (step == 2 || (step == 0 && golden_has(file, name, "out_step1/embeddings"))) {
      check_step(tally, &fixture, file, name, (int)step + 1);
    }
  }
  loss[3] = decoder_fixture_loss(&fixture, &batch, false);
  golden_check_doubles(tally, "out_loss", &losses, loss, (golden_tolerance){.absolute = 2e-5});
  golden_check_doubles(tally, "out_gradient_norm", &norms, norm, (golden_tolerance){.relative = 1e-5});
  golden_array_free(&norms);
  golden_array_free(&losses);
  golden_array_free(&logits);
  free(targets);
  free(ids);
  decoder_fixture_close(&fixture);
}

static bool is_model(const char *name) {
  return !golden_case_begins(name, "vjp_") && !golden_case_begins(name, "run_") &&
         !golden_case_begins(name, "schedule_");
}

static void test_models(void **state) {
  (void)state;
  golden_file file;
  golden_tally tally;
  golden_file_open(&file, "training.h5");
  golden_tally_begin(&tally, "training.h5 models");
  for (size_t i = 0; i < file.n_cases; i++) {
    if (is_model(file.cases[i])) {
      golden_tally_case(&tally, file.cases[i]);
      check_model(&tally, &file, file.cases[i]);
    }
  }
  assert_int_equal(tally.cases, 16);
  golden_tally_end(&tally);
  golden_file_close(&file);
}

static void test_schedules(void **state) {
  (void)state;
  golden_file file;
  golden_tally tally;
  golden_file_open(&file, "training.h5");
  golden_tally_begin(&tally, "training.h5 schedules");
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    if (!golden_case_begins(name, "schedule_")) {
      continue;
    }
    golden_tally_case(&tally, name);
    golden_array expected = golden_read(&file, name, "out_lr");
    struct optimiser_setting setting = {.learning_rate = golden_number(&file, name, "lr"),
                                        .warmup_steps = (size_t)golden_number(&file, name, "warmup_steps"),
                                        .total_steps = (size_t)golden_number(&file, name, "total_steps"),
                                        .min_ratio = golden_number(&file, name, "min_ratio")};
    double *got = malloc(expected.n * sizeof *got);
    assert_non_null(got);
    for (size_t step = 0; step < expected.n; step++) {
      got[step] = optimiser_learning_rate(&setting, step);
    }
    golden_check_doubles(&tally, "out_lr", &expected, got, (golden_tolerance){.absolute = 1e-15});
    free(got);
    golden_array_free(&expected);
  }
  assert_int_equal(tally.cases, 2);
  golden_tally_end(&tally);
  golden_file_close(&file);
}

/* ---- the generator behind the runs: data/README.md ---- */

struct generator {
  uint32_t x;
};

static uint32_t next(struct generator *generator) {
  generator->x = generator->x * 1664525u + 1013904223u;
  return generator->x >> 16;
}

enum { TEXT = 16384 };

static void generate_text(uint8_t *text) {
  static const char *const words[16] = {"ant",  "bear", "cat", "dove", "eel",  "fox",  "goat", "hare",
                                        "ibis", "jay",  "koi", "lynx", "mole", "newt", "owl",  "pig"};
  struct generator generator = {1};
  for (size_t n = 0; n < TEXT;) {
    const char *a = words[next(&generator) % 16], *b = words[next(&generator) % 16];
    char line[64];
    int length = snprintf(line, sizeof line, "%s and %s: %s and %s.\n", a, b, b, a);
    for (int i = 0; i < length && n < TEXT; i++) {
      text[n++] = (uint8_t)line[i];
    }
  }
}

static void check_generated(golden_tally *tally, const golden_file *file, const char *name, const uint8_t *text,
                            const decoder_fixture *fixture) {
  double *values = malloc(TEXT * sizeof *values);
  assert_non_null(values);
  golden_array in_text = golden_read(file, name, "in_text"), starts = golden_read(file, name, "in_starts");
  for (size_t i = 0; i < TEXT; i++) {
    values[i] = text[i];
  }
  golden_check_doubles(tally, "in_text", &in_text, values, (golden_tolerance){0});
  struct generator batches = {2};
  for (size_t i = 0; i < starts.n; i++) {
    values[i] = next(&batches) % (TEXT - 32);
  }
  golden_check_doubles(tally, "in_starts", &starts, values, (golden_tolerance){0});
  static const char *const order[] = {"embeddings", "layer0/w_q", "layer0/w_k", "layer0/w_v", "layer0/w_o",
                                      "layer0/w_1", "layer0/w_2", "layer1/w_q", "layer1/w_k", "layer1/w_v",
                                      "layer1/w_o", "layer1/w_1", "layer1/w_2", "w_out"};
  struct generator numbers = {3};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    const struct parameter *parameter = parameter_named(&fixture->layout, order[i]);
    size_t n = strlen(order[i]);
    bool half = !strcmp(order[i] + n - 3, "w_o") || !strcmp(order[i] + n - 3, "w_2");
    char path[96];
    snprintf(path, sizeof path, "in_parameters/%s", order[i]);
    golden_array expected = golden_read(file, name, path);
    double *drawn = malloc(parameter->count * sizeof *drawn);
    assert_non_null(drawn);
    for (size_t j = 0; j < parameter->count; j++) {
      drawn[j] = ((double)next(&numbers) - 32768) / 32768 / (half ? 32 : 16);
    }
    golden_check_doubles(tally, path, &expected, drawn, (golden_tolerance){0});
    free(drawn);
    golden_array_free(&expected);
  }
  golden_array_free(&starts);
  golden_array_free(&in_text);
  free(values);
}

enum { RUN_STEPS = 200 };

static void check_run(golden_tally *tally, const golden_file *file, const char *name, const uint8_t *text) {
  decoder_fixture fixture;
  open_case(&fixture, file, name, 2);
  read_parameters(&fixture, file, name, "in_parameters");
  check_generated(tally, file, name, text, &fixture);
  struct optimiser_setting setting = setting_of(file, name);
  int32_t ids[8 * 32], targets[8 * 32];
  struct batch batch = {.sequences = 8, .length = 32, .ids = ids, .targets = targets};
  golden_array starts = golden_read(file, name, "in_starts"), losses = golden_read(file, name, "out_loss");
  double loss[RUN_STEPS];
  assert_int_equal(losses.n, RUN_STEPS);
  for (size_t step = 0; step < RUN_STEPS; step++) {
    struct error err = {0};
    double norm;
    for (size_t row = 0; row < 8; row++) {
      size_t start = (size_t)starts.data[step * 8 + row];
      for (size_t t = 0; t < 32; t++) {
        ids[row * 32 + t] = text[start + t];
        targets[row * 32 + t] = text[start + t + 1];
      }
    }
    loss[step] = decoder_fixture_loss(&fixture, &batch, true);
    assert_int_equal(optimiser_step(&fixture.layout, &setting, step, optimiser_learning_rate(&setting, step),
                                    fixture.gradient, fixture.first, fixture.second, fixture.parameters, fixture.pool,
                                    &norm, &err),
                     0);
  }
  golden_check_doubles(tally, "out_loss", &losses, loss, (golden_tolerance){.absolute = 1e-4});
  golden_array_free(&losses);
  golden_array_free(&starts);
  decoder_fixture_close(&fixture);
}

static void test_runs(void **state) {
  (void)state;
  golden_file file;
  golden_tally tally;
  static uint8_t text[TEXT];
  generate_text(text);
  golden_file_open(&file, "training.h5");
  golden_tally_begin(&tally, "training.h5 runs");
  for (size_t i = 0; i < file.n_cases; i++) {
    if (golden_case_begins(file.cases[i], "run_")) {
      golden_tally_case(&tally, file.cases[i]);
      check_run(&tally, &file, file.cases[i], text);
    }
  }
  assert_int_equal(tally.cases, 4);
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_models), cmocka_unit_test(test_schedules),
                                     cmocka_unit_test(test_runs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
