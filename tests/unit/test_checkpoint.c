/* A trained decoder's file as model.weights: every layer's attention, reached by a forward pass through the layers
 * below with the scheme's trained tensors, is that of the decoder itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/section_text.h"
#include "decoder_fixture.h"
#include "experiments/encode.h"
#include "model_section.h"
#include "train/checkpoint.h"

enum { LENGTH = 24, LAYERS = 3, HEADS = 2, D_MODEL = 16 };

static const char text[] = "he works, she waits, now";

static struct model *opened(const char *path, size_t layer) {
  struct error err;
  struct section *section = model_section_new();
  model_section_text(section, "weights", path);
  model_section_text(section, "tokens.text", text);
  model_section_number(section, "layer", (double)layer);
  struct model *model = model_open(section, 1, &err);
  section_free(section);
  if (!model) {
    fail_msg("%s", err.text);
  }
  return model;
}

static void write_checkpoint(const decoder_fixture *fixture, const char *params, const char *path) {
  struct error err;
  const struct scheme *scheme = instance_scheme(fixture->scheme);
  struct section *section = config_section_from_text(&scheme->info.params, params, "params", &err);
  assert_non_null(section);
  if (checkpoint_write(path, &fixture->layout, fixture->parameters, scheme, section, LENGTH, true, &err)) {
    fail_msg("%s", err.text);
  }
  section_free(section);
}

/* The decoder's initial weights are small, and its attention nearly even: larger ones show more. */
static void enlarge(decoder_fixture *fixture) {
  for (size_t i = 0; i < fixture->layout.count; i++) {
    fixture->parameters[i] *= i < fixture->layout.items[1].offset ? 20.0f : 5.0f;
  }
}

static void compare(const char *scheme, const char *params, double pe_scale, enum gelu gelu) {
  char path[256];
  snprintf(path, sizeof path, "%s/checkpoint-%s.h5", TEST_BUILD_DIR, scheme);
  struct decoder_shape shape = {.layers = LAYERS,
                                .d_model = D_MODEL,
                                .heads = HEADS,
                                .d_ff = 32,
                                .vocab = 256,
                                .gelu = gelu,
                                .embed_scale = 1.5,
                                .pe_scale = pe_scale,
                                .score_scale = 0.3,
                                .norm_epsilon = 1e-5};
  decoder_fixture fixture;
  decoder_fixture_open(&fixture, scheme, params, &shape, LENGTH, 1, LENGTH, 1);
  enlarge(&fixture);
  int32_t ids[LENGTH], targets[LENGTH] = {0};
  for (size_t i = 0; i < LENGTH; i++) {
    ids[i] = text[i];
  }
  struct batch batch = {.sequences = 1, .length = LENGTH, .ids = ids, .targets = targets};
  decoder_fixture_loss(&fixture, &batch, false);
  write_checkpoint(&fixture, params, path);
  for (size_t layer = 0; layer < LAYERS; layer++) {
    struct error err = {0};
    struct model *model = opened(path, layer);
    assert_int_equal(model->n_layers, LAYERS);
    assert_string_equal(model->trained.scheme, scheme);
    assert_string_equal(model->trained.mask, "causal");
    assert_true(model->trained.max_length == LENGTH && model->n_kv_heads == HEADS);
    assert_int_equal(model->texts[0].count, LENGTH);
    struct experiment_context context = {.model = model, .scheme = fixture.scheme};
    float *weights = attention_weights(&context, fixture.scheme, &(struct sequence){.n = LENGTH}, 0, true, &err);
    if (!weights) {
      fail_msg("%s", err.text);
    }
    const float *expected = decoder_attention(fixture.decoder, layer);
    double most = 0;
    for (size_t i = 0; i < HEADS * LENGTH * LENGTH; i++) {
      most = fmax(most, fabs((double)weights[i] - (double)expected[i]));
    }
    if (!(most < 2e-5)) {
      fail_msg("%s, layer %zu: attention differs by %g", scheme, layer, most);
    }
    free(weights);
    model_close(model);
  }
  decoder_fixture_close(&fixture);
  remove(path);
}

static void all_layers_are_read(void **state) {
  (void)state;
  compare("sinusoidal", "{}", 0.5, GELU_TANH);
  compare("learned", "{max_positions: 24}", 2, GELU_ERF);
  compare("rope", "{}", 1, GELU_TANH);
  compare("alibi", "{}", 1, GELU_ERF);
  compare("t5", "{direction: causal, num_buckets: 8, max_distance: 12}", 1, GELU_TANH);
}

static void the_tensors_of_the_scheme_are_in_the_file(void **state) {
  (void)state;
  char path[256];
  snprintf(path, sizeof path, "%s/checkpoint-tensor.h5", TEST_BUILD_DIR);
  struct decoder_shape shape = {.layers = 1,
                                .d_model = D_MODEL,
                                .heads = HEADS,
                                .d_ff = 32,
                                .vocab = 256,
                                .embed_scale = 1,
                                .pe_scale = 1,
                                .score_scale = 0.3,
                                .norm_epsilon = 1e-5};
  const char *params = "{max_positions: 24}";
  decoder_fixture fixture;
  decoder_fixture_open(&fixture, "learned", params, &shape, LENGTH, 1, LENGTH, 1);
  write_checkpoint(&fixture, params, path);
  struct error err;
  float *data;
  size_t dim[4];
  unsigned rank;
  const struct parameter *table = &fixture.layout.items[fixture.layout.scheme];
  assert_int_equal(model_read_scheme_tensor(path, table->name, &data, dim, &rank, &err), 0);
  assert_int_equal(rank, 2);
  assert_true(dim[0] == LENGTH && dim[1] == D_MODEL);
  assert_memory_equal(data, fixture.parameters + table->offset, table->count * sizeof *data);
  free(data);
  decoder_fixture_close(&fixture);
  remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_layers_are_read),
      cmocka_unit_test(the_tensors_of_the_scheme_are_in_the_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
