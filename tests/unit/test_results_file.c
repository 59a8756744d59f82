/* The results file, read back with HDF5's own C interface. Expected values: sample_results.c; expected layout:
 * docs/results-format.md. */
#include "results/results.h"
#include "sample_results.h"

#include <hdf5.h>
#include <hdf5_hl.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HOSTILE "a \"b\" 'c' `id` </script> \u00fc\n"

static hid_t open_image(const void *bytes, size_t count) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  assert_true(H5Pset_fapl_core(access, 1 << 16, false) >= 0);
  void *copy = malloc(count);
  memcpy(copy, bytes, count);
  assert_true(H5Pset_file_image(access, copy, count) >= 0);
  hid_t file = H5Fopen("image", H5F_ACC_RDONLY, access);
  assert_true(file >= 0);
  H5Pclose(access);
  free(copy);
  return file;
}

static hid_t write_sample(struct sample_results *sample, const char *title) {
  struct error err;
  void *bytes;
  size_t count;
  sample_results_make(sample, title);
  assert_int_equal(results_image(&sample->file, &bytes, &count, &err), 0);
  hid_t file = open_image(bytes, count);
  free(bytes);
  return file;
}

static void assert_text_attribute(hid_t file, const char *object, const char *name, const char *expected) {
  hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(attribute >= 0);
  hid_t type = H5Aget_type(attribute);
  assert_true(H5Tis_variable_str(type) > 0);
  assert_int_equal(H5Tget_cset(type), H5T_CSET_UTF8);
  hid_t space = H5Aget_space(attribute);
  char *text[4] = {0};
  hssize_t count = H5Sget_simple_extent_npoints(space);
  assert_in_range(count, 1, 4);
  assert_true(H5Aread(attribute, type, text) >= 0);
  char joined[2000] = "";
  for (hssize_t i = 0; i < count; i++) {
    snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i ? "," : "", text[i]);
    H5free_memory(text[i]);
  }
  assert_string_equal(joined, expected);
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(attribute);
}

static void assert_no_attribute(hid_t file, const char *object, const char *name) {
  assert_int_equal(H5Aexists_by_name(file, object, name, H5P_DEFAULT), 0);
}

static void assert_numbers(hid_t file, const char *object, const char *name, const double *expected, hssize_t count,
                           hid_t kept_as) {
  hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(attribute >= 0);
  hid_t type = H5Aget_type(attribute);
  assert_true(H5Tequal(type, kept_as) > 0);
  hid_t space = H5Aget_space(attribute);
  assert_int_equal(H5Sget_simple_extent_npoints(space), count);
  double values[8];
  assert_true(H5Aread(attribute, H5T_NATIVE_DOUBLE, values) >= 0);
  for (hssize_t i = 0; i < count; i++) {
    assert_true(values[i] == expected[i] || (isnan(values[i]) && isnan(expected[i])));
  }
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(attribute);
}

/* A dataset's type and the names of its scales, "length,head". */
static hid_t open_dataset(hid_t file, const char *path, hid_t kept_as, const char *scales) {
  hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
  assert_true(dataset >= 0);
  hid_t type = H5Dget_type(dataset);
  assert_true(H5Tequal(type, kept_as) > 0);
  H5Tclose(type);
  char names[200] = "";
  char rest[200];
  snprintf(rest, sizeof rest, "%s", scales);
  unsigned dimension = 0;
  for (char *name = strtok(rest, ","); name; name = strtok(NULL, ",")) {
    assert_int_equal(H5DSget_num_scales(dataset, dimension), 1);
    char group[200];
    snprintf(group, sizeof group, "%s", path);
    snprintf(strrchr(group, '/') + 1, 100, "%s", name);
    hid_t scale = H5Dopen2(file, group, H5P_DEFAULT);
    assert_true(scale >= 0);
    assert_true(H5DSis_attached(dataset, scale, dimension++) > 0);
    assert_true(H5DSget_scale_name(scale, names, sizeof names) > 0);
    assert_string_equal(names, name);
    H5Dclose(scale);
  }
  return dataset;
}

static void test_root_and_default_chain(void **state) {
  (void)state;
  struct sample_results sample;
  hid_t file = write_sample(&sample, HOSTILE);
  assert_text_attribute(file, "/", "NX_class", "NXroot");
  assert_text_attribute(file, "/", "default", "extrapolation");
  assert_text_attribute(file, "/", "title", HOSTILE);
  assert_text_attribute(file, "/", "creator", "pe-run 0.1.0");
  assert_text_attribute(file, "/", "format", "pe-run");
  assert_numbers(file, "/", "format_version", (double[]){1}, 1, H5T_STD_I64LE);
  assert_text_attribute(file, "/", "Conventions", "CF-1.8");
  assert_text_attribute(file, "/", "status", "complete");
  assert_text_attribute(file, "/extrapolation", "NX_class", "NXentry");
  assert_text_attribute(file, "/extrapolation", "default", "comparison");
  assert_text_attribute(file, "/extrapolation", "title", "What happens past the training length?");
  assert_text_attribute(file, "/relative_position", "default", "rope");
  H5Fclose(file);
  sample_results_free(&sample);
}

static void test_comparison(void **state) {
  (void)state;
  struct sample_results sample;
  hid_t file = write_sample(&sample, "t");
  const char *group = "/extrapolation/comparison";
  assert_text_attribute(file, group, "NX_class", "NXdata");
  assert_text_attribute(file, group, "signal", "rope");
  assert_text_attribute(file, group, "axes", "length");
  assert_text_attribute(file, group, "auxiliary_signals", "broken");
  assert_text_attribute(file, group, "SILX_style",
                        "{\"axes_scale_type\":[\"log\"],\"axes_scale_types\":[\"log\"],\"signal_scale_type\":\"log\"}");
  hid_t curve = open_dataset(file, "/extrapolation/comparison/rope", H5T_IEEE_F64LE, "length");
  double values[4];
  assert_true(H5Dread(curve, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  assert_true(values[0] == 1 && values[3] == exp(-3.0));
  H5Dclose(curve);
  assert_text_attribute(file, "/extrapolation/comparison/rope", "long_name", "rope: truncation divergence");
  assert_text_attribute(file, "/extrapolation/comparison/rope", "units", "nat");
  assert_numbers(file, "/extrapolation/comparison/rope", "_FillValue", (double[]){NAN}, 1, H5T_IEEE_F64LE);
  H5Dclose(open_dataset(file, "/extrapolation/comparison/broken_status", H5T_STD_U8LE, "length"));
  assert_text_attribute(file, "/extrapolation/comparison/broken_status", "flag_meanings",
                        "measured undefined failed not_run");
  assert_numbers(file, "/extrapolation/comparison/broken_status", "flag_values", (double[]){0, 1, 2, 3}, 4,
                 H5T_STD_U8LE);
  H5Fclose(file);
  sample_results_free(&sample);
}

static void test_record_of_a_scheme(void **state) {
  (void)state;
  struct sample_results sample;
  hid_t file = write_sample(&sample, "t");
  const char *group = "/extrapolation/rope";
  assert_text_attribute(file, group, "signal", "mass_beyond");
  assert_text_attribute(file, group, "axes", "length,head");
  assert_text_attribute(file, group, "status", "measured");
  assert_text_attribute(file, group, "scheme", "rope");
  assert_no_attribute(file, group, "error");
  assert_no_attribute(file, group, "auxiliary_signals");
  assert_numbers(file, group, "seed", (double[]){17}, 1, H5T_STD_I64LE);
  assert_numbers(file, group, "train_length", (double[]){128}, 1, H5T_STD_I64LE);
  assert_numbers(file, group, "base", (double[]){10000.5}, 1, H5T_IEEE_F64LE);
  assert_numbers(file, group, "inv_freq", (double[]){1, 0.1}, 2, H5T_IEEE_F64LE);
  hid_t mass = open_dataset(file, "/extrapolation/rope/mass_beyond", H5T_IEEE_F64LE, "length,head");
  double values[8];
  assert_true(H5Dread(mass, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  assert_true(values[6] == 0.75 && isnan(values[7]));
  hid_t create = H5Dget_create_plist(mass);
  assert_int_equal(H5Pget_nfilters(create), 3);
  H5Pclose(create);
  H5Dclose(mass);
  hid_t samples = open_dataset(file, "/extrapolation/rope/samples", H5T_STD_I64LE, "length");
  int64_t counts[4];
  assert_true(H5Dread(samples, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts) >= 0);
  assert_true(counts[3] == INT64_C(1) << 40);
  H5Dclose(samples);
  assert_text_attribute(file, "/extrapolation/rope/samples", "doc", "texts that reach the length");
  assert_text_attribute(file, "/extrapolation/rope/defined", "flag_meanings", "no yes");
  H5Dclose(open_dataset(file, "/extrapolation/rope/noise_floor", H5T_IEEE_F64LE, ""));
  H5Dclose(open_dataset(file, "/extrapolation/rope/length", H5T_STD_I32LE, ""));
  assert_text_attribute(file, "/extrapolation/rope/length", "long_name", "sequence length");
  H5Fclose(file);
  sample_results_free(&sample);
}

static void test_failed_record_has_its_reason(void **state) {
  (void)state;
  struct sample_results sample;
  hid_t file = write_sample(&sample, "t");
  assert_text_attribute(file, "/extrapolation/broken", "NX_class", "NXcollection");
  assert_text_attribute(file, "/extrapolation/broken", "status", "failed");
  assert_text_attribute(file, "/extrapolation/broken", "error_id", "E0706");
  assert_text_attribute(file, "/extrapolation/broken", "error", "broken: signal 11 while it was computing");
  H5Fclose(file);
  sample_results_free(&sample);
}

static void test_one_axis_twice_makes_two_scales(void **state) {
  (void)state;
  struct sample_results sample;
  hid_t file = write_sample(&sample, "t");
  H5Dclose(open_dataset(file, "/relative_position/rope/logits", H5T_IEEE_F32LE, "head,query,key"));
  assert_text_attribute(file, "/relative_position/rope/logits", "interpretation", "image");
  H5Dclose(open_dataset(file, "/relative_position/rope/shift_error", H5T_IEEE_F32LE, "shift,position,position_2"));
  hid_t shift = open_dataset(file, "/relative_position/rope/shift", H5T_IEEE_F64LE, "");
  double values[2];
  assert_true(H5Dread(shift, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  assert_true(values[0] == 0.5 && values[1] == 1e6);
  H5Dclose(shift);
  H5Fclose(file);
  sample_results_free(&sample);
}

static void assert_text_dataset(hid_t file, const char *path, const char *expected) {
  hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
  assert_true(dataset >= 0);
  hid_t type = H5Dget_type(dataset);
  char *text = NULL;
  assert_true(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0);
  assert_string_equal(text, expected);
  H5free_memory(text);
  H5Tclose(type);
  H5Dclose(dataset);
}

static void test_texts(void **state) {
  (void)state;
  struct sample_results sample;
  hid_t file = write_sample(&sample, "t");
  assert_text_dataset(file, "/run/config", "title: größer\nseed: 17\n");
  assert_text_attribute(file, "/run/versions", "NX_class", "NXnote");
  assert_text_dataset(file, "/run/versions/data", "{\"pe-run\": \"0.1.0\"}");
  assert_text_dataset(file, "/run/versions/type", "application/json");
  H5Fclose(file);
  sample_results_free(&sample);
}

/* Attributes and texts around the 64 KiB where fixed-length ones break (h5py issue 1855), and beyond. */
static void test_h05_long_texts(void **state) {
  (void)state;
  static const size_t lengths[] = {0, 65496, 65497, 65504, 200000};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    struct sample_results sample;
    struct error err;
    sample_results_make(&sample, "t");
    char *text = malloc(lengths[i] + 1);
    memset(text, 'x', lengths[i]);
    text[lengths[i]] = '\0';
    sample.texts[0].text = text;
    assert_int_equal(attributes_set_text(&sample.records[0].attributes, "config", text, &err), 0);
    void *bytes;
    size_t count;
    assert_int_equal(results_image(&sample.file, &bytes, &count, &err), 0);
    hid_t file = open_image(bytes, count);
    hid_t attribute = H5Aopen_by_name(file, "/extrapolation/rope", "config", H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    char *back = NULL;
    assert_true(H5Aread(attribute, type, &back) >= 0);
    assert_string_equal(back, text);
    H5free_memory(back);
    H5Tclose(type);
    H5Aclose(attribute);
    assert_text_dataset(file, "/run/config", text);
    H5Fclose(file);
    free(bytes);
    free(text);
    sample_results_free(&sample);
  }
}

static char *read_file(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *bytes = malloc(1 << 20);
  *count = fread(bytes, 1, 1 << 20, file);
  assert_in_range(*count, 1, (1 << 20) - 1);
  fclose(file);
  return bytes;
}

static void test_same_input_same_bytes(void **state) {
  (void)state;
  const char *paths[] = {TEST_BUILD_DIR "/test-results/one.h5", TEST_BUILD_DIR "/test-results/sub/a longer name.h5"};
  char *bytes[2];
  size_t count[2];
  for (int i = 0; i < 2; i++) {
    struct sample_results sample;
    struct error err;
    /* Memory that was used before must not show in the file. */
    mallopt(M_PERTURB, i ? 0xa5 : 0);
    sample_results_make(&sample, "t");
    assert_int_equal(results_write(paths[i], &sample.file, &err), 0);
    sample_results_free(&sample);
    bytes[i] = read_file(paths[i], &count[i]);
    sleep(i ? 0 : 1); /* the clock must not show either */
  }
  mallopt(M_PERTURB, 0);
  assert_int_equal(count[0], count[1]);
  assert_memory_equal(bytes[0], bytes[1], count[0]);
  free(bytes[0]);
  free(bytes[1]);
}

static void test_large_tensor_is_cut_into_chunks_of_rows(void **state) {
  (void)state;
  struct error err;
  struct record record = {.experiment = "attention", .label = "none"};
  struct tensor *tensor = record_add(
      &record,
      &(struct tensor_spec){
          .name = "logits",
          .element = ELEMENT_F32,
          .rank = 3,
          .axis = {{.name = "head", .length = 3}, {.name = "query", .length = 300}, {.name = "key", .length = 1000}}},
      &err);
  for (size_t i = 0; i < tensor->count; i++) {
    ((float *)tensor->data)[i] = (float)(i % 7);
  }
  const struct record *records[] = {&record};
  struct results_experiment experiment = {.label = "attention", .records = records, .count = 1};
  struct results_file results = {.status = "complete", .experiments = &experiment, .n_experiments = 1};
  void *bytes;
  size_t count;
  assert_int_equal(results_image(&results, &bytes, &count, &err), 0);
  hid_t file = open_image(bytes, count);
  hid_t dataset = open_dataset(file, "/attention/none/logits", H5T_IEEE_F32LE, "head,query,key");
  hid_t create = H5Dget_create_plist(dataset);
  hsize_t chunk[3];
  assert_int_equal(H5Pget_chunk(create, 3, chunk), 3);
  assert_int_equal(chunk[0], 1);
  assert_int_equal(chunk[1], 75); /* 300 -> 150 -> 75 rows of 4000 bytes: 300,000 bytes */
  assert_int_equal(chunk[2], 1000);
  float *back = malloc(tensor->count * sizeof *back);
  assert_true(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0);
  assert_memory_equal(back, tensor->data, tensor->count * sizeof *back);
  free(back);
  H5Pclose(create);
  H5Dclose(dataset);
  H5Fclose(file);
  free(bytes);
  record_free(&record);
}

/* An axis without entries, a record without tensors and an experiment without records still make a sound file. */
static void test_empty_things(void **state) {
  (void)state;
  struct error err;
  struct record record = {.experiment = "e", .label = "8ths"};
  assert_non_null(record_add(&record,
                             &(struct tensor_spec){.name = "found",
                                                   .element = ELEMENT_F64,
                                                   .rank = 2,
                                                   .axis = {{.name = "permutation"}, {.name = "head", .length = 4}}},
                             &err));
  const struct record *records[] = {&record};
  struct results_experiment experiments[] = {{.label = "a"}, {.label = "e", .records = records, .count = 1}};
  struct results_file results = {.status = "partial", .experiments = experiments, .n_experiments = 2};
  void *bytes;
  size_t count;
  assert_int_equal(results_image(&results, &bytes, &count, &err), 0);
  hid_t file = open_image(bytes, count);
  assert_text_attribute(file, "/", "default", "e");
  assert_no_attribute(file, "/a", "default");
  assert_text_attribute(file, "/e/x_8ths", "label", "8ths");
  H5Dclose(open_dataset(file, "/e/x_8ths/found", H5T_IEEE_F64LE, "permutation,head"));
  H5Fclose(file);
  free(bytes);
  record_free(&record);
}

static void test_axes_that_contradict_each_other(void **state) {
  (void)state;
  struct error err;
  struct record record = {.experiment = "e", .label = "rope"};
  struct tensor_spec spec = {.name = "a", .element = ELEMENT_F64, .rank = 1, .axis = {{.name = "head", .length = 4}}};
  assert_non_null(record_add(&record, &spec, &err));
  spec.name = "b";
  spec.axis[0].length = 5;
  assert_non_null(record_add(&record, &spec, &err));
  const struct record *records[] = {&record};
  struct results_experiment experiment = {.label = "e", .records = records, .count = 1};
  struct results_file results = {.status = "complete", .experiments = &experiment, .n_experiments = 1};
  void *bytes = NULL;
  size_t count = 0;
  assert_int_equal(results_image(&results, &bytes, &count, &err), ERROR_INTERNAL);
  assert_string_equal(err.text, "e/rope: axis 'head' of 'b' has other values than elsewhere");
  assert_null(bytes);
  record_free(&record);
}

static void test_nothing_stays_open(void **state) {
  (void)state;
  assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_root_and_default_chain),
      cmocka_unit_test(test_comparison),
      cmocka_unit_test(test_record_of_a_scheme),
      cmocka_unit_test(test_failed_record_has_its_reason),
      cmocka_unit_test(test_one_axis_twice_makes_two_scales),
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_h05_long_texts),
      cmocka_unit_test(test_same_input_same_bytes),
      cmocka_unit_test(test_large_tensor_is_cut_into_chunks_of_rows),
      cmocka_unit_test(test_empty_things),
      cmocka_unit_test(test_axes_that_contradict_each_other),
      cmocka_unit_test(test_nothing_stays_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
