/* Scores, weights and outputs of other people's attention: tests/golden/data/attention.h5. The schemes are the build's
 * plugins; scores and what follows come from the tiled kernel and, a second time, from the float64 reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attention/attention.h"
#include "golden_check.h"
#include "plugin_fixture.h"

/* data/README.md: attention scores, weights, y of float32 code. */
static const double tolerance = 2e-6;

static float *need_floats(size_t n) {
  float *floats = calloc(n ? n : 1, sizeof *floats);
  assert_non_null(floats);
  return floats;
}

/* ---- the scheme of a case -----------------------------------------------------------------------------------------
 */

enum { MAX_SETTINGS = 8, MAX_TENSORS = 6 };

struct scheme {
  const char *plugin; /* NULL: none */
  plugin_setting settings[MAX_SETTINGS];
  plugin_tensor tensors[MAX_TENSORS];
  float *tensor_data[MAX_TENSORS];
  size_t n_settings, n_tensors;
};

static void set_number(struct scheme *scheme, const char *key, double number) {
  assert_true(scheme->n_settings < MAX_SETTINGS);
  scheme->settings[scheme->n_settings++] = (plugin_setting)PLUGIN_NUMBER(key, number);
}

static void set_text(struct scheme *scheme, const char *key, const char *text) {
  assert_true(scheme->n_settings < MAX_SETTINGS);
  scheme->settings[scheme->n_settings++] = (plugin_setting)PLUGIN_TEXT(key, text);
}

/* data [rows][columns]; columns 0: [rows] */
static void set_tensor(struct scheme *scheme, const char *tensor, float *data, size_t rows, size_t columns) {
  assert_true(scheme->n_tensors < MAX_TENSORS);
  pe_dims dims = {.rank = columns ? 2 : 1, .dim = {(uint32_t)rows, (uint32_t)columns}};
  scheme->tensor_data[scheme->n_tensors] = data;
  scheme->tensors[scheme->n_tensors++] = (plugin_tensor){.name = tensor, .dims = dims, .data = data};
}

static void set_tensor_of_case(struct scheme *scheme, const golden_file *file, const char *name, const char *dataset) {
  golden_array array = golden_read(file, name, dataset);
  set_tensor(scheme, dataset + strlen("in_"), golden_floats(&array), array.dim[0], array.rank == 2 ? array.dim[1] : 0);
  golden_array_free(&array);
}

static void set_single(struct scheme *scheme, const char *tensor, double value) {
  float *data = need_floats(1);
  data[0] = (float)value;
  set_tensor(scheme, tensor, data, 1, 0);
}

static void rope_settings(struct scheme *scheme, const golden_file *file, const char *name) {
  scheme->plugin = "rope";
  set_number(scheme, "base", golden_number_or(file, name, "base", 10000.0));
  set_text(scheme, "layout", golden_text_is(file, name, "layout", "interleaved") ? "interleaved" : "half");
  if (golden_has_attribute(file, name, "rotary_dim")) {
    set_number(scheme, "rotary_dim", golden_number(file, name, "rotary_dim"));
  }
}

static void yarn_settings(struct scheme *scheme, const golden_file *file, const char *name) {
  rope_settings(scheme, file, name);
  set_text(scheme, "scaling", "yarn");
  set_number(scheme, "factor", golden_number(file, name, "factor"));
  const char *original = "original_max_position_embeddings";
  set_number(scheme, original, golden_number(file, name, original));
}

static void learned_settings(struct scheme *scheme, const golden_file *file, const char *name) {
  scheme->plugin = "learned";
  golden_array table = golden_read(file, name, "in_pe");
  set_tensor(scheme, "table", golden_floats(&table), table.dim[0], table.dim[1]);
  golden_array_free(&table);
}

static void t5_settings(struct scheme *scheme, const golden_file *file, const char *name) {
  scheme->plugin = "t5";
  set_number(scheme, "num_buckets", golden_number(file, name, "num_buckets"));
  set_number(scheme, "max_distance", golden_number(file, name, "max_distance"));
  set_text(scheme, "direction", golden_number(file, name, "bidirectional") != 0.0 ? "bidirectional" : "causal");
  set_tensor_of_case(scheme, file, name, "in_table");
}

static void kerple_settings(struct scheme *scheme, const golden_file *file, const char *name) {
  scheme->plugin = "kerple";
  set_text(scheme, "kernel", golden_text_is(file, name, "pe", "kerple_log") ? "log" : "power");
  set_tensor_of_case(scheme, file, name, "in_a");
  set_tensor_of_case(scheme, file, name, "in_p");
}

static void fire_settings(struct scheme *scheme, const golden_file *file, const char *name) {
  scheme->plugin = "fire";
  set_number(scheme, "mlp_width", golden_number(file, name, "mlp_width"));
  set_number(scheme, "threshold", golden_number(file, name, "L0"));
  set_number(scheme, "eps", golden_number(file, name, "eps"));
  set_single(scheme, "c", golden_number(file, name, "c"));
  set_single(scheme, "L_multiplier", golden_number(file, name, "L_multiplier"));
  set_tensor_of_case(scheme, file, name, "in_w1");
  set_tensor_of_case(scheme, file, name, "in_b1");
  set_tensor_of_case(scheme, file, name, "in_w2");
  set_tensor_of_case(scheme, file, name, "in_b2");
}

static void xpos_settings(struct scheme *scheme, const golden_file *file, const char *name) {
  scheme->plugin = "xpos";
  set_number(scheme, "scale_base", golden_number(file, name, "scale_base"));
}

/* By the attribute `pe`. NULL where the test can do the case, else why it cannot. */
static const char *choose_scheme(struct scheme *scheme, const golden_file *file, const char *name) {
  char pe[64];
  *scheme = (struct scheme){.plugin = NULL};
  golden_text(file, name, "pe", pe, sizeof pe);
  if (golden_case_begins(pe, "none")) {
    return NULL;
  }
  if (golden_case_begins(pe, "sinusoidal")) {
    scheme->plugin = "sinusoidal";
  } else if (golden_case_begins(pe, "learned")) {
    learned_settings(scheme, file, name);
  } else if (golden_case_begins(pe, "rope")) {
    rope_settings(scheme, file, name);
  } else if (golden_case_begins(pe, "yarn")) {
    yarn_settings(scheme, file, name);
  } else if (golden_case_begins(pe, "alibi")) {
    scheme->plugin = "alibi";
  } else if (golden_case_begins(pe, "t5")) {
    t5_settings(scheme, file, name);
  } else if (golden_case_begins(pe, "kerple")) {
    kerple_settings(scheme, file, name);
  } else if (golden_case_begins(pe, "fire")) {
    fire_settings(scheme, file, name);
  } else if (golden_case_begins(pe, "xpos")) {
    xpos_settings(scheme, file, name);
  } else {
    return "a scheme that this test does not know";
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.so", TEST_PLUGIN_DIR, scheme->plugin);
  return access(path, R_OK) == 0 ? NULL : "the build has no plugin for its scheme";
}

static void scheme_free(struct scheme *scheme) {
  for (size_t i = 0; i < scheme->n_tensors; i++) {
    free(scheme->tensor_data[i]);
  }
}

/* ---- attention with a scheme --------------------------------------------------------------------------------------
 */

struct attention_case {
  golden_tally *tally;
  const golden_file *file;
  const char *name;
  size_t heads, kv_heads, nq, nk, width;
  double positions[16];    /* of the keys; queries stand at the end */
  plugin_fixture *fixture; /* NULL: none */
};

static int bias_of_plugin(void *context, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                          size_t s_stride, struct error *err) {
  const struct attention_case *c = context;
  float *tile = need_floats(nq * nk);
  pe_status status =
      plugin_fixture_bias(c->fixture, (uint32_t)head, (double)c->nk, nq, c->positions + c->nk - c->nq + row, nk,
                          c->positions + column, NULL, NULL, tile);
  for (size_t i = 0; i < nq; i++) {
    for (size_t j = 0; j < nk; j++) {
      s[i * s_stride + j] += tile[i * nk + j];
    }
  }
  free(tile);
  return status == PE_OK ? 0 : error_set(err, ERROR_SCHEME_FAILED, "%s", c->fixture->error.msg);
}

/* out [heads][n][width], rotated where the scheme does that */
static float *rotated(const struct attention_case *c, int role, size_t heads, size_t n, const float *in) {
  float *out = need_floats(heads * n * c->width);
  bool rotates = c->fixture && (c->fixture->scheme->sites & PE_SITE_QK);
  if (rotates) {
    assert_int_equal(plugin_fixture_width(c->fixture), c->width);
    assert_int_equal(
        plugin_fixture_qk(c->fixture, role, (uint32_t)heads, (double)c->nk, n, c->positions + c->nk - n, in, out),
        PE_OK);
  } else {
    memcpy(out, in, heads * n * c->width * sizeof *out);
  }
  return out;
}

/* Where a causal mask hides a key, the peers differ in what they leave in the scores. */
static double *visible_tolerance(const struct attention_case *c, bool causal) {
  double *each = calloc(c->heads * c->nq * c->nk, sizeof *each);
  assert_non_null(each);
  for (size_t at = 0; causal && at < c->heads * c->nq * c->nk; at++) {
    each[at] = at % c->nk > at / c->nk % c->nq + c->nk - c->nq ? (double)INFINITY : 0.0;
  }
  return each;
}

/* q, k, v before rotation. Compares scores and weights; the caller frees the context [heads][nq][width]. */
static float *attend(const struct attention_case *c, const float *q, const float *k, const float *v, bool reference) {
  bool causal = golden_number(c->file, c->name, "causal") != 0.0;
  float *q_rotated = rotated(c, PE_ROLE_QUERY, c->heads, c->nq, q);
  float *k_rotated = rotated(c, PE_ROLE_KEY, c->kv_heads, c->nk, k);
  float *logits = need_floats(c->heads * c->nq * c->nk), *weights = need_floats(c->heads * c->nq * c->nk);
  float *context = need_floats(c->heads * c->nq * c->width);
  struct attention_case bias_case = *c;
  struct attention_input input = {.n_heads = c->heads,
                                  .n_kv_heads = c->kv_heads,
                                  .nq = c->nq,
                                  .nk = c->nk,
                                  .width = c->width,
                                  .value_width = c->width,
                                  .q = q_rotated,
                                  .k = k_rotated,
                                  .v = v,
                                  .scale = golden_number(c->file, c->name, "scale"),
                                  .causal = causal,
                                  .bias_context = &bias_case};
  if (c->fixture && (c->fixture->scheme->sites & PE_SITE_BIAS)) {
    input.bias = bias_of_plugin;
  }
  struct attention_output output = {.logits = logits, .weights = weights, .context = context};
  struct error err = {.code = ERROR_NONE};
  int status = reference ? attention_reference(&input, &output, &err) : attention_run(&input, &output, NULL, &err);
  assert_int_equal(status, 0);
  if (golden_has(c->file, c->name, "out_scores")) {
    golden_array expected = golden_read(c->file, c->name, "out_scores");
    double *each = visible_tolerance(c, causal);
    golden_check_floats(c->tally, "out_scores", &expected, logits,
                        (golden_tolerance){.absolute = tolerance, .each = each});
    free(each);
    golden_array_free(&expected);
  }
  golden_array expected = golden_read(c->file, c->name, "out_attention");
  golden_check_floats(c->tally, "out_attention", &expected, weights, (golden_tolerance){.absolute = tolerance});
  golden_array_free(&expected);
  free(weights);
  free(logits);
  free(k_rotated);
  free(q_rotated);
  return context;
}

static void compare_y(const struct attention_case *c, const float *y) {
  golden_array expected = golden_read(c->file, c->name, "out_y");
  golden_check_floats(c->tally, "out_y", &expected, y, (golden_tolerance){.absolute = tolerance});
  golden_array_free(&expected);
}

static float *read_floats(const struct attention_case *c, const char *dataset) {
  golden_array array = golden_read(c->file, c->name, dataset);
  float *floats = golden_floats(&array);
  golden_array_free(&array);
  return floats;
}

/* ---- the three kinds of case --------------------------------------------------------------------------------------
 */

/* core_*: q, k, v are given. */
static void check_core(const struct attention_case *c, bool reference) {
  float *q = read_floats(c, "in_q"), *k = read_floats(c, "in_k"), *v = read_floats(c, "in_v");
  float *context = attend(c, q, k, v, reference);
  compare_y(c, context);
  free(context);
  free(v);
  free(k);
  free(q);
}

/* x [nk][d_model], with what the scheme adds */
static float *embedded(const struct attention_case *c) {
  float *x = read_floats(c, "in_x");
  if (c->fixture && (c->fixture->scheme->sites & PE_SITE_EMBED)) {
    assert_int_equal(plugin_fixture_embed(c->fixture, (double)c->nk, c->nk, c->positions, x), PE_OK);
  }
  return x;
}

/* course_*: one head, identity projections. */
static void check_course(const struct attention_case *c, bool reference) {
  float *x = embedded(c);
  float *context = attend(c, x, x, x, reference);
  compare_y(c, context);
  free(context);
  free(x);
}

/* out [heads][nk][width] = x w + b, w [d_model][heads * width]; in float64, so that the kernel alone is tested */
static float *projected(const struct attention_case *c, const float *x, const char *weight, const char *bias) {
  float *w = read_floats(c, weight), *b = read_floats(c, bias);
  size_t d_model = c->heads * c->width;
  float *out = need_floats(c->nk * d_model);
  for (size_t row = 0; row < c->nk; row++) {
    for (size_t column = 0; column < d_model; column++) {
      double sum = (double)b[column];
      for (size_t i = 0; i < d_model; i++) {
        sum += (double)x[row * d_model + i] * (double)w[i * d_model + column];
      }
      out[(column / c->width * c->nk + row) * c->width + column % c->width] = (float)sum;
    }
  }
  free(b);
  free(w);
  return out;
}

/* layer_*: torch.nn.MultiheadAttention, output projection included. */
static void check_layer(const struct attention_case *c, bool reference) {
  float *x = embedded(c);
  float *q = projected(c, x, "in_w_q", "in_b_q");
  float *k = projected(c, x, "in_w_k", "in_b_k");
  float *v = projected(c, x, "in_w_v", "in_b_v");
  float *context = attend(c, q, k, v, reference);
  size_t d_model = c->heads * c->width;
  float *side_by_side = need_floats(c->nk * d_model);
  for (size_t row = 0; row < c->nk; row++) {
    for (size_t column = 0; column < d_model; column++) {
      side_by_side[row * d_model + column] = context[(column / c->width * c->nk + row) * c->width + column % c->width];
    }
  }
  struct attention_case one_head = *c;
  one_head.heads = 1;
  one_head.width = d_model;
  float *y = projected(&one_head, side_by_side, "in_w_o", "in_b_o");
  compare_y(c, y);
  free(y);
  free(side_by_side);
  free(context);
  free(v);
  free(k);
  free(q);
  free(x);
}

static void sizes_of_case(struct attention_case *c) {
  c->heads = (size_t)golden_number(c->file, c->name, "heads");
  c->kv_heads = (size_t)golden_number_or(c->file, c->name, "kv_heads", (double)c->heads);
  double length = golden_number_or(c->file, c->name, "T", 0.0);
  c->nq = (size_t)golden_number_or(c->file, c->name, "Tq", length);
  c->nk = (size_t)golden_number_or(c->file, c->name, "Tk", length);
  double d_model = golden_number_or(c->file, c->name, "d_model", golden_number_or(c->file, c->name, "d", 0.0));
  c->width = (size_t)golden_number_or(c->file, c->name, "head_dim", d_model / (double)c->heads);
  assert_true(c->nk <= sizeof c->positions / sizeof c->positions[0]);
  for (size_t j = 0; j < c->nk; j++) {
    c->positions[j] = (double)j;
  }
}

static void check_case(struct attention_case *c, const struct scheme *scheme, bool reference) {
  plugin_fixture fixture;
  sizes_of_case(c);
  if (scheme->plugin) {
    plugin_fixture_require(&fixture, scheme->plugin,
                           &(plugin_request){.n_heads = (uint32_t)c->heads,
                                             .n_kv_heads = (uint32_t)c->kv_heads,
                                             .d_model = (uint32_t)(c->heads * c->width),
                                             .head_dim = (uint32_t)c->width,
                                             .settings = scheme->settings,
                                             .n_settings = scheme->n_settings,
                                             .tensors = scheme->tensors,
                                             .n_tensors = scheme->n_tensors});
    c->fixture = &fixture;
  }
  if (golden_case_begins(c->name, "core")) {
    check_core(c, reference);
  } else if (golden_case_begins(c->name, "course")) {
    check_course(c, reference);
  } else {
    check_layer(c, reference);
  }
  if (scheme->plugin) {
    plugin_fixture_close(&fixture);
  }
}

static void test_file(bool reference) {
  golden_file file;
  golden_file_open(&file, "attention.h5");
  golden_tally tally;
  golden_tally_begin(&tally, file.name);
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    struct scheme scheme;
    const char *reason = choose_scheme(&scheme, &file, name);
    if (reason) {
      golden_leave_out(&tally, name, reason);
    } else {
      golden_tally_case(&tally, name);
      check_case(&(struct attention_case){.tally = &tally, .file = &file, .name = name}, &scheme, reference);
    }
    scheme_free(&scheme);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

static void test_kernel(void **state) {
  (void)state;
  test_file(false);
}

static void test_reference(void **state) {
  (void)state;
  test_file(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernel), cmocka_unit_test(test_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
