/* What rotary schemes keep whatever their parameters are: norms, the equality of the layouts, and the scalings that
 * must come out as plain rope. Parameters are seeded random numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden_file.h"
#include "plugin_fixture.h"
#include "test_random.h"

enum { ROUNDS = 25, ROWS = 37, HEADS = 2 };

/* One random case: a width, rows at positions, values. */
typedef struct rotation_case {
  size_t width;
  double base, length;
  double positions[ROWS];
  float *in; /* [HEADS][ROWS][width] */
} rotation_case;

static void make_case(rotation_case *made, uint64_t *state) {
  made->width = 2 * test_random_count(state, 1, 40);
  made->base = exp(test_random(state, log(10), log(1e7)));
  for (size_t r = 0; r < ROWS; r++) {
    double position = test_random(state, -50, 200000);
    made->positions[r] = r % 2 ? position : floor(position);
  }
  made->length = plugin_fixture_length(made->positions, ROWS);
  made->in = test_random_floats(state, HEADS * ROWS * made->width);
  assert_non_null(made->in);
}

/* The case's values, turned by a scheme made from these settings and the case's base; the caller frees them. */
static float *turned_by(const rotation_case *given, const char *plugin, const plugin_setting *settings,
                        size_t n_settings, const double *positions, const float *in) {
  plugin_setting all[24];
  assert_true(n_settings < 24);
  memcpy(all, settings, n_settings * sizeof *all);
  all[n_settings] = (plugin_setting)PLUGIN_NUMBER("base", given->base);
  plugin_fixture fixture;
  plugin_fixture_require(
      &fixture, plugin,
      &(plugin_request){
          .n_heads = HEADS, .head_dim = (uint32_t)given->width, .settings = all, .n_settings = n_settings + 1});
  float *out = calloc(HEADS * ROWS * given->width, sizeof *out);
  assert_non_null(out);
  assert_int_equal(plugin_fixture_qk(&fixture, PE_ROLE_QUERY, HEADS, given->length, ROWS, positions, in, out), PE_OK);
  plugin_fixture_close(&fixture);
  return out;
}

#define TURNED(given, plugin, settings, positions, in)                                                                 \
  turned_by(given, plugin, settings, sizeof(settings) / sizeof((settings)[0]), positions, in)

static void assert_same_bits(const rotation_case *given, const float *a, const float *b) {
  assert_memory_equal(a, b, HEADS * ROWS * given->width * sizeof *a);
}

/* A turned pair has the length it had, but for the rounding of cosine, sine and two products. */
static void test_norms(void **state) {
  (void)state;
  uint64_t random = 11;
  for (int round = 0; round < ROUNDS; round++) {
    rotation_case given;
    make_case(&given, &random);
    plugin_setting settings[] = {PLUGIN_TEXT("layout", round % 2 ? "half" : "interleaved")};
    float *out = TURNED(&given, "rope", settings, given.positions, given.in);
    for (size_t row = 0; row < HEADS * ROWS; row++) {
      double before = 0;
      double after = 0;
      for (size_t c = 0; c < given.width; c++) {
        before += pow((double)given.in[row * given.width + c], 2);
        after += pow((double)out[row * given.width + c], 2);
      }
      assert_true(fabs(sqrt(after) - sqrt(before)) <= 3e-7 * sqrt(before));
    }
    free(out);
    free(given.in);
  }
}

/* half's channels i and i + d/2 are interleaved's 2i and 2i+1: the same numbers in another order, bit for bit. */
static void test_layouts(void **state) {
  (void)state;
  uint64_t random = 12;
  for (int round = 0; round < ROUNDS; round++) {
    rotation_case given;
    make_case(&given, &random);
    size_t n = HEADS * ROWS * given.width;
    float *reordered = calloc(n, sizeof *reordered);
    float *back = calloc(n, sizeof *back);
    assert_non_null(reordered);
    assert_non_null(back);
    for (size_t i = 0; i < n; i++) {
      size_t channel = i % given.width;
      size_t pair = channel % (given.width / 2);
      size_t to = 2 * pair + (channel < given.width / 2 ? 0 : 1);
      reordered[i - channel + to] = given.in[i];
    }
    plugin_setting half[] = {PLUGIN_TEXT("layout", "half")};
    plugin_setting interleaved[] = {PLUGIN_TEXT("layout", "interleaved")};
    float *by_half = TURNED(&given, "rope", half, given.positions, given.in);
    float *by_interleaved = TURNED(&given, "rope", interleaved, given.positions, reordered);
    for (size_t i = 0; i < n; i++) {
      size_t channel = i % given.width;
      size_t pair = channel % (given.width / 2);
      back[i] = by_interleaved[i - channel + 2 * pair + (channel < given.width / 2 ? 0 : 1)];
    }
    assert_same_bits(&given, by_half, back);
    free(by_half);
    free(by_interleaved);
    free(reordered);
    free(back);
    free(given.in);
  }
}

/* Frequencies divided by s at p, or plain ones at p/s: the angles differ by double rounding alone. */
static void test_linear_is_division(void **state) {
  (void)state;
  uint64_t random = 13;
  for (int round = 0; round < ROUNDS; round++) {
    rotation_case given;
    make_case(&given, &random);
    double factor = test_random(&random, 1, 64);
    double divided[ROWS];
    for (size_t r = 0; r < ROWS; r++) {
      divided[r] = given.positions[r] / factor;
    }
    plugin_setting linear[] = {PLUGIN_TEXT("scaling", "linear"), PLUGIN_NUMBER("factor", factor)};
    plugin_setting plain[] = {PLUGIN_TEXT("scaling", "none")};
    float *scaled = TURNED(&given, "rope", linear, given.positions, given.in);
    float *at_divided = TURNED(&given, "rope", plain, divided, given.in);
    for (size_t i = 0; i < HEADS * ROWS * given.width; i++) {
      assert_true(fabs((double)scaled[i] - (double)at_divided[i]) <= 2 * 3e-7 * 2);
    }
    free(scaled);
    free(at_divided);
    free(given.in);
  }
}

/* Every scaling with nothing to scale is plain rope. yarn's and llama3's blends of a frequency with itself round. */
static void test_neutral_scalings(void **state) {
  (void)state;
  uint64_t random = 14;
  for (int round = 0; round < ROUNDS; round++) {
    rotation_case given;
    make_case(&given, &random);
    double ones[40];
    for (size_t i = 0; i < 40; i++) {
      ones[i] = 1;
    }
    double original = floor(test_random(&random, 32, 10000));
    plugin_setting plain[] = {PLUGIN_TEXT("scaling", "none")};
    plugin_setting linear[] = {PLUGIN_TEXT("scaling", "linear"), PLUGIN_NUMBER("factor", 1)};
    plugin_setting ntk[] = {PLUGIN_TEXT("scaling", "ntk"), PLUGIN_NUMBER("factor", 1)};
    plugin_setting dynamic[] = {PLUGIN_TEXT("scaling", "dynamic"), PLUGIN_NUMBER("factor", 4),
                                PLUGIN_NUMBER("original_max_position_embeddings", given.length)};
    plugin_setting longrope[] = {PLUGIN_TEXT("scaling", "longrope"), PLUGIN_NUMBER("factor", 1),
                                 PLUGIN_NUMBER("original_max_position_embeddings", original),
                                 PLUGIN_LIST("short_factor", ones, given.width / 2),
                                 PLUGIN_LIST("long_factor", ones, given.width / 2)};
    plugin_setting proportional[] = {PLUGIN_TEXT("scaling", "proportional"), PLUGIN_NUMBER("factor", 1)};
    plugin_setting yarn[] = {PLUGIN_TEXT("scaling", "yarn"), PLUGIN_NUMBER("factor", 1),
                             PLUGIN_NUMBER("original_max_position_embeddings", original)};
    plugin_setting paper[] = {PLUGIN_TEXT("scaling", "yarn"), PLUGIN_NUMBER("factor", 1), PLUGIN_TEXT("ramp", "paper"),
                              PLUGIN_NUMBER("original_max_position_embeddings", original)};
    plugin_setting llama3[] = {PLUGIN_TEXT("scaling", "llama3"), PLUGIN_NUMBER("factor", 1),
                               PLUGIN_NUMBER("low_freq_factor", 1), PLUGIN_NUMBER("high_freq_factor", 4),
                               PLUGIN_NUMBER("original_max_position_embeddings", original)};
    const struct {
      const plugin_setting *settings;
      size_t n;
      int rounds;
    } neutral[] = {{linear, 2, 0},       {ntk, 2, 0},  {dynamic, 3, 0}, {longrope, 5, 0},
                   {proportional, 2, 0}, {yarn, 3, 1}, {paper, 4, 1},   {llama3, 5, 1}};
    float *expected = TURNED(&given, "rope", plain, given.positions, given.in);
    for (size_t i = 0; i < sizeof neutral / sizeof neutral[0]; i++) {
      float *got = turned_by(&given, "rope", neutral[i].settings, neutral[i].n, given.positions, given.in);
      if (!neutral[i].rounds) {
        assert_same_bits(&given, got, expected);
      }
      for (size_t e = 0; e < HEADS * ROWS * given.width; e++) {
        assert_true(fabs((double)got[e] - (double)expected[e]) <= 2 * 3e-7 * 2);
      }
      free(got);
    }
    free(expected);
    free(given.in);
  }
}

/* Splits `pairs` over two or three coordinates; interleaved ones must find their places. */
static size_t random_sections(uint64_t *random, size_t pairs, int interleaved, double sections[3]) {
  size_t axes = test_random_count(random, 2, 3);
  double left = (double)pairs;
  for (size_t a = axes; a-- > 1;) {
    double most = interleaved ? floor((double)pairs / (double)axes) : left;
    sections[a] = (double)test_random_count(random, 0, (size_t)most);
    left -= sections[a];
  }
  sections[0] = left;
  return axes;
}

static void test_mrope_on_equal_axes(void **state) {
  (void)state;
  uint64_t random = 15;
  for (int round = 0; round < ROUNDS; round++) {
    rotation_case given;
    make_case(&given, &random);
    double sections[3];
    int interleaved = round % 2;
    size_t axes = random_sections(&random, given.width / 2, interleaved, sections);
    double positions[ROWS * 3];
    for (size_t i = 0; i < ROWS * axes; i++) {
      positions[i] = given.positions[i / axes];
    }
    const char *layout = round % 4 < 2 ? "half" : "interleaved";
    plugin_setting mrope[] = {PLUGIN_TEXT("variant", "mrope"), PLUGIN_LIST("mrope_section", sections, axes),
                              PLUGIN_NUMBER("mrope_interleaved", interleaved), PLUGIN_TEXT("layout", layout)};
    plugin_setting plain[] = {PLUGIN_TEXT("layout", layout)};
    float *expected = TURNED(&given, "rope", plain, given.positions, given.in);
    float *got = TURNED(&given, "rope2d", mrope, positions, given.in);
    assert_same_bits(&given, got, expected);
    free(got);
    free(expected);
    free(given.in);
  }
}

/* Axial: one coordinate at 0 leaves its half of the pairs alone, the other half is one-dimensional rope of half the
 * width (interleaved pairs lie side by side, so the halves of the channels can be turned on their own). */
static void test_axial_is_rope_per_axis(void **state) {
  (void)state;
  uint64_t random = 16;
  for (int round = 0; round < ROUNDS; round++) {
    rotation_case given;
    make_case(&given, &random);
    free(given.in);
    given.width = 4 * (given.width / 4 + 1);
    size_t half = given.width / 2;
    given.in = test_random_floats(&random, HEADS * ROWS * given.width);
    double positions[2 * ROWS];
    for (size_t r = 0; r < ROWS; r++) {
      positions[2 * r] = given.positions[r];
      positions[2 * r + 1] = given.positions[ROWS - 1 - r];
    }
    plugin_setting axial[] = {PLUGIN_TEXT("variant", "axial")};
    plugin_setting plain[] = {PLUGIN_TEXT("layout", "interleaved"), PLUGIN_NUMBER("rotary_dim", (double)half)};
    float *got = TURNED(&given, "rope2d", axial, positions, given.in);
    float *shifted = calloc(HEADS * ROWS * given.width, sizeof *shifted);
    assert_non_null(shifted);
    double reversed[ROWS];
    for (size_t row = 0; row < HEADS * ROWS; row++) {
      memcpy(shifted + row * given.width, given.in + row * given.width + half, half * sizeof *shifted);
    }
    for (size_t r = 0; r < ROWS; r++) {
      reversed[r] = given.positions[ROWS - 1 - r];
    }
    float *by_x = TURNED(&given, "rope", plain, given.positions, given.in);
    float *by_y = TURNED(&given, "rope", plain, reversed, shifted);
    for (size_t row = 0; row < HEADS * ROWS; row++) {
      assert_memory_equal(got + row * given.width, by_x + row * given.width, half * sizeof *got);
      assert_memory_equal(got + row * given.width + half, by_y + row * given.width, half * sizeof *got);
    }
    free(by_x);
    free(by_y);
    free(shifted);
    free(got);
    free(given.in);
  }
}

/* Which coordinate a pair of Qwen2.5-VL follows: data/model_configs.h5. Interleaved, [24, 20, 20] over 64 pairs as in
 * Qwen3-VL: time, height, width in turn up to pair 59, then time (ggml.h, and Hugging Face's apply_interleaved_mrope).
 */
static void test_mrope_axes(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "model_configs.h5");
  golden_array expected = golden_read(&file, "qwen2.5-vl-7b", "out_mrope_axis");
  golden_array frequencies = golden_read(&file, "qwen2.5-vl-7b", "out_inv_freq");
  const double blocks[] = {16, 24, 24};
  plugin_setting settings[] = {PLUGIN_TEXT("variant", "mrope"), PLUGIN_LIST("mrope_section", blocks, 3),
                               PLUGIN_NUMBER("base", golden_number(&file, "qwen2.5-vl-7b", "base"))};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope2d", &(plugin_request){.head_dim = 128, PLUGIN_SETTINGS(settings)});
  assert_int_equal(fixture.domain.pos_axes, 3);
  plugin_derived axis = plugin_fixture_derived(&fixture, "pair_axis", 1);
  plugin_derived inv_freq = plugin_fixture_derived(&fixture, "inv_freq", 1);
  assert_int_equal(axis.n, expected.n);
  for (size_t i = 0; i < expected.n; i++) {
    assert_true(axis.data[i] == expected.data[i]);
    assert_true(fabs(inv_freq.data[i] - frequencies.data[i]) <= 1e-14 * frequencies.data[i]);
  }
  free(axis.data);
  free(inv_freq.data);
  plugin_fixture_close(&fixture);
  golden_array_free(&expected);
  golden_array_free(&frequencies);
  golden_file_close(&file);

  const double turns[] = {24, 20, 20};
  plugin_setting in_turn[] = {PLUGIN_TEXT("variant", "mrope"), PLUGIN_LIST("mrope_section", turns, 3),
                              PLUGIN_NUMBER("mrope_interleaved", 1)};
  plugin_fixture_require(&fixture, "rope2d", &(plugin_request){.head_dim = 128, PLUGIN_SETTINGS(in_turn)});
  axis = plugin_fixture_derived(&fixture, "pair_axis", 1);
  for (size_t i = 0; i < 64; i++) {
    assert_true(axis.data[i] == (i < 60 ? (double)(i % 3) : 0));
  }
  free(axis.data);
  plugin_fixture_close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_norms),
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_linear_is_division),
      cmocka_unit_test(test_neutral_scalings),
      cmocka_unit_test(test_mrope_on_equal_axes),
      cmocka_unit_test(test_axial_is_rope_per_axis),
      cmocka_unit_test(test_mrope_axes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
