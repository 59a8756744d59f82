/* Queries, keys and values dumped from a small PyTorch decoder by forward hooks, read as model.qk, give PyTorch's own
 * attention weights with none, rope and ALiBi: data/torch_qk.h5, made by make/torch_qk.py. Grouped key heads, two
 * layers. The tolerance is that of attention weights in float32 (data/README.md). */
#include "attention/attention.h"
#include "golden_check.h"
#include "input/model.h"
#include "model_section.h"
#include "plugin_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char data[] = TEST_GOLDEN_DIR;

enum { MOST_TOKENS = 64 };

static struct model *model_of(struct section *section) {
  struct error err;
  struct model *model = model_open(section, 1, &err);
  section_free(section);
  if (!model) {
    fail_msg("%s", err.text);
  }
  return model;
}

/* model.qk from the file's group of that scheme, or, with group NULL, from the .npy files. */
static struct model *open_model(const char *group, size_t layer) {
  struct section *section = model_section_new();
  static const char *const letters[3] = {"q", "k", "v"};
  for (size_t i = 0; i < 3; i++) {
    char path[600], key[16];
    snprintf(key, sizeof key, "qk.%s", letters[i]);
    if (group) {
      snprintf(path, sizeof path, "%s/torch_qk.h5:/%s/in_%s", data, group, letters[i]);
    } else {
      snprintf(path, sizeof path, "%s/torch_%s.npy", data, letters[i]);
    }
    model_section_text(section, key, path);
  }
  model_section_number(section, "layer", (double)layer);
  return model_of(section);
}

static float *new_floats(size_t n) {
  float *values = calloc(n, sizeof *values);
  assert_non_null(values);
  return values;
}

struct biased {
  plugin_fixture *fixture;
  const double *positions;
  size_t tokens;
};

static int add_bias(void *context, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                    size_t s_stride, struct error *err) {
  const struct biased *biased = context;
  float *tile = new_floats(nq * nk);
  pe_status status = plugin_fixture_bias(biased->fixture, (uint32_t)head, (double)biased->tokens, nq,
                                         biased->positions + row, nk, biased->positions + column, NULL, NULL, tile);
  for (size_t i = 0; i < nq; i++) {
    for (size_t j = 0; j < nk; j++) {
      s[i * s_stride + j] += tile[i * nk + j];
    }
  }
  free(tile);
  return status == PE_OK ? 0 : error_set(err, ERROR_SCHEME_FAILED, "%s", biased->fixture->error.msg);
}

/* rows [heads][tokens][head_dim] turned in place, where there is a scheme that turns them. */
static void apply_qk(plugin_fixture *fixture, int role, size_t heads, size_t tokens, size_t width,
                     const double *positions, float *rows) {
  if (fixture && (fixture->scheme->sites & PE_SITE_QK)) {
    float *turned = new_floats(heads * tokens * width);
    assert_int_equal(plugin_fixture_qk(fixture, role, (uint32_t)heads, (double)tokens, tokens, positions, rows, turned),
                     PE_OK);
    memcpy(rows, turned, heads * tokens * width * sizeof *rows);
    free(turned);
  }
}

/* The causal weights of the model's q and k with the scheme: [heads][tokens][tokens]. */
static float *weights_of(const struct model *model, plugin_fixture *fixture) {
  size_t tokens = model->texts[0].count, index[MOST_TOKENS];
  double positions[MOST_TOKENS];
  assert_true(tokens <= MOST_TOKENS);
  for (size_t i = 0; i < tokens; i++) {
    index[i] = i;
  }
  struct error err;
  assert_int_equal(model_positions(model, 0, index, tokens, positions, &err), 0);
  float *q = new_floats(model->n_heads * tokens * model->head_dim);
  float *k = new_floats(model->n_kv_heads * tokens * model->head_dim);
  float *v = new_floats(model->n_kv_heads * tokens * model->value_dim);
  float *weights = new_floats(model->n_heads * tokens * tokens);
  assert_int_equal(model_given_qk(model, 0, index, tokens, q, k, v, &err), 0);
  apply_qk(fixture, PE_ROLE_QUERY, model->n_heads, tokens, model->head_dim, positions, q);
  apply_qk(fixture, PE_ROLE_KEY, model->n_kv_heads, tokens, model->head_dim, positions, k);
  struct biased biased = {fixture, positions, tokens};
  struct attention_input input = {.n_heads = model->n_heads,
                                  .n_kv_heads = model->n_kv_heads,
                                  .nq = tokens,
                                  .nk = tokens,
                                  .width = model->head_dim,
                                  .value_width = model->value_dim,
                                  .q = q,
                                  .k = k,
                                  .v = v,
                                  .scale = model->score_scale,
                                  .causal = true};
  if (fixture && (fixture->scheme->sites & PE_SITE_BIAS)) {
    input.bias = add_bias;
    input.bias_context = &biased;
  }
  struct attention_output output = {.weights = weights};
  if (attention_run(&input, &output, NULL, &err)) {
    fail_msg("%s", err.text);
  }
  free(q);
  free(k);
  free(v);
  return weights;
}

/* Layer `layer` of the expected [layer][head][query][key]. */
static void compare(golden_tally *tally, const golden_file *file, const char *group, size_t layer,
                    const float *weights) {
  golden_array expected = golden_read(file, group, "out_weights"), part = expected;
  part.rank--;
  memmove(part.dim, expected.dim + 1, part.rank * sizeof *part.dim);
  part.n /= expected.dim[0];
  part.data += layer * part.n;
  golden_check_floats(tally, "out_weights", &part, weights, (golden_tolerance){.absolute = 2e-6});
  golden_array_free(&expected);
}

static void dumped_q_and_k_give_pytorchs_weights(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "torch_qk.h5");
  golden_tally tally;
  golden_tally_begin(&tally, "torch_qk.h5");
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *scheme = file.cases[i];
    for (size_t layer = 0; layer < 2; layer++) {
      golden_tally_case(&tally, scheme);
      struct model *model = open_model(scheme, layer);
      assert_int_equal(model->n_layers, 2);
      assert_int_equal(model->n_kv_heads, 2);
      plugin_fixture fixture;
      bool has_plugin = strcmp(scheme, "none") != 0;
      if (has_plugin) {
        plugin_fixture_require(&fixture, scheme,
                               &(plugin_request){.n_heads = (uint32_t)model->n_heads,
                                                 .n_kv_heads = (uint32_t)model->n_kv_heads,
                                                 .d_model = 64,
                                                 .head_dim = (uint32_t)model->head_dim});
      }
      float *weights = weights_of(model, has_plugin ? &fixture : NULL);
      compare(&tally, &file, scheme, layer, weights);
      free(weights);
      if (has_plugin) {
        plugin_fixture_close(&fixture);
      }
      model_close(model);
    }
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

/* numpy.save's files hold the same tensors. */
static void npy_files_hold_the_same(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "torch_qk.h5");
  golden_tally tally;
  golden_tally_begin(&tally, "torch_qk.h5");
  for (size_t layer = 0; layer < 2; layer++) {
    golden_tally_case(&tally, "none");
    struct model *model = open_model(NULL, layer);
    float *weights = weights_of(model, NULL);
    compare(&tally, &file, "none", layer, weights);
    free(weights);
    model_close(model);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dumped_q_and_k_give_pytorchs_weights),
      cmocka_unit_test(npy_files_hold_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
