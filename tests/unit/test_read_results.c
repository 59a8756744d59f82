/* Results files read back: writing what was read gives the same bytes; what is not a results file is refused. */
#include "results/read_results.h"
#include "sample_results.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER TEST_BUILD_DIR "/test-read-results/"

static void write_sample(const char *path) {
  struct sample_results sample;
  struct error err;
  sample_results_make(&sample, "größer \"x\"\n");
  assert_int_equal(results_write(path, &sample.file, &err), 0);
  sample_results_free(&sample);
}

static void read_sample(struct results_read *results, const char *path) {
  struct error err = {0};
  write_sample(path);
  if (results_read(path, results, &err)) {
    fail_msg("%s", err.text);
  }
}

static void test_writing_it_again_gives_the_same_bytes(void **state) {
  (void)state;
  struct sample_results sample;
  struct results_read results;
  struct error err;
  void *bytes[2];
  size_t count[2];
  sample_results_make(&sample, "größer \"x\"\n");
  assert_int_equal(results_image(&sample.file, &bytes[0], &count[0], &err), 0);
  sample_results_free(&sample);
  read_sample(&results, FOLDER "again.h5");
  assert_int_equal(results_image(&results.file, &bytes[1], &count[1], &err), 0);
  results_read_free(&results);
  assert_int_equal(count[0], count[1]);
  assert_memory_equal(bytes[0], bytes[1], count[0]);
  free(bytes[0]);
  free(bytes[1]);
}

static void test_file_and_texts(void **state) {
  (void)state;
  struct results_read results;
  read_sample(&results, FOLDER "file.h5");
  assert_string_equal(results.file.title, "größer \"x\"\n");
  assert_string_equal(results.file.status, "complete");
  assert_string_equal(results.file.shown, "extrapolation");
  assert_int_equal(results.file.n_experiments, 2);
  assert_string_equal(results.file.experiments[0].label, "extrapolation");
  assert_string_equal(results.file.experiments[0].shown, "comparison");
  assert_int_equal(results.file.experiments[0].count, 3);
  assert_int_equal(results.file.experiments[1].count, 1);
  assert_string_equal(results_find_text(&results.file, "config")->text, "title: größer\nseed: 17\n");
  assert_true(results_find_text(&results.file, "versions")->json);
  assert_null(results_find_text(&results.file, "nothing"));
  assert_null(results_find(&results.file, "extrapolation", "alibi"));
  results_read_free(&results);
}

static void test_records(void **state) {
  (void)state;
  struct results_read results;
  read_sample(&results, FOLDER "records.h5");
  const struct record *rope = results_find(&results.file, "extrapolation", "rope");
  assert_string_equal(rope->experiment, "extrapolation");
  assert_int_equal(rope->seed, 17);
  assert_int_equal(rope->status, RECORD_MEASURED);
  assert_int_equal(rope->count, 4);
  assert_string_equal(rope->signal, "mass_beyond");
  assert_int_equal(rope->attributes.count, 4);
  assert_true(attributes_find(&rope->attributes, "base")->real == 10000.5);
  assert_true(attributes_find(&rope->attributes, "inv_freq")->list[1] == 0.1);
  const struct tensor *mass = record_find(rope, "mass_beyond");
  assert_int_equal(mass->rank, 2);
  assert_int_equal(mass->element, ELEMENT_F64);
  assert_string_equal(mass->axis[0].name, "length");
  assert_string_equal(mass->axis[0].long_name, "sequence length");
  assert_true(mass->axis[0].log_values);
  assert_false(mass->axis[0].real);
  assert_true(mass->axis[0].values[3] == 1024);
  assert_true(tensor_value(mass, 6) == 0.75 && isnan(tensor_value(mass, 7)));
  assert_true(tensor_value(record_find(rope, "samples"), 3) == 0x1p40);
  assert_int_equal(record_find(rope, "noise_floor")->rank, 0);
  const struct record *broken = results_find(&results.file, "extrapolation", "broken");
  assert_int_equal(broken->status, RECORD_FAILED);
  assert_int_equal(broken->error.code, ERROR_JOB_CRASHED);
  assert_string_equal(broken->error.text, "broken: signal 11 while it was computing");
  const struct record *comparison = results_find(&results.file, "extrapolation", "comparison");
  assert_true(record_find(comparison, "rope")->log_values);
  assert_string_equal(record_find(comparison, "rope")->units, "nat");
  assert_true(results_find(&results.file, "relative_position", "rope")->tensors[0].image);
  results_read_free(&results);
}

/* An axis without entries. */
static void test_empty_tensor(void **state) {
  (void)state;
  struct error err;
  struct record record = {.experiment = "e", .label = "rope"};
  struct tensor_spec spec = {.name = "found", .element = ELEMENT_F64, .rank = 1, .axis = {{.name = "permutation"}}};
  assert_non_null(record_add(&record, &spec, &err));
  const struct record *records[] = {&record};
  struct results_experiment experiment = {.label = "e", .records = records, .count = 1};
  struct results_file file = {.status = "partial", .experiments = &experiment, .n_experiments = 1};
  assert_int_equal(results_write(FOLDER "empty.h5", &file, &err), 0);
  record_free(&record);
  struct results_read results;
  assert_int_equal(results_read(FOLDER "empty.h5", &results, &err), 0);
  assert_int_equal(record_find(results_find(&results.file, "e", "rope"), "found")->count, 0);
  results_read_free(&results);
}

static void assert_refused(const char *path, enum error_code code, const char *text) {
  struct results_read results;
  struct error err = {0};
  assert_int_equal(results_read(path, &results, &err), code);
  if (!strstr(err.text, text)) {
    fail_msg("'%s' is not in '%s'", text, err.text);
  }
  assert_null(results.records);
}

/* Open the sample for an edit by `change`. */
static const char *edited(const char *path, void (*change)(hid_t file)) {
  write_sample(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(file >= 0);
  change(file);
  assert_true(H5Fclose(file) >= 0);
  return path;
}

static void make_newer(hid_t file) {
  int64_t version = 2;
  hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
  assert_true(H5Awrite(attribute, H5T_NATIVE_INT64, &version) >= 0);
  H5Aclose(attribute);
}

static void link_out(hid_t file) {
  assert_true(H5Lcreate_external("/etc/hostname", "/x", file, "/extrapolation/rope/stolen", H5P_DEFAULT, H5P_DEFAULT) >=
              0);
}

static void add_compound(hid_t file) {
  hid_t type = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(type, "a", 0, H5T_NATIVE_INT);
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t dataset = H5Dcreate2(file, "/extrapolation/rope/odd", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(dataset >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Tclose(type);
}

static void store_outside(hid_t file) {
  hid_t create = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_external(create, "/etc/hostname", 0, 4) >= 0);
  hid_t space = H5Screate_simple(1, &(hsize_t){1}, NULL);
  hid_t dataset =
      H5Dcreate2(file, "/extrapolation/rope/odd", H5T_NATIVE_INT32, space, H5P_DEFAULT, create, H5P_DEFAULT);
  assert_true(dataset >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Pclose(create);
}

static void test_refusals(void **state) {
  (void)state;
  assert_refused(FOLDER "missing.h5", ERROR_FILE_READ, "missing.h5");
  assert_refused("/dev/null", ERROR_FILE_REFUSED, "/dev/null");
  assert_refused(TEST_SOURCE_DIR "/CMakeLists.txt", ERROR_FILE_CONTENT, "is not an HDF5 file");
  assert_refused(TEST_GOLDEN_DIR "/rope.h5", ERROR_FILE_CONTENT, "is an HDF5 file, but not one that pe-run wrote");
  assert_refused(edited(FOLDER "newer.h5", make_newer), ERROR_FILE_CONTENT,
                 "is of format version 2; this pe-run reads up to 1");
  assert_refused(edited(FOLDER "link.h5", link_out), ERROR_FILE_REFUSED,
                 "/extrapolation/rope/stolen is a link to elsewhere");
  assert_refused(edited(FOLDER "compound.h5", add_compound), ERROR_FILE_CONTENT, "/extrapolation/rope/odd");
  assert_refused(edited(FOLDER "outside.h5", store_outside), ERROR_FILE_REFUSED, "keeps its values in another file");
}

static char *read_bytes(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *bytes = malloc(1 << 20);
  *count = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static void test_files_cut_short(void **state) {
  (void)state;
  static const char path[] = FOLDER "cut.h5";
  write_sample(path);
  size_t count;
  char *bytes = read_bytes(path, &count);
  for (size_t part = 0; part < 20; part++) {
    struct error err = {0};
    struct results_read results;
    assert_int_equal(results_put(path, bytes, count * part / 20, &err), 0);
    assert_int_not_equal(results_read(path, &results, &err), 0);
    assert_non_null(strstr(err.text, path));
  }
  free(bytes);
}

/* Where the only chunk of a dataset lies in the file. */
static haddr_t chunk_address(const char *path, const char *name) {
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  hsize_t offset[3], size;
  unsigned mask;
  haddr_t address;
  hid_t space = H5Dget_space(dataset);
  assert_true(H5Dget_chunk_info(dataset, space, 0, offset, &mask, &address, &size) >= 0);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  return address;
}

static void test_a_flipped_bit_in_a_tensor_is_noticed(void **state) {
  (void)state;
  static const char path[] = FOLDER "flipped.h5";
  write_sample(path);
  haddr_t address = chunk_address(path, "/relative_position/rope/logits");
  size_t count;
  char *bytes = read_bytes(path, &count);
  bytes[address + 5] = (char)(bytes[address + 5] ^ 4);
  struct error err = {0};
  assert_int_equal(results_put(path, bytes, count, &err), 0);
  free(bytes);
  assert_refused(path, ERROR_FILE_READ, "/relative_position/rope/logits cannot be read");
}

int main(void) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_writing_it_again_gives_the_same_bytes),
      cmocka_unit_test(test_file_and_texts),
      cmocka_unit_test(test_records),
      cmocka_unit_test(test_empty_tensor),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_files_cut_short),
      cmocka_unit_test(test_a_flipped_bit_in_a_tensor_is_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
