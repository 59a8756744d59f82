/* The sources of q and k besides trained weights: matrix, random, q and k, word vectors; and positions. */
#include "input/model.h"
#include "input/npy.h"
#include "model_section.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct model *opened(struct section *section, uint64_t seed) {
  struct error err;
  struct model *model = model_open(section, seed, &err);
  section_free(section);
  if (!model) {
    fail_msg("%s", err.text);
  }
  return model;
}

static void expect_no_model(struct section *section, enum error_code code, const char *expected) {
  struct error err = {ERROR_NONE, ""};
  assert_null(model_open(section, 1, &err));
  assert_string_equal(err.text, expected);
  assert_int_equal(err.code, code);
  section_free(section);
}

static void content(const struct model *model, size_t first, size_t n, float *x) {
  size_t index[64];
  assert_true(n <= 64);
  for (size_t i = 0; i < n; i++) {
    index[i] = first + i;
  }
  struct error err;
  assert_int_equal(model_content(model, 0, index, n, x, &err), 0);
}

static void a_matrix_is_its_own_q_k_and_v(void **state) {
  (void)state;
  struct section *section = model_section_new();
  const double x[6] = {1, 0, 0, 1, 1, 1};
  model_section_matrix(section, "matrix.x", x, 3, 2);
  struct model *model = opened(section, 1);
  assert_int_equal(model->d_model, 2);
  assert_int_equal(model->head_dim, 2);
  assert_true(model->score_scale == 1 && !model->scale_is_trained && !model->endless);
  assert_string_equal(model->trained.scheme, "");
  float rows[8], q[8], v[8];
  const float expected[8] = {1, 0, 0, 1, 1, 1, 1, 0}; /* row 3 is row 0 again */
  content(model, 0, 4, rows);
  assert_memory_equal(rows, expected, sizeof expected);
  struct error err;
  assert_int_equal(model_project(model, rows, 4, q, NULL, v, NULL, &err), 0);
  assert_memory_equal(q, expected, sizeof expected);
  assert_memory_equal(v, expected, sizeof expected);
  assert_int_equal(model_output_width(model), 0);
  model_close(model);
}

static void heads_share_the_columns_of_a_matrix(void **state) {
  (void)state;
  struct section *section = model_section_new();
  const double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  model_section_matrix(section, "matrix.x", x, 2, 4);
  model_section_number(section, "matrix.heads", 2);
  model_section_number(section, "matrix.scale", 0.25);
  struct model *model = opened(section, 1);
  float rows[8], k[8];
  const float expected[8] = {1, 2, 5, 6, 3, 4, 7, 8}; /* [head][token][2] */
  content(model, 0, 2, rows);
  struct error err;
  assert_int_equal(model_project(model, rows, 2, NULL, k, NULL, NULL, &err), 0);
  assert_memory_equal(k, expected, sizeof expected);
  assert_true(model->score_scale == 0.25);
  model_close(model);
  section = model_section_new();
  model_section_matrix(section, "matrix.x", x, 2, 4);
  model_section_number(section, "matrix.heads", 3);
  expect_no_model(section, ERROR_JOB_SETUP, "model.matrix.heads: 3 does not divide the 4 columns of x");
}

static struct section *random_section(double heads, double kv_heads, double correlation) {
  struct section *section = model_section_new();
  model_section_number(section, "random.heads", heads);
  model_section_number(section, "random.kv_heads", kv_heads);
  model_section_number(section, "random.head_dim", 32);
  model_section_number(section, "random.d_model", 64);
  model_section_number(section, "random.correlation", correlation);
  return section;
}

static void random_content_streams(void **state) {
  (void)state;
  struct model *model = opened(random_section(2, 2, 0.5), 3), *other = opened(random_section(2, 2, 0.5), 4);
  assert_true(model->endless && model->texts[0].count == 0);
  static float block[64 * 64], one[64], far[64];
  content(model, 0, 64, block);
  for (size_t i = 0; i < 64; i += 21) {
    content(model, i, 1, one);
    assert_memory_equal(one, block + i * 64, sizeof one);
  }
  content(model, (size_t)1 << 40, 1, far);
  assert_true(memcmp(far, block, sizeof far) != 0);
  content(other, 0, 1, one);
  assert_true(memcmp(one, block, sizeof one) != 0);
  /* Mean 0 and variance 1 within four standard errors of 4096 numbers: 4 / 64 and 4 sqrt(2) / 64. */
  double sum = 0, squares = 0;
  for (size_t i = 0; i < 4096; i++) {
    sum += (double)block[i];
    squares += (double)block[i] * (double)block[i];
  }
  assert_true(fabs(sum / 4096) < 4.0 / 64 && fabs(squares / 4096 - 1) < 4 * sqrt(2) / 64);
  model_close(model);
  model_close(other);
}

/* The rows of the unit matrix project onto the rows of w. */
static void random_projections_have_the_correlation(void **state) {
  (void)state;
  static float unit[64 * 64], q[4 * 64 * 32], k[2 * 64 * 32];
  for (size_t i = 0; i < 64; i++) {
    unit[i * 64 + i] = 1;
  }
  for (int c = -1; c <= 2; c++) {
    double correlation = 0.5 * c;
    struct model *model = opened(random_section(4, 2, correlation), 9);
    assert_int_equal(model->n_kv_heads, 2);
    assert_true(model->score_scale == 1 / sqrt(32.0));
    struct error err;
    assert_int_equal(model_project(model, unit, 64, q, k, NULL, NULL, &err), 0);
    double qk = 0, qq = 0, kk = 0;
    for (size_t head = 0; head < 4; head++) {
      for (size_t i = 0; i < 64 * 32; i++) {
        double a = (double)q[head * 64 * 32 + i], b = (double)k[head / 2 * 64 * 32 + i];
        qk += a * b;
        qq += a * a;
        kk += b * b;
      }
    }
    /* Within four standard errors of 8192 pairs (4096 different keys: 1 / sqrt(4096)). */
    assert_true(fabs(qk / sqrt(qq * kk) - correlation) < 4.0 / 64);
    assert_true(fabs(qq / 8192 * 64 - 1) < 4 * sqrt(2) / 64);
    model_close(model);
  }
  expect_no_model(random_section(4, 3, 0), ERROR_JOB_SETUP, "model.random: kv_heads 3 does not divide heads 4");
}

static void a_random_text_of_given_length_repeats(void **state) {
  (void)state;
  struct section *section = random_section(2, 2, 0);
  model_section_number(section, "random.length", 5);
  struct model *model = opened(section, 1);
  assert_true(!model->endless && model->texts[0].count == 5);
  float first[64], again[64];
  content(model, 2, 1, first);
  content(model, 7, 1, again);
  assert_memory_equal(first, again, sizeof first);
  model_close(model);
}

static const char qk_file[] = TEST_BUILD_DIR "/test_model_qk.h5";

/* q [2][4][5][6], k and v [2][2][5][6 and 3], element = its index; and some that do not fit. */
static int make_qk_file(void **state) {
  (void)state;
  static float values[2 * 4 * 5 * 6];
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    values[i] = (float)i;
  }
  static const struct {
    const char *name;
    int rank;
    hsize_t dim[4];
  } tensors[] = {{"q", 4, {2, 4, 5, 6}},       {"k", 4, {2, 2, 5, 6}},        {"v", 4, {2, 2, 5, 3}},
                 {"q3", 3, {4, 5, 6}},         {"k3", 3, {4, 5, 6}},          {"k_three_heads", 4, {2, 3, 5, 6}},
                 {"k_short", 4, {2, 2, 4, 6}}, {"k_narrow", 4, {2, 2, 5, 5}}, {"v_heads", 4, {2, 4, 5, 3}},
                 {"flat", 2, {5, 6}},          {"k_layer", 4, {1, 2, 5, 6}}};
  hid_t file = H5Fcreate(qk_file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(file >= 0);
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
    hid_t space = H5Screate_simple(tensors[i].rank, tensors[i].dim, NULL);
    hid_t dataset = H5Dcreate2(file, tensors[i].name, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
  }
  return H5Fclose(file) < 0;
}

static void set_dataset(struct section *section, const char *key, const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s:/%s", qk_file, name);
  model_section_text(section, key, path);
}

static struct section *qk_section(const char *q, const char *k, const char *v, double layer) {
  struct section *section = model_section_new();
  set_dataset(section, "qk.q", q);
  set_dataset(section, "qk.k", k);
  if (v) {
    set_dataset(section, "qk.v", v);
  }
  model_section_number(section, "layer", layer);
  return section;
}

static void given_q_and_k_are_picked_by_layer_and_token(void **state) {
  (void)state;
  struct model *model = opened(qk_section("q", "k", "v", 1), 1);
  assert_true(model->d_model == 0 && model->n_layers == 2 && model->n_heads == 4 && model->n_kv_heads == 2);
  assert_true(model->head_dim == 6 && model->value_dim == 3 && model->texts[0].count == 5);
  assert_true(model->score_scale == 1 / sqrt(6.0) && model->scale_is_trained);
  float q[4 * 2 * 6], v[2 * 2 * 3];
  struct error err;
  assert_int_equal(model_given_qk(model, 0, (const size_t[]){3, 5}, 2, q, NULL, v, &err), 0);
  for (size_t head = 0; head < 4; head++) {
    for (size_t e = 0; e < 6; e++) {
      assert_true(q[(head * 2 + 0) * 6 + e] == (float)(((1 * 4 + head) * 5 + 3) * 6 + e));
      assert_true(q[(head * 2 + 1) * 6 + e] == (float)(((1 * 4 + head) * 5 + 0) * 6 + e));
    }
  }
  assert_true(v[(1 * 2 + 0) * 3 + 2] == (float)(((1 * 2 + 1) * 5 + 3) * 3 + 2));
  model_close(model);
  model = opened(qk_section("q3", "k3", NULL, 0), 1);
  assert_true(model->n_layers == 1 && model->n_kv_heads == 4 && model->value_dim == 0);
  model_close(model);
}

static void q_and_k_that_do_not_fit_are_named(void **state) {
  (void)state;
  char expected[2048];
#define EXPECT(section, code, ...)                                                                                     \
  do {                                                                                                                 \
    snprintf(expected, sizeof expected, __VA_ARGS__);                                                                  \
    expect_no_model(section, code, expected);                                                                          \
  } while (0)
  EXPECT(qk_section("q", "k_three_heads", NULL, 0), ERROR_FILE_CONTENT,
         "model.qk: q (%s:/q) has 4 heads, which is no multiple of the 3 heads of k (%s:/k_three_heads)", qk_file,
         qk_file);
  EXPECT(qk_section("q", "k_short", NULL, 0), ERROR_FILE_CONTENT,
         "model.qk: k (%s:/k_short) and q (%s:/q) differ in tokens: 4 and 5", qk_file, qk_file);
  EXPECT(qk_section("q", "k_narrow", NULL, 0), ERROR_FILE_CONTENT,
         "model.qk: k (%s:/k_narrow) and q (%s:/q) differ in numbers per row: 5 and 6", qk_file, qk_file);
  EXPECT(qk_section("q", "k_layer", NULL, 0), ERROR_FILE_CONTENT,
         "model.qk: k (%s:/k_layer) and q (%s:/q) differ in layers: 1 and 2", qk_file, qk_file);
  EXPECT(qk_section("q", "k", "v_heads", 0), ERROR_FILE_CONTENT,
         "model.qk: v (%s:/v_heads) has 4 heads, k (%s:/k) has 2", qk_file, qk_file);
  EXPECT(qk_section("flat", "k", NULL, 0), ERROR_FILE_CONTENT,
         "%s:/flat: model.qk.q has 2 axes; needed are [layer, head, token, width] or [head, token, width]", qk_file);
  EXPECT(qk_section("q", "k", NULL, 2), ERROR_JOB_SETUP, "model.layer: 2; model.qk.q (%s:/q) has 2 layers", qk_file);
  EXPECT(qk_section("q", "missing", NULL, 0), ERROR_FILE_CONTENT, "%s: there is no dataset /missing", qk_file);
#undef EXPECT
}

static struct section *vectors_section(const char *path, const char *text) {
  struct section *section = model_section_new();
  model_section_text(section, "embeddings.file", path);
  if (text) {
    model_section_text(section, "tokens.text", text);
  } else {
    model_section_list(section, "tokens.ids", (const double[]){0, 1}, 2);
  }
  return section;
}

static void word_vectors_are_the_same_as_text_and_as_hdf5(void **state) {
  (void)state;
  static const char words[] = "He works, they have worked.";
  struct model *text = opened(vectors_section(TEST_SOURCE_DIR "/data/glove-100d-sample.txt", words), 1);
  struct model *file = opened(vectors_section(TEST_SOURCE_DIR "/data/glove-100d.h5", words), 1);
  assert_true(text->d_model == 100 && text->texts[0].count == 7 && file->texts[0].count == 7);
  assert_true(text->n_heads == 4 && text->head_dim == 64 && text->score_scale == 0.125);
  float a[700], b[700], q[7 * 256], again[7 * 256];
  content(text, 0, 7, a);
  content(file, 0, 7, b);
  assert_memory_equal(a, b, sizeof a);
  for (size_t i = 0; i < 7; i++) {
    assert_string_equal(model_piece(text, text->texts[0].ids[i]), model_piece(file, file->texts[0].ids[i]));
  }
  struct error err;
  assert_int_equal(model_project(text, a, 7, q, NULL, NULL, NULL, &err), 0);
  assert_int_equal(model_project(file, b, 7, again, NULL, NULL, NULL, &err), 0);
  assert_memory_equal(q, again, sizeof q);
  model_close(text);
  model_close(file);
}

static void words_without_a_vector_are_named(void **state) {
  (void)state;
  expect_no_model(
      vectors_section(TEST_SOURCE_DIR "/data/glove-100d.h5", "He works, I walk."), ERROR_TOKENS,
      "model.tokens.text:1:11: no piece of the vocabulary matches 'I' (1 place in the text); `unknown: skip` "
      "leaves such places out");
  /* The corpus leaves out sentences with that word. */
  struct section *section = model_section_new();
  model_section_text(section, "embeddings.file", TEST_SOURCE_DIR "/data/glove-100d.h5");
  model_section_number(section, "tokens.corpus.length", 300);
  struct model *model = opened(section, 1);
  assert_int_equal(model->texts[0].count, 300);
  model_close(model);
}

static const char vectors_file[] = TEST_BUILD_DIR "/test_model_vectors.txt";

static void write_vectors(const char *text) {
  FILE *file = fopen(vectors_file, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void expect_vectors_refused(const char *text, const char *expected) {
  char whole[1024];
  write_vectors(text);
  snprintf(whole, sizeof whole, "%s:%s", vectors_file, expected);
  expect_no_model(vectors_section(vectors_file, NULL), ERROR_FILE_CONTENT, whole);
}

static void lines_of_word_vectors_are_checked(void **state) {
  (void)state;
  write_vectors("he -9.5706e-05 .5\r\nworks 1E1 +2 \n");
  struct model *model = opened(vectors_section(vectors_file, "he works"), 1);
  float x[4];
  const float expected[4] = {-9.5706e-05f, 0.5f, 10, 2};
  content(model, 0, 2, x);
  assert_memory_equal(x, expected, sizeof expected);
  model_close(model);
  static const char needed[] = "needed is a word and its numbers, with single spaces between";
  char message[256];
  snprintf(message, sizeof message, "2: is no line of word vectors; %s", needed);
  expect_vectors_refused("he 1 2\n\nworks 1 2\n", message);
  expect_vectors_refused("he 1 2\nworks 1\n", "2: numbers on this line: 1, on the first: 2");
  expect_vectors_refused("he 1 x\n", "1: number 2 is 'x', which is no finite decimal number");
  expect_vectors_refused("he 1 nan\n", "1: number 2 is 'nan', which is no finite decimal number");
  expect_vectors_refused("he 1 0x10\n", "1: number 2 is '0x10', which is no finite decimal number");
  expect_vectors_refused("he 1 1e99\n", "1: number 2 is '1e99', which is no finite decimal number");
  expect_vectors_refused("he 1  2\n", "1: number 2 is '', which is no finite decimal number");
  expect_vectors_refused("he 1,5 2\n", "1: number 1 is '1,5', which is no finite decimal number");
  expect_vectors_refused("", " is empty");
}

static void npy_vectors_take_ids_alone(void **state) {
  (void)state;
  static const char path[] = TEST_BUILD_DIR "/test_model_vectors.npy";
  const float values[6] = {1, 2, 3, 4, 5, 6};
  struct error err;
  size_t bytes = 0;
  unsigned char *npy = npy_head(2, (const size_t[]){2, 3}, &bytes, &err);
  FILE *file = fopen(path, "wb");
  assert_true(npy && file && fwrite(npy, 1, bytes, file) == bytes);
  assert_int_equal(fwrite(values, 1, sizeof values, file), sizeof values);
  fclose(file);
  free(npy);
  struct section *section = vectors_section(path, NULL);
  model_section_number(section, "embeddings.scale", 2);
  struct model *model = opened(section, 1);
  float x[6];
  const float expected[6] = {2, 4, 6, 8, 10, 12};
  content(model, 0, 2, x);
  assert_memory_equal(x, expected, sizeof expected);
  model_close(model);
  expect_no_model(vectors_section(path, "he works"), ERROR_TOKENS,
                  "model.tokens: the model's file has no vocabulary, so only `ids` can be given");
}

static void expect_positions(struct section *section, const size_t *index, size_t n, const double *expected) {
  model_section_text(section, "weights", TEST_SOURCE_DIR "/data/use-lite.h5");
  struct model *model = opened(section, 1);
  double out[32];
  struct error err;
  if (model_positions(model, 0, index, n, out, &err)) {
    fail_msg("%s", err.text);
  }
  for (size_t i = 0; i < n * model_position_axes(model); i++) {
    assert_true(out[i] == expected[i]);
  }
  model_close(model);
}

static struct section *padded(void) {
  struct section *section = model_section_new();
  model_section_list(section, "tokens.ids", (const double[]){-1, -1, 40, 171, 16}, 5);
  return section;
}

static void positions_skip_padding_and_go_on_where_text_repeats(void **state) {
  (void)state;
  const size_t index[7] = {0, 1, 2, 3, 4, 5, 7};
  expect_positions(padded(), index, 7, (const double[]){-1, -1, 0, 1, 2, -1, 3});
  struct section *section = padded();
  model_section_number(section, "positions.start", 10);
  model_section_number(section, "positions.step", 0.5);
  expect_positions(section, index, 7, (const double[]){-1, -1, 10, 10.5, 11, -1, 11.5});
}

static void positions_by_grid_and_list(void **state) {
  (void)state;
  const size_t index[3] = {0, 2, 3};
  struct section *section = padded();
  model_section_list(section, "tokens.ids", (const double[]){40, 171, 16, 40}, 4);
  model_section_list(section, "positions.grid", (const double[]){2, 3}, 2);
  expect_positions(section, index, 3, (const double[]){0, 0, 0, 2, 1, 0});
  section = model_section_new();
  model_section_list(section, "tokens.ids", (const double[]){40, 171, 16, 40}, 4);
  model_section_list(section, "positions.list", (const double[]){5, 7, 7.25, -3}, 4);
  expect_positions(section, index, 3, (const double[]){5, 7.25, -3});
  section = model_section_new();
  model_section_list(section, "tokens.ids", (const double[]){40, 171}, 2);
  model_section_matrix(section, "positions.list", (const double[]){1, 2, 3, 4, 5, 6}, 2, 3);
  expect_positions(section, (const size_t[]){1, 0}, 2, (const double[]){4, 5, 6, 1, 2, 3});
}

static void tokens_without_a_position_are_refused(void **state) {
  (void)state;
  struct section *section = model_section_new();
  model_section_matrix(section, "matrix.x", (const double[]){1, 2, 3}, 3, 1);
  model_section_list(section, "positions.list", (const double[]){5, 7}, 2);
  struct model *model = opened(section, 1);
  double out[3];
  struct error err;
  assert_false(model_positions_are_default(model));
  assert_int_equal(model_positions(model, 0, (const size_t[]){0, 1, 2}, 3, out, &err), ERROR_JOB_SETUP);
  assert_string_equal(err.text, "model.positions: the list in the config gives 2 positions; token 2 has none");
  model_close(model);
  section = model_section_new();
  model_section_matrix(section, "matrix.x", (const double[]){1, 2, 3}, 3, 1);
  set_dataset(section, "positions.list", "q");
  char expected[700];
  snprintf(expected, sizeof expected, "%s:/q: model.positions has 4 axes; needed are [token] or [token, coordinate]",
           qk_file);
  expect_no_model(section, ERROR_FILE_CONTENT, expected);
}

int main(void) {
  H5dont_atexit();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_matrix_is_its_own_q_k_and_v),
      cmocka_unit_test(heads_share_the_columns_of_a_matrix),
      cmocka_unit_test(random_content_streams),
      cmocka_unit_test(random_projections_have_the_correlation),
      cmocka_unit_test(a_random_text_of_given_length_repeats),
      cmocka_unit_test(given_q_and_k_are_picked_by_layer_and_token),
      cmocka_unit_test(q_and_k_that_do_not_fit_are_named),
      cmocka_unit_test(word_vectors_are_the_same_as_text_and_as_hdf5),
      cmocka_unit_test(words_without_a_vector_are_named),
      cmocka_unit_test(lines_of_word_vectors_are_checked),
      cmocka_unit_test(npy_vectors_take_ids_alone),
      cmocka_unit_test(positions_skip_padding_and_go_on_where_text_repeats),
      cmocka_unit_test(positions_by_grid_and_list),
      cmocka_unit_test(tokens_without_a_position_are_refused),
  };
  return cmocka_run_group_tests(tests, make_qk_file, NULL);
}
