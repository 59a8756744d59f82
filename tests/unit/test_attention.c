/* The tiled kernel against the float64 reference over many shapes, bits against the number of threads, and cases whose
 * numbers are published or exact. */
#include "attention/attention.h"
#include "attention/product.h"

#include "base/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
/* cmocka.h needs the headers above. */
#include <cmocka.h>

/* ---- one call with all of its memory ------------------------------------------------------------------------------
 */

enum bias_kind { BIAS_NONE, BIAS_CALLBACK, BIAS_BY_DISTANCE };

struct shape {
  size_t heads, kv_heads, nq, nk, width, value_width;
  bool causal;
  int padding; /* 0: none; n: every n-th key, from the first one; -1: all */
  enum bias_kind bias;
  size_t mass_first_row;
  float gain; /* of q; 0: 1 */
};

struct call {
  struct attention_input in;
  struct attention_output out;
  size_t bytes; /* of all outputs together, which begin at out.entropy */
  float *q, *k, *v, *bias;
  uint8_t *padding;
};

static void *need(size_t count, size_t size) {
  struct error err;
  void *memory = memory_new(count, size, "test", &err);
  assert_non_null(memory);
  return memory;
}

/* Numbers in [-1, 1), the same in every run. */
static void fill(float *x, size_t n, uint32_t seed) {
  uint32_t state = seed;
  for (size_t i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    x[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
  }
}

static int add_bias(void *context, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                    size_t s_stride, struct error *err) {
  (void)context;
  (void)err;
  for (size_t i = 0; i < nq; i++) {
    for (size_t j = 0; j < nk; j++) {
      s[i * s_stride + j] +=
          (float)((row + i) * 7 % 5) * 0.25f - (float)((column + j) * 11 % 13) * 0.125f + (float)head;
    }
  }
  return 0;
}

static void call_new(struct call *call, const struct shape *shape) {
  size_t rows = shape->heads * shape->nq, cells = rows * shape->nk, by_distance = shape->heads * shape->nk;
  *call = (struct call){.q = need(rows, shape->width * sizeof(float)),
                        .k = need(shape->kv_heads * shape->nk, shape->width * sizeof(float)),
                        .v = need(shape->kv_heads * shape->nk, shape->value_width * sizeof(float)),
                        .bias = need(shape->heads * (shape->nq + shape->nk), sizeof(float)),
                        .padding = need(shape->nk, 1)};
  fill(call->q, rows * shape->width, 1);
  for (size_t at = 0; at < rows * shape->width; at++) {
    call->q[at] *= shape->gain > 0.0f ? shape->gain : 1.0f;
  }
  fill(call->k, shape->kv_heads * shape->nk * shape->width, 2);
  fill(call->v, shape->kv_heads * shape->nk * shape->value_width, 3);
  fill(call->bias, shape->heads * (shape->nq + shape->nk), 4);
  for (size_t j = 0; j < shape->nk; j++) {
    call->padding[j] = shape->padding && (shape->padding < 0 || j % (size_t)shape->padding == 0);
    for (size_t c = 0; call->padding[j] && c < shape->value_width; c++) {
      /* Masked keys are skipped, not multiplied: what stands there must not matter. */
      call->v[j * shape->value_width + c] = NAN;
      call->k[j * shape->width + c % shape->width] = INFINITY;
    }
  }
  call->in = (struct attention_input){.n_heads = shape->heads,
                                      .n_kv_heads = shape->kv_heads,
                                      .nq = shape->nq,
                                      .nk = shape->nk,
                                      .width = shape->width,
                                      .value_width = shape->value_width,
                                      .q = call->q,
                                      .k = call->k,
                                      .v = call->v,
                                      .scale = 1.0 / sqrt((double)shape->width),
                                      .causal = shape->causal,
                                      .padding_k = shape->padding ? call->padding : NULL,
                                      .bias = shape->bias == BIAS_CALLBACK ? add_bias : NULL,
                                      .bias_by_distance = shape->bias == BIAS_BY_DISTANCE ? call->bias : NULL};
  size_t doubles = 5 * rows + by_distance, floats = 2 * cells + rows * shape->value_width;
  call->bytes = doubles * sizeof(double) + floats * sizeof(float);
  double *d = need(call->bytes, 1);
  float *f = (float *)(d + doubles);
  /* Whatever is not written stays different from any number. */
  memset(d, 0xff, call->bytes);
  call->out = (struct attention_output){.entropy = d,
                                        .log_sum_exp = d + rows,
                                        .max_logit = d + 2 * rows,
                                        .mean_distance = d + 3 * rows,
                                        .mass_on_first = d + 4 * rows,
                                        .mass_by_distance = d + 5 * rows,
                                        .logits = f,
                                        .weights = f + cells,
                                        .context = f + 2 * cells,
                                        .mass_first_row = shape->mass_first_row};
}

static void call_free(struct call *call) {
  free(call->out.entropy);
  free(call->q);
  free(call->k);
  free(call->v);
  free(call->bias);
  free(call->padding);
}

/* ---- against the reference ----------------------------------------------------------------------------------------
 */

static void compare(const char *what, double got, double expected, double allowed, size_t at) {
  bool same = isnan(expected) ? isnan(got) : got == expected || fabs(got - expected) <= allowed;
  if (!same) {
    fail_msg("%s[%zu]: got %.9g, expected %.9g, allowed difference %.2g", what, at, got, expected, allowed);
  }
}

/* Numbers are in [-1, 1] (queries times a gain), so a float32 dot product of `width` terms, however it is summed, is
 * off by at most width * (width + 1) * 2^-24; rounding q * scale, scaling and adding a bias below 8 add a few units
 * more. A logit off by d moves ln sum exp by at most d, a weight by the factor exp(2 d), and an entropy by at most 2 d
 * * ln(nk) + 2 d. */
static void kernel_equals_reference(const struct shape *shape, const struct product_method *product) {
  struct call kernel, reference;
  struct error err = {.code = ERROR_NONE};
  call_new(&kernel, shape);
  call_new(&reference, shape);
  assert_int_equal(attention_run_by(product, &kernel.in, &kernel.out, NULL, &err), 0);
  assert_int_equal(attention_reference(&reference.in, &reference.out, &err), 0);
  double unit = ldexp(1.0, -24), width = (double)shape->width, nk = (double)shape->nk;
  double gain = shape->gain > 0.0f ? (double)shape->gain : 1.0;
  double logit = (width * (width + 4.0) * reference.in.scale * gain + 16.0) * unit;
  double weight = 2.0 * logit + 8.0 * unit, entropy = (2.0 * logit + 8.0 * unit) * (1.0 + log(1.0 + nk));
  size_t rows = shape->heads * shape->nq;
  for (size_t at = 0; at < rows; at++) {
    compare("entropy", kernel.out.entropy[at], reference.out.entropy[at], entropy, at);
    compare("log_sum_exp", kernel.out.log_sum_exp[at], reference.out.log_sum_exp[at], logit + 8.0 * unit, at);
    compare("max_logit", kernel.out.max_logit[at], reference.out.max_logit[at], logit, at);
    compare("mean_distance", kernel.out.mean_distance[at], reference.out.mean_distance[at],
            weight * (nk + (double)shape->nq), at);
    compare("mass_on_first", kernel.out.mass_on_first[at], reference.out.mass_on_first[at], weight, at);
  }
  for (size_t at = 0; at < shape->heads * shape->nk; at++) {
    compare("mass_by_distance", kernel.out.mass_by_distance[at], reference.out.mass_by_distance[at], weight, at);
  }
  for (size_t at = 0; at < rows * shape->nk; at++) {
    compare("logits", (double)kernel.out.logits[at], (double)reference.out.logits[at], logit, at);
    compare("weights", (double)kernel.out.weights[at], (double)reference.out.weights[at], weight, at);
  }
  for (size_t at = 0; at < rows * shape->value_width; at++) {
    compare("context", (double)kernel.out.context[at], (double)reference.out.context[at], weight + nk * unit, at);
  }
  call_free(&kernel);
  call_free(&reference);
}

static void kernel_equals_reference_over_shapes(void **state) {
  (void)state;
  static const size_t sizes[][2] = {{1, 1},     {1, 0},     {1, 7},     {3, 3},    {5, 8},
                                    {2, 6},     {33, 33},   {1, 300},   {32, 128}, {127, 129},
                                    {200, 200}, {31, 1000}, {257, 257}, {40, 17},  {18, 1300}};
  static const size_t widths[][2] = {{2, 2}, {5, 3}, {64, 64}, {1, 7}, {80, 16}};
  size_t round = 0;
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
      for (int causal = 0; causal < 2; causal++) {
        for (int bias = BIAS_NONE; bias <= BIAS_BY_DISTANCE; bias++) {
          static const int paddings[] = {0, 2, 5, -1};
          struct shape shape = {.heads = round % 3 == 0 ? 1 : 4,
                                .kv_heads = round % 3 == 2 ? 2 : 1,
                                .nq = sizes[s][0],
                                .nk = sizes[s][1],
                                .width = widths[w][0],
                                .value_width = widths[w][1],
                                .causal = causal == 1,
                                .padding = paddings[round % 4],
                                .bias = (enum bias_kind)bias,
                                .mass_first_row = round % 5 == 0 ? sizes[s][0] / 2 : 0,
                                .gain = round % 2 == 0 ? 1.0f : 24.0f};
          kernel_equals_reference(&shape, product_float32());
          kernel_equals_reference(&shape, product_best());
          round++;
        }
      }
    }
  }
}

/* ---- bits ---------------------------------------------------------------------------------------------------------
 */

/* Short heads are units of the pool, long ones are cut into chunks. */
static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  for (size_t round = 0; round < 2 * 2 * 3; round++) {
    bool causal = round % 2 == 1, is_long = round / 2 % 2 == 1;
    struct shape shape = {.heads = 3,
                          .kv_heads = is_long ? 3 : 1,
                          .nq = is_long ? 300 : 417,
                          .nk = is_long ? 1100 : 500,
                          .width = 24,
                          .value_width = 10,
                          .causal = causal,
                          .bias = (enum bias_kind)(round / 4),
                          .padding = causal ? 3 : 0};
    struct call one;
    struct error err;
    call_new(&one, &shape);
    assert_int_equal(attention_run(&one.in, &one.out, NULL, &err), 0);
    for (unsigned threads = 1; threads <= 4; threads++) {
      struct pool *pool = pool_new(threads, &err);
      assert_non_null(pool);
      struct call other;
      call_new(&other, &shape);
      assert_int_equal(attention_run(&other.in, &other.out, pool, &err), 0);
      assert_memory_equal(one.out.entropy, other.out.entropy, one.bytes);
      call_free(&other);
      pool_free(pool);
    }
    call_free(&one);
  }
}

/* What is asked for together with it does not change a number. */
static void outputs_do_not_depend_on_each_other(void **state) {
  (void)state;
  struct shape shape = {.heads = 2, .kv_heads = 1, .nq = 70, .nk = 140, .width = 16, .value_width = 4, .causal = true};
  struct call all, some;
  struct error err;
  call_new(&all, &shape);
  call_new(&some, &shape);
  assert_int_equal(attention_run(&all.in, &all.out, NULL, &err), 0);
  struct attention_output only = {.mass_by_distance = some.out.mass_by_distance};
  assert_int_equal(attention_run(&some.in, &only, NULL, &err), 0);
  only = (struct attention_output){.entropy = some.out.entropy, .log_sum_exp = some.out.log_sum_exp};
  assert_int_equal(attention_run(&some.in, &only, NULL, &err), 0);
  only = (struct attention_output){.max_logit = some.out.max_logit, .weights = some.out.weights};
  assert_int_equal(attention_run(&some.in, &only, NULL, &err), 0);
  only = (struct attention_output){.context = some.out.context, .logits = some.out.logits};
  assert_int_equal(attention_run(&some.in, &only, NULL, &err), 0);
  only = (struct attention_output){.mean_distance = some.out.mean_distance, .mass_on_first = some.out.mass_on_first};
  assert_int_equal(attention_run(&some.in, &only, NULL, &err), 0);
  assert_memory_equal(all.out.entropy, some.out.entropy, all.bytes);
  call_free(&all);
  call_free(&some);
}

/* Infinity is no sum of bfloat16, and 2^56 is the first number that is refused: the whole call is made in float32. */
static void what_does_not_fit_takes_float32(void **state) {
  (void)state;
  static const float values[] = {0x1p50f, 0x1p60f, INFINITY, NAN};
  struct shape shape = {.heads = 2, .kv_heads = 1, .nq = 70, .nk = 400, .width = 16, .value_width = 4, .causal = true};
  for (size_t i = 0; i < 2 * sizeof values / sizeof values[0]; i++) {
    struct call by_float32, by_best;
    struct error err;
    call_new(&by_float32, &shape);
    call_new(&by_best, &shape);
    for (int which = 0; which < 2; which++) {
      struct call *call = which ? &by_best : &by_float32;
      float *x = i % 2 ? call->q : call->k;
      x[shape.width * 69 + 3] = values[i / 2];
    }
    assert_int_equal(attention_run_by(product_float32(), &by_float32.in, &by_float32.out, NULL, &err), 0);
    assert_int_equal(attention_run_by(product_best(), &by_best.in, &by_best.out, NULL, &err), 0);
    if (i / 2 > 0 || !product_split()) {
      assert_memory_equal(by_float32.out.entropy, by_best.out.entropy, by_best.bytes);
    } else {
      assert_memory_not_equal(by_float32.out.logits, by_best.out.logits, shape.nk * sizeof(float));
    }
    call_free(&by_float32);
    call_free(&by_best);
  }
}

/* By the calling convention a callback may use the tile registers, and leaves them released. */
#if defined(__x86_64__)
__attribute__((target("amx-tile"))) static void use_tiles(void) {
  /* Palette 1; eight tiles of one row of four bytes. */
  static const uint8_t small[64] __attribute__((aligned(64))) = {
      [0] = 1,  [16] = 4, [18] = 4, [20] = 4, [22] = 4, [24] = 4, [26] = 4, [28] = 4, [30] = 4,
      [48] = 1, [49] = 1, [50] = 1, [51] = 1, [52] = 1, [53] = 1, [54] = 1, [55] = 1};
  _tile_loadconfig(small);
  _tile_zero(0);
  _tile_zero(2);
  _tile_release();
}
#else
static void use_tiles(void) {
}
#endif

static int add_bias_with_tiles(void *context, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                               size_t s_stride, struct error *err) {
  use_tiles();
  return add_bias(context, head, row, nq, column, nk, s, s_stride, err);
}

static void a_callback_may_use_tiles(void **state) {
  (void)state;
  if (!product_split()) {
    skip();
  }
  struct shape shape = {
      .heads = 2, .kv_heads = 1, .nq = 200, .nk = 700, .width = 64, .value_width = 4, .bias = BIAS_CALLBACK};
  struct call plain, tiles;
  struct error err;
  call_new(&plain, &shape);
  call_new(&tiles, &shape);
  tiles.in.bias = add_bias_with_tiles;
  assert_int_equal(attention_run_by(product_split(), &plain.in, &plain.out, NULL, &err), 0);
  assert_int_equal(attention_run_by(product_split(), &tiles.in, &tiles.out, NULL, &err), 0);
  assert_memory_equal(plain.out.entropy, tiles.out.entropy, tiles.bytes);
  call_free(&plain);
  call_free(&tiles);
}

/* ---- known numbers ------------------------------------------------------------------------------------------------
 */

/* ALiBi with 8 heads: slopes 2^-1 .. 2^-8 (Press et al. 2022), bias -slope * |i - j|. */
static int add_alibi(void *context, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                     size_t s_stride, struct error *err) {
  (void)err;
  const size_t *first_query = context; /* position of query row 0 */
  for (size_t i = 0; i < nq; i++) {
    for (size_t j = 0; j < nk; j++) {
      double distance = fabs((double)(*first_query + row + i) - (double)(column + j));
      s[i * s_stride + j] -= (float)(distance * ldexp(1.0, -(int)head - 1));
    }
  }
  return 0;
}

static void check_alibi(size_t nq, bool causal, size_t row, const double expected[4]) {
  struct call call;
  struct shape shape = {.heads = 8, .kv_heads = 8, .nq = nq, .nk = 4, .width = 4, .value_width = 1, .causal = causal};
  struct error err;
  call_new(&call, &shape);
  memset(call.q, 0, 8 * nq * 4 * sizeof(float));
  memset(call.k, 0, 8 * (size_t)4 * 4 * sizeof(float));
  size_t first_query = 4 - nq;
  call.in.bias = add_alibi;
  call.in.bias_context = &first_query;
  for (int reference = 0; reference < 2; reference++) {
    assert_int_equal(
        reference ? attention_reference(&call.in, &call.out, &err) : attention_run(&call.in, &call.out, NULL, &err), 0);
    for (size_t j = 0; j < 4; j++) {
      compare("alibi weights", (double)call.out.weights[row * 4 + j], expected[j], 1e-7, j);
    }
  }
  call_free(&call);
}

/* Without a causal mask the first query prefers its own end, not the last keys; and one query at the end of four keys
 * is the last row of the full run. Softmax of -d / 2 over d = 0 .. 3. */
static void alibi_rows(void **state) {
  (void)state;
  static const double falling[4] = {.4550542339, .2760043447, .1674050973, .1015363241};
  static const double rising[4] = {.1015363241, .1674050973, .2760043447, .4550542339};
  check_alibi(4, false, 0, falling);
  check_alibi(4, false, 3, rising);
  check_alibi(4, true, 3, rising);
  check_alibi(1, true, 0, rising);
}

/* Padding and causal mask together empty the first row only: zeros there, and the others as without that row. */
static void empty_rows_are_zero(void **state) {
  (void)state;
  struct shape shape = {.heads = 1, .kv_heads = 1, .nq = 3, .nk = 3, .width = 2, .value_width = 2, .causal = true};
  for (int reference = 0; reference < 2; reference++) {
    for (int all = 0; all < 2; all++) {
      struct call call;
      struct error err;
      call_new(&call, &shape);
      uint8_t padding[3] = {1, (uint8_t)all, (uint8_t)all};
      call.in.padding_k = padding;
      assert_int_equal(reference ? attention_reference(&call.in, &call.out, &err)
                                 : attention_run(&call.in, &call.out, NULL, &err),
                       0);
      size_t empty = 1 + 2 * (size_t)all;
      for (size_t i = 0; i < empty; i++) {
        assert_true(call.out.entropy[i] == 0.0 && call.out.mean_distance[i] == 0.0 && call.out.mass_on_first[i] == 0.0);
        assert_true(call.out.log_sum_exp[i] == -(double)INFINITY && call.out.max_logit[i] == -(double)INFINITY);
        assert_true(call.out.context[2 * i] == 0.0f && call.out.context[2 * i + 1] == 0.0f);
      }
      for (size_t at = 0; at < 9; at++) {
        assert_true(call.out.weights[at] >= 0.0f);
        assert_true(at / 3 >= empty || call.out.weights[at] == 0.0f);
      }
      if (!all) {
        assert_true(call.out.weights[4] == 1.0f && call.out.weights[3] == 0.0f && call.out.weights[5] == 0.0f);
        compare("sum of the last row", (double)call.out.weights[7] + (double)call.out.weights[8], 1.0, 1e-7, 0);
      }
      double mass = call.out.mass_by_distance[0] + call.out.mass_by_distance[1] + call.out.mass_by_distance[2];
      compare("mass", mass, all ? 0.0 : 2.0 / 3.0, 1e-7, 0);
      call_free(&call);
    }
  }
}

/* The worked example: X = (1,0), (0,1), (1,1), identity projections, no scaling. Row 0 of the weights and of the
 * output, from PyTorch (course_full of attention.h5). */
static void worked_example(void **state) {
  (void)state;
  static const float x[6] = {1, 0, 0, 1, 1, 1};
  static const double weights[3] = {0.42231880, 0.15536240, 0.42231880}, y[2] = {0.84463760, 0.57768120};
  struct shape shape = {.heads = 1, .kv_heads = 1, .nq = 3, .nk = 3, .width = 2, .value_width = 2};
  struct call call;
  struct error err;
  call_new(&call, &shape);
  call.in.q = call.in.k = call.in.v = x;
  call.in.scale = 1.0;
  assert_int_equal(attention_run(&call.in, &call.out, NULL, &err), 0);
  for (size_t j = 0; j < 3; j++) {
    compare("weights", (double)call.out.weights[j], weights[j], 1e-7, j);
  }
  for (size_t c = 0; c < 2; c++) {
    compare("context", (double)call.out.context[c], y[c], 1e-7, c);
  }
  call_free(&call);
}

/* Logits far apart and far from zero neither overflow nor vanish; a bias of -infinity hides a key like a mask. */
static void extreme_logits(void **state) {
  (void)state;
  for (int reference = 0; reference < 2; reference++) {
    float q[1] = {1.0f}, k[4] = {-3e38f, 3e38f, 3e38f, 1e4f}, v[4] = {1, 2, 3, 4}, context[1];
    float bias[4] = {0, 0, -INFINITY, 0}; /* element i - j + 3: of keys 3, 2, 1, 0 */
    double entropy[1], log_sum_exp[1];
    struct attention_input in = {.n_heads = 1,
                                 .n_kv_heads = 1,
                                 .nq = 1,
                                 .nk = 4,
                                 .width = 1,
                                 .value_width = 1,
                                 .q = q,
                                 .k = k,
                                 .v = v,
                                 .scale = 1.0};
    struct attention_output out = {.context = context, .entropy = entropy, .log_sum_exp = log_sum_exp};
    struct error err;
    assert_int_equal(reference ? attention_reference(&in, &out, &err) : attention_run(&in, &out, NULL, &err), 0);
    compare("context", (double)context[0], 2.5, 0.0, 0);
    compare("entropy", entropy[0], log(2.0), 1e-7, 0);
    compare("log_sum_exp", log_sum_exp[0], (double)3e38f, 0.0, 0);
    in.bias_by_distance = bias;
    assert_int_equal(reference ? attention_reference(&in, &out, &err) : attention_run(&in, &out, NULL, &err), 0);
    compare("context", (double)context[0], 3.0, 0.0, 0);
    compare("entropy", entropy[0], 0.0, 0.0, 0);
  }
}

/* Whatever stands beside logits that are no numbers: the search for a row's reference ends. */
static void no_numbers_end(void **state) {
  (void)state;
  enum { KEYS = 300 };
  for (int where = 0; where < 32; where++) {
    float q[1] = {1.0f}, k[KEYS], v[KEYS], context[1];
    for (int j = 0; j < KEYS; j++) {
      k[j] = j % 32 == where || j % 7 == 3 ? NAN : 1000.0f * (float)(KEYS - j % 50);
      v[j] = 1.0f;
    }
    struct attention_input in = {.n_heads = 1,
                                 .n_kv_heads = 1,
                                 .nq = 1,
                                 .nk = KEYS,
                                 .width = 1,
                                 .value_width = 1,
                                 .q = q,
                                 .k = k,
                                 .v = v,
                                 .scale = 1.0};
    struct attention_output out = {.context = context};
    struct error err;
    alarm(20); /* ends the test where it does not */
    assert_int_equal(attention_run(&in, &out, NULL, &err), 0);
    alarm(0);
  }
}

/* ---- errors and memory --------------------------------------------------------------------------------------------
 */

static int refuse_from_row(void *context, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                           size_t s_stride, struct error *err) {
  (void)s;
  (void)s_stride;
  (void)nk;
  const size_t *first = context;
  if (head == 1 && row + nq > *first && column == 0) {
    return error_set(err, ERROR_UNDEFINED, "no bias from row %zu", row < *first ? *first : row);
  }
  return 0;
}

static void bias_errors_come_back(void **state) {
  (void)state;
  struct shape shape = {.heads = 3, .kv_heads = 1, .nq = 600, .nk = 600, .width = 4, .value_width = 1, .causal = true};
  for (unsigned threads = 1; threads <= 3; threads++) {
    struct call call;
    struct error err;
    struct pool *pool = pool_new(threads, &err);
    assert_non_null(pool);
    call_new(&call, &shape);
    size_t first = 333;
    call.in.bias = refuse_from_row;
    call.in.bias_context = &first;
    assert_int_equal(attention_run(&call.in, &call.out, pool, &err), ERROR_UNDEFINED);
    assert_string_equal(err.text, "no bias from row 333");
    call_free(&call);
    pool_free(pool);
  }
}

/* 46341 squared does not fit into 32 bits. Every key is the same, so each weight is 1 / 46341 and the mass at distance
 * d of the last rows is exactly that. */
static void long_length(void **state) {
  (void)state;
  enum { N = 46341, ROWS = 3 };
  float *q = need(ROWS, sizeof(float)), *k = need(N, sizeof(float));
  double *mass = need(N, sizeof(double)), entropy[ROWS], distance[ROWS];
  struct attention_input in = {
      .n_heads = 1, .n_kv_heads = 1, .nq = ROWS, .nk = N, .width = 1, .q = q, .k = k, .scale = 1.0};
  struct attention_output out = {.entropy = entropy, .mean_distance = distance, .mass_by_distance = mass};
  out.mass_first_row = ROWS - 1;
  struct error err;
  assert_int_equal(attention_run(&in, &out, NULL, &err), 0);
  compare("entropy", entropy[0], log((double)N), 1e-6, 0);
  compare("mean_distance", distance[ROWS - 1], (N - 1) / 2.0, 0.01, 0);
  for (size_t d = 0; d < N; d++) {
    compare("mass", mass[d] * N, 1.0, 1e-6, d);
  }
  free(q);
  free(k);
  free(mass);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernel_equals_reference_over_shapes),
      cmocka_unit_test(bits_do_not_depend_on_threads),
      cmocka_unit_test(outputs_do_not_depend_on_each_other),
      cmocka_unit_test(what_does_not_fit_takes_float32),
      cmocka_unit_test(a_callback_may_use_tiles),
      cmocka_unit_test(alibi_rows),
      cmocka_unit_test(empty_rows_are_zero),
      cmocka_unit_test(worked_example),
      cmocka_unit_test(extreme_logits),
      cmocka_unit_test(no_numbers_end),
      cmocka_unit_test(bias_errors_come_back),
      cmocka_unit_test(long_length),
  };
  return cmocka_run_group_tests_name("attention", tests, NULL, NULL);
}
