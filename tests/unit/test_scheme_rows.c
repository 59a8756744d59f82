/* The contract of pe/plugin.h, held by every scheme that acts on rows (input, queries, keys), in every variant: splits,
 * aliasing, padding, refusals that leave the output alone, gradients as transposes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin_fixture.h"
#include "test_random.h"

enum { ROWS = 71, HEADS = 3, WIDTH = 24, PAD = 5 };

static const double factors[WIDTH / 2] = {1, 1.1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8};
static const double sections[] = {4, 5, 3};

typedef struct row_variant {
  const char *name, *plugin;
  plugin_setting settings[6];
} row_variant;

#define ORIGINAL(n) PLUGIN_NUMBER("original_max_position_embeddings", n)

static const row_variant variants[] = {
    {"sinusoidal", "sinusoidal", {{.key = NULL}}},
    {"sinusoidal halves", "sinusoidal", {PLUGIN_TEXT("layout", "halves"), PLUGIN_TEXT("frequencies", "tensor2tensor")}},
    {"learned", "learned", {PLUGIN_NUMBER("max_positions", 500), PLUGIN_NUMBER("offset", 2)}},
    {"learned untrained",
     "learned",
     {PLUGIN_NUMBER("max_positions", 100), PLUGIN_TEXT("beyond", "untrained"), PLUGIN_NUMBER("total_positions", 500)}},
    {"learned clamp", "learned", {PLUGIN_NUMBER("max_positions", 50), PLUGIN_TEXT("beyond", "clamp")}},
    {"learned wrap", "learned", {PLUGIN_NUMBER("max_positions", 50), PLUGIN_TEXT("beyond", "wrap")}},
    {"learned zero", "learned", {PLUGIN_NUMBER("max_positions", 50), PLUGIN_TEXT("beyond", "zero")}},
    {"learned interpolate", "learned", {PLUGIN_NUMBER("max_positions", 50), PLUGIN_TEXT("beyond", "interpolate")}},
    {"rope", "rope", {{.key = NULL}}},
    {"rope interleaved partial", "rope", {PLUGIN_TEXT("layout", "interleaved"), PLUGIN_NUMBER("rotary_dim", 10)}},
    {"rope linear", "rope", {PLUGIN_TEXT("scaling", "linear"), PLUGIN_NUMBER("factor", 4)}},
    {"rope ntk", "rope", {PLUGIN_TEXT("scaling", "ntk"), PLUGIN_NUMBER("factor", 4)}},
    {"rope dynamic", "rope", {PLUGIN_TEXT("scaling", "dynamic"), PLUGIN_NUMBER("factor", 4), ORIGINAL(64)}},
    {"rope yarn", "rope", {PLUGIN_TEXT("scaling", "yarn"), PLUGIN_NUMBER("factor", 4), ORIGINAL(64)}},
    {"rope yarn paper",
     "rope",
     {PLUGIN_TEXT("scaling", "yarn"), PLUGIN_NUMBER("factor", 4), ORIGINAL(64), PLUGIN_TEXT("ramp", "paper")}},
    {"rope longrope",
     "rope",
     {PLUGIN_TEXT("scaling", "longrope"), PLUGIN_NUMBER("factor", 4), ORIGINAL(64),
      PLUGIN_LIST("short_factor", factors, WIDTH / 2), PLUGIN_LIST("long_factor", factors, WIDTH / 2)}},
    {"rope llama3",
     "rope",
     {PLUGIN_TEXT("scaling", "llama3"), PLUGIN_NUMBER("factor", 4), ORIGINAL(64), PLUGIN_NUMBER("low_freq_factor", 1),
      PLUGIN_NUMBER("high_freq_factor", 4)}},
    {"rope proportional",
     "rope",
     {PLUGIN_TEXT("scaling", "proportional"), PLUGIN_NUMBER("partial_rotary_factor", 0.3)}},
    {"xpos", "xpos", {{.key = NULL}}},
    {"xpos half", "xpos", {PLUGIN_TEXT("layout", "half"), PLUGIN_TEXT("centre", "floor")}},
    {"rope2d axial", "rope2d", {{.key = NULL}}},
    {"rope2d mrope", "rope2d", {PLUGIN_TEXT("variant", "mrope"), PLUGIN_LIST("mrope_section", sections, 3)}},
};

/* One variant with rows to act on: random whole positions, random values. */
typedef struct row_case {
  plugin_fixture fixture;
  bool embeds;
  size_t heads, axes;
  double length;
  double positions[ROWS * 3];
  float *in; /* [heads][ROWS][WIDTH]; of an embedding what was there before */
} row_case;

static void open_case(row_case *made, const row_variant *variant, uint64_t *random) {
  size_t n = 0;
  while (n < 6 && variant->settings[n].key) {
    n++;
  }
  memset(made, 0, sizeof *made);
  plugin_fixture_require(
      &made->fixture, variant->plugin,
      &(plugin_request){
          .n_heads = HEADS, .d_model = WIDTH, .head_dim = WIDTH, .settings = variant->settings, .n_settings = n});
  made->embeds = (made->fixture.scheme->sites & PE_SITE_EMBED) != 0;
  made->heads = made->embeds ? 1 : HEADS;
  made->axes = made->fixture.domain.pos_axes;
  for (size_t i = 0; i < ROWS * made->axes; i++) {
    made->positions[i] = (double)test_random_count(random, 0, 499);
  }
  made->length = 500;
  made->in = test_random_floats(random, made->heads * ROWS * WIDTH);
  assert_non_null(made->in);
}

static void close_case(row_case *made) {
  free(made->in);
  plugin_fixture_close(&made->fixture);
}

static pe_rows rows_of(const row_case *given, size_t head, size_t n_heads, size_t first, size_t n) {
  return (pe_rows){.struct_size = sizeof(pe_rows),
                   .role = given->embeds ? PE_ROLE_EMBED : PE_ROLE_KEY,
                   .head = (uint32_t)head,
                   .n_heads = (uint32_t)n_heads,
                   .seq_len = given->length,
                   .n = n,
                   .pos = given->positions + first * given->axes};
}

static pe_status call(row_case *given, const pe_rows *rows) {
  void *scratch = plugin_fixture_scratch(&given->fixture, rows->n, rows->n);
  const pe_scheme *scheme = given->fixture.scheme;
  pe_status status = given->embeds ? scheme->embed_add(given->fixture.instance, rows, scratch, &given->fixture.error)
                                   : scheme->qk_apply(given->fixture.instance, rows, scratch, &given->fixture.error);
  free(scratch);
  return status;
}

/* All rows and heads in one call on dense memory: what the other ways of calling are held against. */
static float *whole(row_case *given) {
  size_t n = given->heads * ROWS * WIDTH;
  float *out = malloc(n * sizeof *out);
  assert_non_null(out);
  memcpy(out, given->in, n * sizeof *out);
  pe_rows rows = rows_of(given, 0, given->heads, 0, ROWS);
  rows.in = given->embeds ? NULL : given->in;
  rows.in_stride = rows.out_stride = WIDTH;
  rows.in_head_stride = rows.out_head_stride = (size_t)ROWS * WIDTH;
  rows.out = out;
  assert_int_equal(call(given, &rows), PE_OK);
  return out;
}

static void for_each_variant(void (*check)(row_case *given, const row_variant *variant, uint64_t *random)) {
  uint64_t random = 4711;
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    row_case given;
    open_case(&given, &variants[i], &random);
    check(&given, &variants[i], &random);
    close_case(&given);
  }
}

/* Random cuts of rows and heads, in place, rows PAD apart: the same bits, and nothing between the rows is touched. */
static void check_splits(row_case *given, const row_variant *variant, uint64_t *random) {
  (void)variant;
  const size_t stride = WIDTH + PAD;
  const size_t head_stride = ROWS * stride + 3;
  const float sentinel = -77.25f;
  float *expected = whole(given);
  for (int round = 0; round < 5; round++) {
    size_t n = given->heads * head_stride;
    float *padded = malloc(n * sizeof *padded);
    assert_non_null(padded);
    for (size_t i = 0; i < n; i++) {
      padded[i] = sentinel;
    }
    for (size_t row = 0; row < given->heads * ROWS; row++) {
      memcpy(padded + row / ROWS * head_stride + row % ROWS * stride, given->in + row * WIDTH, WIDTH * sizeof *padded);
    }
    for (size_t head = 0; head < given->heads;) {
      size_t n_heads = test_random_count(random, 1, given->heads - head);
      for (size_t first = 0; first < ROWS;) {
        size_t count = test_random_count(random, 1, ROWS - first);
        pe_rows rows = rows_of(given, head, n_heads, first, count);
        float *block = padded + head * head_stride + first * stride;
        rows.in = given->embeds ? NULL : block;
        rows.out = block;
        rows.in_stride = rows.out_stride = stride;
        rows.in_head_stride = rows.out_head_stride = head_stride;
        assert_int_equal(call(given, &rows), PE_OK);
        first += count;
      }
      head += n_heads;
    }
    for (size_t row = 0; row < given->heads * ROWS; row++) {
      float *at = padded + row / ROWS * head_stride + row % ROWS * stride;
      assert_memory_equal(at, expected + row * WIDTH, WIDTH * sizeof *at);
      for (size_t c = 0; c < WIDTH; c++) {
        at[c] = sentinel;
      }
    }
    for (size_t i = 0; i < n; i++) {
      assert_true(padded[i] == sentinel);
    }
    free(padded);
  }
  free(expected);
}

static void test_splits(void **state) {
  (void)state;
  for_each_variant(check_splits);
}

/* An embedding only adds: on top of x it gives x plus what it gives on top of 0, in one float32 sum. */
static void check_additive(row_case *given, const row_variant *variant, uint64_t *random) {
  (void)variant;
  (void)random;
  if (!given->embeds) {
    return;
  }
  float *on_top = whole(given);
  float *before = given->in;
  given->in = calloc(ROWS * WIDTH, sizeof *given->in);
  assert_non_null(given->in);
  float *alone = whole(given);
  for (size_t i = 0; i < ROWS * WIDTH; i++) {
    assert_true(on_top[i] == before[i] + alone[i]);
  }
  free(on_top);
  free(alone);
  free(before);
}

static void test_additive(void **state) {
  (void)state;
  for_each_variant(check_additive);
}

/* No rows: nothing is read, not even the pointers. */
static void check_empty(row_case *given, const row_variant *variant, uint64_t *random) {
  (void)variant;
  (void)random;
  pe_rows rows = rows_of(given, 0, given->heads, 0, 0);
  rows.pos = NULL;
  assert_int_equal(call(given, &rows), PE_OK);
}

static void test_empty(void **state) {
  (void)state;
  for_each_variant(check_empty);
}

static void expect_refusal(row_case *given, size_t row, double position, pe_status expected) {
  double kept = given->positions[row * given->axes];
  given->positions[row * given->axes] = position;
  size_t bytes = given->heads * ROWS * WIDTH * sizeof(float);
  float *out = malloc(bytes);
  assert_non_null(out);
  memset(out, 0x3c, bytes);
  float *untouched = malloc(bytes);
  assert_non_null(untouched);
  memcpy(untouched, out, bytes);
  pe_rows rows = rows_of(given, 0, given->heads, 0, ROWS);
  rows.in = given->embeds ? NULL : given->in;
  rows.in_stride = rows.out_stride = WIDTH;
  rows.in_head_stride = rows.out_head_stride = (size_t)ROWS * WIDTH;
  rows.out = out;
  assert_int_equal(call(given, &rows), expected);
  assert_int_equal(given->fixture.error.where, row);
  assert_memory_equal(out, untouched, bytes);
  /* pe_error may be absent. */
  void *scratch = plugin_fixture_scratch(&given->fixture, ROWS, ROWS);
  const pe_scheme *scheme = given->fixture.scheme;
  assert_int_equal(
      (given->embeds ? scheme->embed_add : scheme->qk_apply)(given->fixture.instance, &rows, scratch, NULL), expected);
  free(scratch);
  free(untouched);
  free(out);
  given->positions[row * given->axes] = kept;
}

/* Positions that are no numbers, or outside the domain, are refused: the index of the row is told, and no row is
 * written. */
static void check_refusals(row_case *given, const row_variant *variant, uint64_t *random) {
  (void)random;
  expect_refusal(given, 40, (double)NAN, PE_ERR_POS_RANGE);
  expect_refusal(given, ROWS - 1, INFINITY, PE_ERR_POS_RANGE);
  expect_refusal(given, 0, -INFINITY, PE_ERR_POS_RANGE);
  if (strcmp(variant->plugin, "learned") != 0) {
    expect_refusal(given, 35, 9007199254740994.0, PE_ERR_POS_RANGE);
    return;
  }
  expect_refusal(given, 33, -3, PE_ERR_POS_RANGE);
  if (given->fixture.domain.integer_only) {
    expect_refusal(given, 34, 7.5, PE_ERR_POS_KIND);
  }
  if (given->fixture.domain.max < 1000) {
    expect_refusal(given, 34, given->fixture.domain.max + 1, PE_ERR_POS_RANGE);
  }
}

static void test_refusals(void **state) {
  (void)state;
  for_each_variant(check_refusals);
}

/* What breaks the contract is told apart from a position that has no value. */
static void check_arguments(row_case *given, const row_variant *variant, uint64_t *random) {
  (void)variant;
  (void)random;
  pe_rows rows = rows_of(given, 0, given->heads, 0, ROWS);
  rows.in = given->in;
  rows.out = given->in;
  rows.in_stride = rows.out_stride = WIDTH;
  rows.in_head_stride = rows.out_head_stride = (size_t)ROWS * WIDTH;
  pe_rows wrong = rows;
  wrong.role = given->embeds ? PE_ROLE_QUERY : PE_ROLE_EMBED;
  assert_int_equal(call(given, &wrong), PE_ERR_ARGUMENT);
  wrong = rows;
  wrong.pos = NULL;
  assert_int_equal(call(given, &wrong), PE_ERR_ARGUMENT);
  wrong = rows;
  wrong.out = NULL;
  assert_int_equal(call(given, &wrong), PE_ERR_ARGUMENT);
  if (!given->embeds) {
    wrong = rows;
    wrong.head = 1;
    assert_int_equal(call(given, &wrong), PE_ERR_ARGUMENT);
    wrong = rows;
    wrong.layer = 1;
    assert_int_equal(call(given, &wrong), PE_ERR_ARGUMENT);
  }
  const pe_scheme *scheme = given->fixture.scheme;
  assert_null(scheme->extension("pe.unknown/1"));
  scheme->destroy(NULL);
}

static void test_arguments(void **state) {
  (void)state;
  for_each_variant(check_arguments);
}

/* An instance uses the length exactly where its traits say so. */
static void check_length(row_case *given, const row_variant *variant, uint64_t *random) {
  (void)random;
  const pe_scheme *scheme = given->fixture.scheme;
  uint32_t traits = scheme->traits;
  if (PE_HAS(scheme, pe_scheme, instance_traits)) {
    traits = scheme->instance_traits(given->fixture.instance);
    assert_int_equal(traits & scheme->traits, scheme->traits);
  }
  float *at_500 = whole(given);
  given->length = 700;
  float *at_700 = whole(given);
  /* longrope's two lists are the same here; that they are told apart is in golden_rope_scaled. */
  bool same = memcmp(at_500, at_700, given->heads * ROWS * WIDTH * sizeof *at_500) == 0;
  if (strcmp(variant->name, "rope longrope") != 0) {
    assert_int_equal(same, !(traits & PE_TRAIT_LENGTH_DEPENDENT));
  }
  free(at_500);
  free(at_700);
}

static void test_length(void **state) {
  (void)state;
  for_each_variant(check_length);
}

/* Relative schemes: a product of query and key at p + shift is that at p. */
static double product_at(row_case *given, double shift, size_t query, size_t key) {
  double kept[ROWS * 3];
  memcpy(kept, given->positions, sizeof kept);
  for (size_t i = 0; i < ROWS * given->axes; i++) {
    given->positions[i] += shift;
  }
  float *out_q = malloc(WIDTH * sizeof *out_q);
  float *out_k = malloc(WIDTH * sizeof *out_k);
  assert_non_null(out_q);
  assert_non_null(out_k);
  pe_rows rows = rows_of(given, 0, 1, query, 1);
  rows.role = PE_ROLE_QUERY;
  rows.in = given->in + query * WIDTH;
  rows.in_stride = rows.out_stride = WIDTH;
  rows.out = out_q;
  assert_int_equal(call(given, &rows), PE_OK);
  rows = rows_of(given, 0, 1, key, 1);
  rows.in = given->in + key * WIDTH;
  rows.in_stride = rows.out_stride = WIDTH;
  rows.out = out_k;
  assert_int_equal(call(given, &rows), PE_OK);
  double product = 0;
  for (size_t c = 0; c < WIDTH; c++) {
    product += (double)out_q[c] * (double)out_k[c];
  }
  free(out_q);
  free(out_k);
  memcpy(given->positions, kept, sizeof kept);
  return product;
}

static void check_relative(row_case *given, const row_variant *variant, uint64_t *random) {
  (void)variant;
  if (!(given->fixture.scheme->traits & PE_TRAIT_RELATIVE)) {
    return;
  }
  for (int round = 0; round < 50; round++) {
    size_t query = test_random_count(random, 0, ROWS - 1);
    size_t key = test_random_count(random, 0, ROWS - 1);
    double shift = (double)test_random_count(random, 1, 3000);
    double expected = product_at(given, 0, query, key);
    double got = product_at(given, shift, query, key);
    /* Each side's channels are within 3e-7 |x|, |x| <= 2, of the exact ones, times the factors of yarn, longrope (1.1^2
     * here) and xPos (1/0.2857^(500/512) at most); shifts keep a distance's factor, not its two parts. */
    assert_true(fabs(got - expected) <= 2 * WIDTH * 2 * 2 * 3e-7 * 4);
  }
}

static void test_relative(void **state) {
  (void)state;
  for_each_variant(check_relative);
}

/* Gradients. What every scheme here does to a row is linear in the row (a rotation) or in the table (a lookup), so its
 * vector-Jacobian product is the transpose: <g, A x> = <A' g, x>, up to float32 rounding of both. */
static void check_gradient(row_case *given, const row_variant *variant, uint64_t *random) {
  (void)variant;
  const pe_ext_vjp *vjp = given->fixture.scheme->extension(PE_EXT_VJP);
  assert_non_null(vjp);
  assert_null(vjp->bias_vjp);
  size_t n = given->heads * ROWS * WIDTH;
  float *g = test_random_floats(random, n);
  float *back = calloc(n, sizeof *back);
  assert_non_null(g);
  assert_non_null(back);
  const pe_dims *dims = &given->fixture.dims[0];
  size_t n_table = given->fixture.scheme->n_tensors ? dims->dim[0] * dims->dim[1] : 0;
  float *table = calloc(n_table + 1, sizeof *table);
  assert_non_null(table);
  float *const dw[] = {table};

  pe_rows x = rows_of(given, 0, given->heads, 0, ROWS);
  x.in = given->embeds ? NULL : given->in;
  x.in_stride = WIDTH;
  x.in_head_stride = (size_t)ROWS * WIDTH;
  pe_rows gradient = x;
  gradient.in = g;
  gradient.out = given->embeds ? NULL : back;
  gradient.out_stride = WIDTH;
  gradient.out_head_stride = (size_t)ROWS * WIDTH;
  void *scratch = plugin_fixture_scratch(&given->fixture, ROWS, ROWS);
  assert_int_equal(
      vjp->rows_vjp(given->fixture.instance, &x, &gradient, n_table ? dw : NULL, scratch, &given->fixture.error),
      PE_OK);
  if (given->embeds) {
    memset(given->in, 0, n * sizeof *given->in);
  }
  float *forward = whole(given);
  double by_forward = 0;
  double by_gradient = 0;
  double magnitude = 0;
  for (size_t i = 0; i < n; i++) {
    by_forward += (double)g[i] * (double)forward[i];
    by_gradient += (double)back[i] * (double)given->in[i];
    magnitude += fabs((double)g[i] * (double)forward[i]);
  }
  for (size_t i = 0; i < n_table; i++) {
    by_gradient += (double)table[i] * (double)given->fixture.bound[0][i];
  }
  if (n_table || !given->embeds) {
    assert_true(fabs(by_forward - by_gradient) <= 1e-6 * magnitude);
    assert_true(fabs(by_forward) > 1e-6 * magnitude);
  }
  /* A gradient that is not wanted. */
  float *const none[] = {NULL};
  assert_int_equal(
      vjp->rows_vjp(given->fixture.instance, &x, &gradient, n_table ? none : NULL, scratch, &given->fixture.error),
      PE_OK);
  free(forward);
  free(scratch);
  free(table);
  free(back);
  free(g);
}

static void test_gradient(void **state) {
  (void)state;
  for_each_variant(check_gradient);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_splits),   cmocka_unit_test(test_additive),  cmocka_unit_test(test_empty),
      cmocka_unit_test(test_refusals), cmocka_unit_test(test_arguments), cmocka_unit_test(test_length),
      cmocka_unit_test(test_relative), cmocka_unit_test(test_gradient),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
