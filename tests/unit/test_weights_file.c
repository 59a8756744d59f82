/* A weights file of the layout in data/README.md: defaults, grouped key heads, and what does not fit, by name. */
#include "input/model.h"
#include "model_section.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char path[] = TEST_BUILD_DIR "/test_weights_file.h5";

enum { IDS = 8, D = 4, HEADS = 2, KV_HEADS = 1, WIDTH = 2 };

/* What differs from a file that is right. Names left out: NULL. */
struct change {
  const char *drop;                    /* this dataset is not written */
  const char *reshape;                 /* this one gets another last length */
  const char *number_of, *number_name; /* this attribute is added */
  double number;
  const char *text_name, *text; /* this attribute of the root is added */
};

static void put(hid_t file, const struct change *change, const char *name, int rank, const hsize_t *dims,
                double factor) {
  hsize_t dim[3] = {1, 1, 1};
  memcpy(dim, dims, (size_t)rank * sizeof *dim);
  if (change->drop && !strcmp(change->drop, name)) {
    return;
  }
  if (change->reshape && !strcmp(change->reshape, name)) {
    dim[rank - 1]++;
  }
  float values[64];
  for (size_t i = 0; i < 64; i++) {
    values[i] = (float)(factor * (double)(i + 1));
  }
  hid_t space = H5Screate_simple(rank, dim, NULL);
  hid_t dataset = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(dataset >= 0);
  assert_true(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
}

static void put_number(hid_t file, const char *object, const char *name, double number) {
  hid_t space = H5Screate(H5S_SCALAR), group = H5Oopen(file, object, H5P_DEFAULT);
  hid_t attribute = H5Acreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &number) >= 0);
  H5Aclose(attribute);
  H5Oclose(group);
  H5Sclose(space);
}

static void put_text(hid_t file, const char *name, const char *text) {
  hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, strlen(text) + 1);
  hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(attribute, type, text) >= 0);
  H5Aclose(attribute);
  H5Tclose(type);
  H5Sclose(space);
}

static void write_file(const struct change *change) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(file >= 0);
  H5Gclose(H5Gcreate2(file, "/layer0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  put(file, change, "/embeddings", 2, (const hsize_t[]){IDS, D}, 0.25);
  put(file, change, "/layer0/w_q", 3, (const hsize_t[]){D, HEADS, WIDTH}, 1);
  put(file, change, "/layer0/w_k", 3, (const hsize_t[]){D, KV_HEADS, WIDTH}, 1);
  put(file, change, "/layer0/w_v", 3, (const hsize_t[]){D, KV_HEADS, 3}, 1);
  put(file, change, "/layer0/b_q", 2, (const hsize_t[]){HEADS, WIDTH}, 1);
  put(file, change, "/layer0/w_o", 3, (const hsize_t[]){HEADS, 3, 5}, 1);
  put(file, change, "/layer0/ln_scale", 1, (const hsize_t[]){D}, 1);
  put(file, change, "/layer0/ln_bias", 1, (const hsize_t[]){D}, 0);
  if (change->number_name) {
    put_number(file, change->number_of, change->number_name, change->number);
  }
  if (change->text_name) {
    put_text(file, change->text_name, change->text);
  }
  H5Fclose(file);
}

static struct section *section_of(void) {
  struct section *section = model_section_new();
  model_section_text(section, "weights", path);
  model_section_list(section, "tokens.ids", (const double[]){0, 7}, 2);
  return section;
}

static void expect_refused(struct change change, enum error_code code, const char *expected) {
  write_file(&change);
  char whole[1024];
  snprintf(whole, sizeof whole, "%s: %s", path, expected);
  struct error err = {ERROR_NONE, ""};
  struct section *section = section_of();
  assert_null(model_open(section, 1, &err));
  section_free(section);
  assert_string_equal(err.text, whole);
  assert_int_equal(err.code, code);
}

static struct model *opened(struct change change) {
  write_file(&change);
  struct section *section = section_of();
  struct error err;
  struct model *model = model_open(section, 1, &err);
  section_free(section);
  if (!model) {
    fail_msg("%s", err.text);
  }
  return model;
}

static void what_a_file_leaves_out_has_defaults(void **state) {
  (void)state;
  struct model *model = opened((struct change){.drop = NULL});
  assert_true(model->n_heads == HEADS && model->n_kv_heads == KV_HEADS && model->head_dim == WIDTH);
  assert_true(model->value_dim == 3 && model->d_model == D && model->n_layers == 1);
  assert_true(model->score_scale == 1 / sqrt(2.0) && model->scale_is_trained);
  assert_string_equal(model->trained.scheme, "");
  assert_string_equal(model->trained.mask, "");
  assert_true(model->trained.max_length == 0);
  assert_int_equal(model_output_width(model), 5);
  assert_string_equal(model_piece(model, 7), "");
  struct error err;
  float x[2 * D], out[5], context[HEADS * 3] = {1, 0, 0, 0, 0, 2};
  assert_int_equal(model_content(model, 0, (const size_t[]){0, 1}, 2, x, &err), 0);
  assert_true(x[0] == 0.25f && x[D] == 7.25f); /* token scale 1; id 7 is row 7 */
  /* Row 0 of w_o [2][3][5] is 1 ... 5, row 5 is 26 ... 30; twice the latter added. */
  assert_int_equal(model_output(model, context, 1, out, &err), 0);
  for (size_t i = 0; i < 5; i++) {
    assert_true(out[i] == (float)(i + 1 + 2 * (26 + i)));
  }
  model_close(model);
}

static void what_training_used_is_read(void **state) {
  (void)state;
  struct model *model = opened((struct change){.text_name = "trained_mask", .text = "causal"});
  assert_string_equal(model->trained.mask, "causal");
  model_close(model);
  expect_refused((struct change){.text_name = "trained_mask", .text = "future"}, ERROR_FILE_CONTENT,
                 "the attribute trained_mask is 'future'; allowed are none and causal");
  expect_refused((struct change){.text_name = "trained_with_parameters", .text = "[1]"}, ERROR_FILE_CONTENT,
                 "the attribute trained_with_parameters is no JSON object of parameters: it is another kind of value");
  expect_refused((struct change){.number_of = "/", .number_name = "max_length", .number = -1}, ERROR_FILE_CONTENT,
                 "the attribute max_length is -1; allowed is a number of tokens");
  expect_refused((struct change){.number_of = "/", .number_name = "max_length", .number = 1.5}, ERROR_FILE_CONTENT,
                 "the attribute max_length is 1.5; allowed is a number of tokens");
}

static void parts_that_do_not_fit_are_named(void **state) {
  (void)state;
  expect_refused((struct change){.drop = "/layer0/w_k"}, ERROR_FILE_CONTENT, "there is no dataset /layer0/w_k");
  expect_refused((struct change){.drop = "/layer0/ln_bias"}, ERROR_FILE_CONTENT, "there is no dataset /layer0/ln_bias");
  expect_refused((struct change){.reshape = "/layer0/w_k"}, ERROR_FILE_CONTENT,
                 "/layer0/w_k is [4, 1, 3]; needed is [4, any, 2]");
  expect_refused((struct change){.reshape = "/embeddings"}, ERROR_FILE_CONTENT,
                 "/layer0/w_q is [4, 2, 2]; needed is [5, any, any]");
  expect_refused((struct change){.reshape = "/layer0/b_q"}, ERROR_FILE_CONTENT,
                 "/layer0/b_q is [2, 3]; needed is [2, 2]");
  expect_refused((struct change){.reshape = "/layer0/w_v"}, ERROR_FILE_CONTENT,
                 "/layer0/w_o is [2, 3, 5]; needed is [2, 4, any]");
  expect_refused((struct change){.reshape = "/layer0/ln_scale"}, ERROR_FILE_CONTENT,
                 "/layer0/ln_scale is [5]; needed is [4]");
  expect_refused((struct change){.number_of = "/layer0", .number_name = "n_heads", .number = 4}, ERROR_FILE_CONTENT,
                 "the attribute n_heads of /layer0 says 4, but /layer0/w_q has 2");
  expect_refused((struct change){.number_of = "/layer0", .number_name = "d_out", .number = 4}, ERROR_FILE_CONTENT,
                 "the attribute d_out of /layer0 says 4, but /layer0/w_o has 5");
  expect_refused((struct change){.number_of = "/", .number_name = "vocab_size", .number = 9}, ERROR_FILE_CONTENT,
                 "the attribute vocab_size of / says 9, but /embeddings has 8");
  expect_refused((struct change){.number_of = "/layer0", .number_name = "ln_epsilon", .number = -1}, ERROR_FILE_CONTENT,
                 "the attribute ln_epsilon of /layer0 is -1; allowed is 0 or more");
}

static void other_layers_are_refused_with_the_reason(void **state) {
  (void)state;
  struct error err = {ERROR_NONE, ""};
  struct section *section = section_of();
  model_section_text(section, "weights", TEST_SOURCE_DIR "/data/use-lite.h5");
  model_section_number(section, "layer", 1);
  assert_null(model_open(section, 1, &err));
  assert_string_equal(err.text, "model.layer: 1; it reads what the layer before it gives, which " TEST_SOURCE_DIR
                                "/data/use-lite.h5 does not hold: only layer 0 can be fed with tokens (q and k of a "
                                "later layer can be given by model.qk)");
  model_section_number(section, "layer", 2);
  assert_null(model_open(section, 1, &err));
  assert_string_equal(err.text, "model.layer: 2; " TEST_SOURCE_DIR "/data/use-lite.h5 has layers 0 to 1");
  section_free(section);
}

/* Tensors of schemes: FILE:/dataset, lists, and by name in a weights file. */
static void tensors_of_schemes_are_found(void **state) {
  (void)state;
  write_file(&(struct change){.drop = NULL});
  float *data = NULL;
  size_t dim[4];
  unsigned rank = 0;
  char *from = NULL;
  struct error err;
  char name[600];
  snprintf(name, sizeof name, "%s:/layer0/b_q", path);
  struct key_value value = {.given = true, .text = name};
  assert_int_equal(model_read_tensor(&value, &data, dim, &rank, &from, &err), 0);
  assert_true(rank == 2 && dim[0] == 2 && dim[1] == 2 && dim[2] == 1 && data[3] == 4);
  assert_string_equal(from, name);
  free(data);
  free(from);
  double list[3] = {1, 2, 3};
  struct key_value listed = {.given = true, .list = list, .count = 3, .rank = 1, .dim = {3}};
  assert_int_equal(model_read_tensor(&listed, &data, dim, &rank, &from, &err), 0);
  assert_true(rank == 1 && dim[0] == 3 && data[2] == 3);
  free(data);
  free(from);
  char text_file[] = "table.txt";
  struct key_value wrong = {.given = true, .text = text_file};
  assert_int_equal(model_read_tensor(&wrong, &data, dim, &rank, &from, &err), ERROR_FILE_CONTENT);
  assert_string_equal(err.text, "table.txt: a tensor is given as FILE.h5:/dataset or FILE.npy");
  assert_int_equal(model_read_scheme_tensor(path, "embeddings", &data, dim, &rank, &err), 0);
  assert_true(rank == 2 && dim[0] == IDS && dim[1] == D);
  free(data);
  assert_int_equal(model_read_scheme_tensor(path, "table", &data, dim, &rank, &err), 0);
  assert_null(data);
}

int main(void) {
  H5dont_atexit();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_a_file_leaves_out_has_defaults), cmocka_unit_test(what_training_used_is_read),
      cmocka_unit_test(parts_that_do_not_fit_are_named),     cmocka_unit_test(other_layers_are_refused_with_the_reason),
      cmocka_unit_test(tensors_of_schemes_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
