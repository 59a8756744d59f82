/* Decoding with a cache of keys that were turned when they came in: where it equals turning everything at once, and the
 * first length at which it does not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin_fixture.h"
#include "test_random.h"

enum { TOKENS = 48, HEADS = 2, WIDTH = 16, ORIGINAL_LENGTH = 20 };

static const double short_factor[WIDTH / 2] = {1, 1, 1, 1.1, 1.2, 1.3, 1.4, 1.5};
static const double long_factor[WIDTH / 2] = {1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5};
static const double sections[] = {3, 3, 2};

typedef struct cached_variant {
  const char *name, *plugin;
  plugin_setting settings[6];
  size_t differs_from; /* first length at which a cached key is not what the full run has; 0: none up to TOKENS */
} cached_variant;

#define ORIGINAL PLUGIN_NUMBER("original_max_position_embeddings", ORIGINAL_LENGTH)

static const cached_variant variants[] = {
    {.name = "rope", .plugin = "rope"},
    {.name = "rope partial",
     .plugin = "rope",
     .settings = {PLUGIN_NUMBER("rotary_dim", 8), PLUGIN_TEXT("layout", "interleaved")}},
    {.name = "linear", .plugin = "rope", .settings = {PLUGIN_TEXT("scaling", "linear"), PLUGIN_NUMBER("factor", 4)}},
    {.name = "ntk", .plugin = "rope", .settings = {PLUGIN_TEXT("scaling", "ntk"), PLUGIN_NUMBER("factor", 4)}},
    {.name = "yarn",
     .plugin = "rope",
     .settings = {PLUGIN_TEXT("scaling", "yarn"), PLUGIN_NUMBER("factor", 4), ORIGINAL}},
    {.name = "llama3",
     .plugin = "rope",
     .settings = {PLUGIN_TEXT("scaling", "llama3"), PLUGIN_NUMBER("factor", 4), ORIGINAL,
                  PLUGIN_NUMBER("low_freq_factor", 1), PLUGIN_NUMBER("high_freq_factor", 4)}},
    {.name = "proportional",
     .plugin = "rope",
     .settings = {PLUGIN_TEXT("scaling", "proportional"), PLUGIN_NUMBER("partial_rotary_factor", 0.5)}},
    {.name = "rope2d",
     .plugin = "rope2d",
     .settings = {PLUGIN_TEXT("variant", "mrope"), PLUGIN_LIST("mrope_section", sections, 3)}},
    /* The base grows with every token past the original length (YaRN section 3.3 warns of the cache). */
    {.name = "dynamic",
     .plugin = "rope",
     .settings = {PLUGIN_TEXT("scaling", "dynamic"), PLUGIN_NUMBER("factor", 4), ORIGINAL},
     .differs_from = ORIGINAL_LENGTH + 1},
    /* The list changes strictly above the original length. */
    {.name = "longrope",
     .plugin = "rope",
     .settings = {PLUGIN_TEXT("scaling", "longrope"), PLUGIN_NUMBER("factor", 4), ORIGINAL,
                  PLUGIN_LIST("short_factor", short_factor, WIDTH / 2),
                  PLUGIN_LIST("long_factor", long_factor, WIDTH / 2)},
     .differs_from = ORIGINAL_LENGTH + 1},
    /* Half the length, rounded up, is 1 for one and two tokens and 2 for three; rounded down it is 0, then 1. */
    {.name = "xpos", .plugin = "xpos", .differs_from = 3},
    {.name = "xpos floor", .plugin = "xpos", .settings = {PLUGIN_TEXT("centre", "floor")}, .differs_from = 2},
};

typedef struct decoder {
  plugin_fixture fixture;
  double positions[TOKENS * 3];
  float *k; /* [HEADS][TOKENS][WIDTH] */
} decoder;

static void open_decoder(decoder *made, const cached_variant *variant) {
  uint64_t random = 808;
  size_t n = 0;
  while (n < 6 && variant->settings[n].key) {
    n++;
  }
  plugin_fixture_require(
      &made->fixture, variant->plugin,
      &(plugin_request){.n_heads = HEADS, .head_dim = WIDTH, .settings = variant->settings, .n_settings = n});
  for (size_t i = 0; i < (size_t)TOKENS * made->fixture.domain.pos_axes; i++) {
    made->positions[i] = (double)(i / made->fixture.domain.pos_axes);
  }
  made->k = test_random_floats(&random, HEADS * TOKENS * WIDTH);
  assert_non_null(made->k);
}

/* Turn keys first .. first+n-1 as part of a run of `length` tokens, into out [HEADS][TOKENS][WIDTH]. */
static void turn_keys(decoder *given, size_t first, size_t n, size_t length, int32_t role, float *out) {
  pe_rows rows = {.struct_size = sizeof rows,
                  .role = role,
                  .n_heads = HEADS,
                  .seq_len = (double)length,
                  .n = n,
                  .pos = given->positions + first * given->fixture.domain.pos_axes,
                  .in = given->k + first * WIDTH,
                  .in_stride = WIDTH,
                  .in_head_stride = TOKENS * WIDTH,
                  .out = out + first * WIDTH,
                  .out_stride = WIDTH,
                  .out_head_stride = TOKENS * WIDTH};
  void *scratch = plugin_fixture_scratch(&given->fixture, n, n);
  assert_int_equal(given->fixture.scheme->qk_apply(given->fixture.instance, &rows, scratch, &given->fixture.error),
                   PE_OK);
  free(scratch);
}

static int same_keys(const float *a, const float *b, size_t n) {
  int same = 1;
  for (size_t head = 0; head < HEADS; head++) {
    same = same && memcmp(a + head * TOKENS * WIDTH, b + head * TOKENS * WIDTH, n * WIDTH * sizeof *a) == 0;
  }
  return same;
}

/* Tokens come in chunks of `chunk`, each turned at the length reached; the first length at which the cache is not what
 * one run over all tokens gives. */
static size_t first_difference(decoder *given, size_t chunk) {
  float *cache = calloc(HEADS * TOKENS * WIDTH, sizeof *cache);
  float *full = calloc(HEADS * TOKENS * WIDTH, sizeof *full);
  assert_non_null(cache);
  assert_non_null(full);
  size_t differs = 0;
  for (size_t length = chunk; length <= TOKENS && !differs; length += chunk) {
    turn_keys(given, length - chunk, chunk, length, PE_ROLE_KEY, cache);
    turn_keys(given, 0, length, length, PE_ROLE_KEY, full);
    differs = same_keys(cache, full, length) ? 0 : length;
  }
  free(cache);
  free(full);
  return differs;
}

static void test_token_by_token(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    decoder given;
    open_decoder(&given, &variants[i]);
    size_t differs = first_difference(&given, 1);
    if (differs != variants[i].differs_from) {
      fail_msg("%s: the cache differs from length %zu on, expected %zu", variants[i].name, differs,
               variants[i].differs_from);
    }
    free(given.k);
    plugin_fixture_close(&given.fixture);
  }
}

/* Chunks of 4, 16 and 24: right to the last token where the length does not matter; else wrong from the first chunk
 * that reaches the length (the first chunk alone is always right). */
static void test_chunks(void **state) {
  (void)state;
  static const size_t chunks[] = {4, 16, 24};
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    decoder given;
    open_decoder(&given, &variants[i]);
    for (size_t c = 0; c < sizeof chunks / sizeof chunks[0]; c++) {
      size_t from = variants[i].differs_from;
      size_t reached = (from + chunks[c] - 1) / chunks[c] * chunks[c];
      size_t expected = from == 0 ? 0 : reached > chunks[c] ? reached : 2 * chunks[c];
      /* dynamic and longrope: chunks up to a whole one past the original length are turned for one length. */
      if (from && expected == 2 * chunks[c] && strcmp(variants[i].name, "longrope") == 0 &&
          chunks[c] > ORIGINAL_LENGTH) {
        expected = 0;
      }
      assert_int_equal(first_difference(&given, chunks[c]), expected);
    }
    free(given.k);
    plugin_fixture_close(&given.fixture);
  }
}

/* One query at the end of a run is the last row of the run's queries, bit for bit, at the same length. */
static void test_last_query(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    decoder given;
    open_decoder(&given, &variants[i]);
    float *all = calloc(HEADS * TOKENS * WIDTH, sizeof *all);
    float *last = calloc(HEADS * TOKENS * WIDTH, sizeof *last);
    assert_non_null(all);
    assert_non_null(last);
    turn_keys(&given, 0, TOKENS, TOKENS, PE_ROLE_QUERY, all);
    turn_keys(&given, TOKENS - 1, 1, TOKENS, PE_ROLE_QUERY, last);
    for (size_t head = 0; head < HEADS; head++) {
      size_t row = (head * TOKENS + TOKENS - 1) * WIDTH;
      assert_memory_equal(all + row, last + row, WIDTH * sizeof *all);
    }
    free(all);
    free(last);
    free(given.k);
    plugin_fixture_close(&given.fixture);
  }
}

/* xPos's cached keys are off by a factor per pair, and so are its scores: recentring on the length is not free. With
 * all keys turned for the length, scores do not depend on the centre. */
static void test_xpos_recentred_scores(void **state) {
  (void)state;
  decoder by_ceil;
  decoder by_floor;
  open_decoder(&by_ceil, &variants[sizeof variants / sizeof variants[0] - 2]);
  open_decoder(&by_floor, &variants[sizeof variants / sizeof variants[0] - 1]);
  const size_t odd = TOKENS - 1;
  float *rows[4];
  decoder *decoders[] = {&by_ceil, &by_floor};
  for (size_t i = 0; i < 4; i++) {
    rows[i] = calloc(HEADS * TOKENS * WIDTH, sizeof *rows[i]);
    assert_non_null(rows[i]);
    turn_keys(decoders[i / 2], 0, odd, odd, i % 2 ? PE_ROLE_KEY : PE_ROLE_QUERY, rows[i]);
  }
  assert_false(same_keys(rows[1], rows[3], odd));
  for (size_t q = 0; q < odd; q++) {
    for (size_t k = 0; k <= q; k++) {
      double scores[2] = {0, 0};
      for (size_t c = 0; c < WIDTH; c++) {
        scores[0] += (double)rows[0][q * WIDTH + c] * (double)rows[1][k * WIDTH + c];
        scores[1] += (double)rows[2][q * WIDTH + c] * (double)rows[3][k * WIDTH + c];
      }
      assert_true(fabs(scores[0] - scores[1]) <=
                  5e-5); /* float32 column for xpos scores, tests/golden/data/README.md */
    }
  }
  for (size_t i = 0; i < 4; i++) {
    free(rows[i]);
  }
  for (size_t i = 0; i < 2; i++) {
    free(decoders[i]->k);
    plugin_fixture_close(&decoders[i]->fixture);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_token_by_token),
      cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_last_query),
      cmocka_unit_test(test_xpos_recentred_scores),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
