/* The scheme `table`: biases, embeddings and frequencies from a file, each at its own site and none elsewhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bias_check.h"

enum { HEADS = 2, DISTANCES = 40, POSITIONS = 7, WIDTH = 5, HEAD_DIM = 6, PAIRS = 2 };

static float bias_numbers[HEADS][DISTANCES];
static float embedding_numbers[POSITIONS][WIDTH];
static const float frequencies[PAIRS] = {1.0f, 0.015625f};

static const plugin_tensor bias_tensor[] = {
    {.name = "bias", .dims = {.rank = 2, .dim = {HEADS, DISTANCES}}, .data = &bias_numbers[0][0]}};
static const plugin_tensor embedding_tensor[] = {
    {.name = "embedding", .dims = {.rank = 2, .dim = {POSITIONS, WIDTH}}, .data = &embedding_numbers[0][0]}};
static const plugin_tensor frequency_tensor[] = {
    {.name = "inv_freq", .dims = {.rank = 1, .dim = {PAIRS}}, .data = frequencies}};

static int fill_numbers(void **state) {
  (void)state;
  for (size_t i = 0; i < (size_t)HEADS * DISTANCES; i++) {
    bias_numbers[i / DISTANCES][i % DISTANCES] = (float)(i + 1) / 8.0f;
  }
  for (size_t i = 0; i < (size_t)POSITIONS * WIDTH; i++) {
    embedding_numbers[i / WIDTH][i % WIDTH] = (float)(i + 1) / 4.0f;
  }
  return 0;
}

static void open_table(plugin_fixture *table, const plugin_tensor *tensor, const char *key, const char *text) {
  const plugin_setting settings[] = {PLUGIN_TEXT(key, text)};
  plugin_fixture_require(table, "table",
                         &(plugin_request){.n_heads = HEADS,
                                           .d_model = WIDTH,
                                           .head_dim = HEAD_DIM,
                                           .tensors = tensor,
                                           .n_tensors = 1,
                                           .settings = settings,
                                           .n_settings = key ? 1 : 0});
}

/* ---- each at its site ---- */

static void test_bias(void **state) {
  (void)state;
  plugin_fixture table;
  open_table(&table, bias_tensor, NULL, NULL);
  double *pos = bias_positions(-3, 1, DISTANCES);
  float *got = bias_matrix(&table, 0, DISTANCES, pos, DISTANCES, pos);
  for (size_t i = 0; i < (size_t)HEADS * DISTANCES * DISTANCES; i++) {
    const size_t head = i / (DISTANCES * DISTANCES);
    const size_t row = i / DISTANCES % DISTANCES;
    const size_t col = i % DISTANCES;
    assert_true(got[i] == bias_numbers[head][row > col ? row - col : col - row]);
  }
  free(got);
  bias_check_tiles(&table, DISTANCES, 99);
  bias_check_cache(&table, DISTANCES);
  bias_check_relative(&table, DISTANCES);
  bias_check_refusals(&table);
  assert_true(table.domain.max_distance == DISTANCES - 1 && table.domain.integer_only == 1);
  assert_int_equal(table.scheme->traits, 0);
  assert_int_equal(table.scheme->instance_traits(table.instance), PE_TRAIT_RELATIVE);
  plugin_fixture_close(&table);
  open_table(&table, bias_tensor, "distance", "causal");
  got = bias_matrix(&table, 0, DISTANCES, pos, DISTANCES, pos);
  for (size_t i = 0; i < (size_t)HEADS * DISTANCES * DISTANCES; i++) {
    const size_t head = i / (DISTANCES * DISTANCES);
    const size_t row = i / DISTANCES % DISTANCES;
    const size_t col = i % DISTANCES;
    assert_true(got[i] == (row >= col ? bias_numbers[head][row - col] : 0.0f));
  }
  free(got);
  bias_check_tiles(&table, DISTANCES, 98);
  assert_int_equal(table.scheme->instance_traits(table.instance), PE_TRAIT_RELATIVE | PE_TRAIT_CAUSAL_ONLY);
  plugin_fixture_close(&table);
  free(pos);
}

static void test_beyond_the_last_distance(void **state) {
  (void)state;
  plugin_fixture table;
  open_table(&table, bias_tensor, NULL, NULL);
  const double pos_q[] = {DISTANCES - 1, DISTANCES, 0};
  const double pos_k[] = {3, 0, 5};
  float s[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const float before[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  assert_int_equal(plugin_fixture_bias(&table, 0, 0, 3, pos_q, 3, pos_k, NULL, NULL, s), PE_ERR_POS_RANGE);
  assert_int_equal(table.error.where, 1);
  assert_non_null(strstr(table.error.msg, "distance 40"));
  assert_memory_equal(s, before, sizeof s);
  assert_int_equal(plugin_fixture_bias(&table, 0, 0, 1, pos_q, 3, pos_k, NULL, NULL, s), PE_OK);
  /* Ahead of a causal query nothing is looked up, at any distance. */
  plugin_fixture_close(&table);
  open_table(&table, bias_tensor, "distance", "causal");
  const double far[] = {1e6};
  float untouched = 0;
  assert_int_equal(plugin_fixture_bias(&table, 0, 0, 1, pos_k, 1, far, NULL, NULL, &untouched), PE_OK);
  assert_true(untouched == 0);
  assert_int_equal(plugin_fixture_bias(&table, 0, 0, 1, far, 1, pos_k, NULL, NULL, &untouched), PE_ERR_POS_RANGE);
  plugin_fixture_close(&table);
}

static void test_embedding(void **state) {
  (void)state;
  plugin_fixture table;
  open_table(&table, embedding_tensor, NULL, NULL);
  const double pos[] = {6, 0, 3};
  float x[3][WIDTH];
  for (size_t i = 0; i < 3 * WIDTH; i++) {
    x[i / WIDTH][i % WIDTH] = 0.5f;
  }
  assert_int_equal(plugin_fixture_embed(&table, 0, 3, pos, &x[0][0]), PE_OK);
  for (size_t row = 0; row < 3; row++) {
    for (size_t channel = 0; channel < WIDTH; channel++) {
      assert_true(x[row][channel] == 0.5f + embedding_numbers[(size_t)pos[row]][channel]);
    }
  }
  const struct {
    double pos;
    pe_status status;
  } refused[] = {{POSITIONS, PE_ERR_POS_RANGE},
                 {-1, PE_ERR_POS_RANGE},
                 {NAN, PE_ERR_POS_RANGE},
                 {1e300, PE_ERR_POS_RANGE},
                 {2.5, PE_ERR_POS_KIND}};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    const double some[] = {1, refused[i].pos, refused[i].pos};
    float before[3][WIDTH];
    memcpy(before, x, sizeof x);
    assert_int_equal(plugin_fixture_embed(&table, 0, 3, some, &x[0][0]), refused[i].status);
    assert_int_equal(table.error.where, 1);
    assert_memory_equal(x, before, sizeof x);
  }
  assert_int_equal(table.scheme->instance_traits(table.instance), 0);
  assert_true(table.domain.min == 0 && table.domain.max == POSITIONS - 1 && table.domain.integer_only == 1);
  plugin_fixture_close(&table);
}

static void check_turn(const char *layout, size_t first_step, size_t second_from) {
  plugin_fixture table;
  open_table(&table, frequency_tensor, "layout", layout);
  const double pos[] = {0, 1, -2.5, 1000};
  enum { N = 4 };
  float in[HEADS][N][HEAD_DIM];
  float out[HEADS][N][HEAD_DIM];
  for (size_t i = 0; i < sizeof in / sizeof(float); i++) {
    (&in[0][0][0])[i] = (float)((int)(i * 31 % 17) - 8) / 4.0f;
  }
  assert_int_equal(plugin_fixture_qk(&table, PE_ROLE_KEY, HEADS, 0, N, pos, &in[0][0][0], &out[0][0][0]), PE_OK);
  for (size_t head = 0; head < HEADS; head++) {
    for (size_t row = 0; row < N; row++) {
      const float *x = in[head][row];
      const float *y = out[head][row];
      for (size_t pair = 0; pair < PAIRS; pair++) {
        const size_t a = pair * first_step;
        const size_t b = a + second_from;
        const double angle = pos[row] * (double)frequencies[pair];
        assert_true(fabs((double)y[a] - (x[a] * cos(angle) - x[b] * sin(angle))) < 1e-6);
        assert_true(fabs((double)y[b] - (x[a] * sin(angle) + x[b] * cos(angle))) < 1e-6);
      }
      /* Channels past the pairs, and everything at position 0, keep their bits. */
      assert_memory_equal(y + 2 * PAIRS, x + 2 * PAIRS, (HEAD_DIM - 2 * PAIRS) * sizeof *y);
      if (pos[row] == 0) {
        assert_memory_equal(y, x, HEAD_DIM * sizeof *y);
      }
    }
  }
  /* In place. */
  assert_int_equal(plugin_fixture_qk(&table, PE_ROLE_KEY, HEADS, 0, N, pos, &in[0][0][0], &in[0][0][0]), PE_OK);
  assert_memory_equal(in, out, sizeof in);
  plugin_derived inv_freq = plugin_fixture_derived(&table, "inv_freq", 10);
  plugin_derived pairs = plugin_fixture_derived(&table, "pairs", 10);
  assert_int_equal(inv_freq.n, PAIRS);
  assert_int_equal(pairs.n, 2 * PAIRS);
  for (size_t pair = 0; pair < PAIRS; pair++) {
    assert_true(inv_freq.data[pair] == (double)frequencies[pair]);
    assert_true(pairs.data[2 * pair] == (double)(pair * first_step));
    assert_true(pairs.data[2 * pair + 1] == (double)(pair * first_step + second_from));
  }
  free(pairs.data);
  free(inv_freq.data);
  const double bad[] = {0, NAN};
  assert_int_equal(plugin_fixture_qk(&table, PE_ROLE_KEY, 1, 1, 2, bad, &in[0][0][0], &in[1][0][0]), PE_ERR_POS_RANGE);
  assert_int_equal(table.error.where, 1);
  assert_memory_equal(in, out, sizeof in);
  plugin_fixture_close(&table);
}

static void test_frequencies(void **state) {
  (void)state;
  check_turn("half", 1, PAIRS);
  check_turn("interleaved", 2, 1);
}

/* The same frequencies make the same bits as the scheme rope. */
static void test_frequencies_of_rope(void **state) {
  (void)state;
  static const char *const layouts[] = {"half", "interleaved"};
  for (size_t i = 0; i < 2; i++) {
    const plugin_setting layout[] = {PLUGIN_TEXT("layout", layouts[i]), PLUGIN_NUMBER("base", 4096)};
    plugin_fixture rope;
    plugin_fixture_require(&rope, "rope", &(plugin_request){.head_dim = 4, PLUGIN_SETTINGS(layout)});
    plugin_fixture table;
    open_table(&table, frequency_tensor, "layout", layouts[i]);
    /* 4096^0 and 4096^(-1/2) are in float32; rope turns the four channels it has, table the first four of six. */
    double *pos = bias_positions(-2, 1.5, 50);
    float by_rope[50][4];
    float by_table[50][HEAD_DIM];
    for (size_t row = 0; row < 50; row++) {
      for (size_t channel = 0; channel < HEAD_DIM; channel++) {
        by_table[row][channel] = (float)((int)(row * 13 + channel * 5) % 19 - 9) / 8.0f;
      }
      memcpy(by_rope[row], by_table[row], sizeof by_rope[row]);
    }
    assert_int_equal(plugin_fixture_qk(&rope, PE_ROLE_QUERY, 1, 0, 50, pos, &by_rope[0][0], &by_rope[0][0]), PE_OK);
    assert_int_equal(plugin_fixture_qk(&table, PE_ROLE_QUERY, 1, 0, 50, pos, &by_table[0][0], &by_table[0][0]), PE_OK);
    for (size_t row = 0; row < 50; row++) {
      assert_memory_equal(by_rope[row], by_table[row], sizeof by_rope[row]);
    }
    free(pos);
    plugin_fixture_close(&table);
    plugin_fixture_close(&rope);
  }
}

/* ---- and nowhere else ---- */

static void test_sites_not_in_use(void **state) {
  (void)state;
  const plugin_tensor *given[] = {bias_tensor, embedding_tensor, frequency_tensor};
  const double pos[] = {NAN, 1e9}; /* not even looked at */
  for (int which = 0; which < 3; which++) {
    plugin_fixture table;
    open_table(&table, given[which], NULL, NULL);
    float x[2][WIDTH] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}};
    float in[2][HEAD_DIM] = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}};
    float out[2][HEAD_DIM] = {{0}};
    float s[4] = {1, 2, 3, 4};
    if (which != 0) {
      assert_int_equal(plugin_fixture_bias(&table, 0, 1, 2, pos, 2, pos, NULL, NULL, s), PE_OK);
      assert_true(s[0] == 1 && s[1] == 2 && s[2] == 3 && s[3] == 4);
    }
    if (which != 1) {
      assert_int_equal(plugin_fixture_embed(&table, 1, 2, pos, &x[0][0]), PE_OK);
      for (size_t i = 0; i < 2 * WIDTH; i++) {
        assert_true(x[i / WIDTH][i % WIDTH] == (float)(i + 1));
      }
    }
    if (which != 2) {
      assert_int_equal(plugin_fixture_qk(&table, PE_ROLE_QUERY, 1, 1, 2, pos, &in[0][0], &out[0][0]), PE_OK);
      assert_memory_equal(out, in, sizeof in);
      assert_int_equal(table.scheme->derived_count(table.instance, 4), 0);
    }
    plugin_fixture_close(&table);
  }
}

/* ---- what is refused ---- */

static void check_refused(const plugin_tensor *tensors, size_t n_tensors, pe_status status, const char *words) {
  plugin_fixture table;
  assert_int_equal(
      plugin_fixture_open(
          &table, "table",
          &(plugin_request){
              .n_heads = HEADS, .d_model = WIDTH, .head_dim = HEAD_DIM, .tensors = tensors, .n_tensors = n_tensors}),
      status);
  assert_null(table.instance);
  if (!strstr(table.error.msg, words)) {
    fail_msg("'%s' is not in: %s", words, table.error.msg);
  }
  plugin_fixture_close(&table);
}

static void test_refused_tensors(void **state) {
  (void)state;
  static const float some[64] = {0};
  const plugin_tensor two[] = {bias_tensor[0], frequency_tensor[0]};
  check_refused(NULL, 0, PE_ERR_PARAM, "0 are given");
  check_refused(two, 2, PE_ERR_PARAM, "2 are given");
  const struct {
    plugin_tensor tensor;
    const char *words;
  } refused[] = {
      {{.name = "bias", .dims = {.rank = 1, .dim = {8}}, .data = some}, "1 axes"},
      {{.name = "bias", .dims = {.rank = 2, .dim = {3, 8}}, .data = some}, "[3, 8], the model needs [2 heads"},
      {{.name = "bias", .dims = {.rank = 2, .dim = {2, 0}}, .data = some}, "[2, 0]"},
      {{.name = "embedding", .dims = {.rank = 2, .dim = {4, 6}}, .data = some}, "d_model 5"},
      {{.name = "embedding", .dims = {.rank = 2, .dim = {0, 5}}, .data = some}, "empty"},
      {{.name = "inv_freq", .dims = {.rank = 1, .dim = {4}}, .data = some}, "4 pairs"},
      {{.name = "inv_freq", .dims = {.rank = 2, .dim = {1, 2}}, .data = some}, "2 axes"},
  };
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    check_refused(&refused[i].tensor, 1, PE_ERR_SHAPE, refused[i].words);
  }
}

/* ---- gradients ---- */

/* One element of ds at a time lands in its own table entry. */
static void test_bias_gradient(void **state) {
  (void)state;
  plugin_fixture table;
  open_table(&table, bias_tensor, NULL, NULL);
  const double pos_q[] = {4, 9};
  const double pos_k[] = {4, 6, 8};
  float ds[HEADS * 6];
  for (size_t i = 0; i < HEADS * 6; i++) {
    ds[i] = (float)(1u << i);
  }
  float got[HEADS][DISTANCES] = {{0}};
  float *const dw[] = {&got[0][0], NULL, NULL};
  bias_gradient(&table, 2, pos_q, 3, pos_k, ds, dw);
  for (size_t head = 0; head < HEADS; head++) {
    /* Distances 0, 2, 4 of the first query; 5, 3, 1 of the second. */
    static const size_t distances[] = {0, 2, 4, 5, 3, 1};
    for (size_t i = 0; i < 6; i++) {
      assert_true(got[head][distances[i]] == ds[head * 6 + i]);
    }
  }
  plugin_fixture_close(&table);
}

static void test_embedding_gradient(void **state) {
  (void)state;
  plugin_fixture table;
  open_table(&table, embedding_tensor, NULL, NULL);
  const pe_ext_vjp *vjp = table.scheme->extension(PE_EXT_VJP);
  const double pos[] = {2, 5, 2};
  float gradient[3][WIDTH];
  for (size_t i = 0; i < 3 * WIDTH; i++) {
    gradient[i / WIDTH][i % WIDTH] = (float)i;
  }
  float got[POSITIONS][WIDTH] = {{0}};
  float *const dw[] = {NULL, &got[0][0], NULL};
  const pe_rows x = {.struct_size = sizeof x, .role = PE_ROLE_EMBED, .n_heads = 1, .seq_len = 6, .n = 3, .pos = pos};
  pe_rows g = x;
  g.in = &gradient[0][0];
  g.in_stride = WIDTH;
  assert_int_equal(vjp->rows_vjp(table.instance, &x, &g, dw, NULL, NULL), PE_OK);
  for (size_t channel = 0; channel < WIDTH; channel++) {
    assert_true(got[2][channel] == gradient[0][channel] + gradient[2][channel]);
    assert_true(got[5][channel] == gradient[1][channel]);
    assert_true(got[0][channel] == 0);
  }
  plugin_fixture_close(&table);
}

/* dL/d in is the gradient turned back, so turning it forward again gives it; dL/d inv_freq against central differences
 * of the loss sum(g * out) in double. */
static void test_frequency_gradient(void **state) {
  (void)state;
  plugin_fixture table;
  open_table(&table, frequency_tensor, "layout", "half");
  const pe_ext_vjp *vjp = table.scheme->extension(PE_EXT_VJP);
  enum { N = 3 };
  const double pos[N] = {1, 4.5, -2};
  float in[N][HEAD_DIM];
  float gradient[N][HEAD_DIM];
  float back[N][HEAD_DIM];
  for (size_t i = 0; i < N * HEAD_DIM; i++) {
    in[i / HEAD_DIM][i % HEAD_DIM] = (float)((int)(i * 5 % 11) - 5) / 4.0f;
    gradient[i / HEAD_DIM][i % HEAD_DIM] = (float)((int)(i * 7 % 13) - 6) / 8.0f;
  }
  const pe_rows x = {.struct_size = sizeof x,
                     .role = PE_ROLE_QUERY,
                     .n_heads = 1,
                     .seq_len = 6,
                     .n = N,
                     .pos = pos,
                     .in = &in[0][0],
                     .in_stride = HEAD_DIM,
                     .in_head_stride = N * HEAD_DIM};
  pe_rows g = x;
  g.in = &gradient[0][0];
  g.out = &back[0][0];
  g.out_stride = HEAD_DIM;
  g.out_head_stride = N * HEAD_DIM;
  float got[PAIRS] = {0};
  float *const dw[] = {NULL, NULL, got};
  assert_int_equal(vjp->rows_vjp(table.instance, &x, &g, dw, NULL, NULL), PE_OK);
  assert_int_equal(plugin_fixture_qk(&table, PE_ROLE_QUERY, 1, 6, N, pos, &back[0][0], &back[0][0]), PE_OK);
  for (size_t i = 0; i < N * HEAD_DIM; i++) {
    assert_true(fabs((double)back[i / HEAD_DIM][i % HEAD_DIM] - (double)gradient[i / HEAD_DIM][i % HEAD_DIM]) < 1e-6);
  }
  for (size_t pair = 0; pair < PAIRS; pair++) {
    const double step = 1e-5;
    double loss[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
      const double frequency = (double)frequencies[pair] + (side ? step : -step);
      for (size_t row = 0; row < N; row++) {
        const double c = cos(pos[row] * frequency);
        const double s = sin(pos[row] * frequency);
        const double x0 = (double)in[row][pair];
        const double x1 = (double)in[row][pair + PAIRS];
        loss[side] += (double)gradient[row][pair] * (x0 * c - x1 * s);
        loss[side] += (double)gradient[row][pair + PAIRS] * (x0 * s + x1 * c);
      }
    }
    assert_true(fabs((double)got[pair] - (loss[1] - loss[0]) / (2 * step)) < 1e-5);
  }
  plugin_fixture_close(&table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bias),
      cmocka_unit_test(test_beyond_the_last_distance),
      cmocka_unit_test(test_embedding),
      cmocka_unit_test(test_frequencies),
      cmocka_unit_test(test_frequencies_of_rope),
      cmocka_unit_test(test_sites_not_in_use),
      cmocka_unit_test(test_refused_tensors),
      cmocka_unit_test(test_bias_gradient),
      cmocka_unit_test(test_embedding_gradient),
      cmocka_unit_test(test_frequency_gradient),
  };
  return cmocka_run_group_tests(tests, fill_numbers, NULL);
}
