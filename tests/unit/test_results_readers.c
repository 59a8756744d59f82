/* What other readers stumble over, looked for in every object of a results file: the faults H05, H07, H09 and H11 that
 * people met elsewhere (sources beside each test). H01 and H03, locks and kills, are tests/faults/faults_h0*.py. */
#include "results/results.h"
#include "sample_results.h"

#include <hdf5.h>
#include <hdf5_hl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hid_t open_image(const void *bytes, size_t count) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  assert_true(H5Pset_fapl_core(access, 1 << 16, false) >= 0);
  void *copy = malloc(count);
  assert_non_null(copy);
  memcpy(copy, bytes, count);
  assert_true(H5Pset_file_image(access, copy, count) >= 0);
  hid_t file = H5Fopen("image", H5F_ACC_RDONLY, access);
  H5Pclose(access);
  free(copy);
  return file;
}

static hid_t open_sample(struct sample_results *sample) {
  struct error err;
  void *bytes;
  size_t count;
  sample_results_make(sample, "gr\u00f6\u00dfer, \"quoted\" 'single' `id` </script>");
  assert_int_equal(results_image(&sample->file, &bytes, &count, &err), 0);
  hid_t file = open_image(bytes, count);
  assert_true(file >= 0);
  free(bytes);
  return file;
}

/* Number of objects that a visit looked at. */
struct visit {
  size_t datasets, attributes;
};

/* Tensors and axes: IEEE float32 and float64 or integers, little-endian; filters that HDF5 always has. */
static herr_t check_types(hid_t file, const char *path, const H5O_info_t *info, void *data) {
  struct visit *visit = data;
  if (info->type != H5O_TYPE_DATASET || !strncmp(path, "run/", 4)) {
    return 0;
  }
  hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT), type = H5Dget_type(dataset), how = H5Dget_create_plist(dataset);
  const hid_t allowed[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I32LE, H5T_STD_I64LE, H5T_STD_U8LE};
  bool found = false;
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
    found = found || H5Tequal(type, allowed[i]) > 0;
  }
  if (!found) {
    fail_msg("%s has a type that some readers lack", path);
  }
  for (int i = 0; i < H5Pget_nfilters(how); i++) {
    unsigned flags, config;
    size_t n = 0;
    H5Z_filter_t filter = H5Pget_filter2(how, (unsigned)i, &flags, &n, NULL, 0, NULL, &config);
    assert_true(filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_FLETCHER32);
  }
  visit->datasets++;
  H5Pclose(how);
  H5Tclose(type);
  H5Dclose(dataset);
  return 0;
}

/* HDFGroup/hdfview#335, h5web#1757: half floats and plug-in filters. */
static void test_h07_types_and_filters(void **state) {
  (void)state;
  struct sample_results sample;
  struct visit visit = {0};
  hid_t file = open_sample(&sample);
  assert_true(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, check_types, &visit) >= 0);
  assert_true(visit.datasets > 5);
  H5Fclose(file);
  sample_results_free(&sample);
}

static herr_t check_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data) {
  struct visit *visit = data;
  (void)info;
  hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
  /* CLASS and NAME are the dimension scales' own, which HDF5 writes. */
  if (H5Tget_class(type) == H5T_STRING && strcmp(name, "CLASS") != 0 && strcmp(name, "NAME") != 0) {
    if (H5Tis_variable_str(type) <= 0 || H5Tget_cset(type) != H5T_CSET_UTF8) {
      fail_msg("attribute %s is no variable-length UTF-8 text", name);
    }
    visit->attributes++;
  }
  H5Tclose(type);
  H5Aclose(attribute);
  return 0;
}

static herr_t check_texts(hid_t file, const char *path, const H5O_info_t *info, void *data) {
  hid_t object = H5Oopen(file, path, H5P_DEFAULT);
  assert_true(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, check_attribute, data) >= 0);
  if (info->type == H5O_TYPE_DATASET && strncmp(path, "run/", 4) != 0) {
    hid_t type = H5Dget_type(object);
    assert_int_not_equal(H5Tget_class(type), H5T_STRING);
    H5Tclose(type);
  }
  H5Oclose(object);
  return 0;
}

/* h5netcdf#14, HDF5-CSharp#26: texts that one reader opens and the next cannot. */
static void test_h09_texts(void **state) {
  (void)state;
  struct sample_results sample;
  struct visit visit = {0};
  hid_t file = open_sample(&sample);
  assert_true(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, check_texts, &visit) >= 0);
  assert_true(visit.attributes > 10);
  H5Fclose(file);
  sample_results_free(&sample);
}

static herr_t check_scales(hid_t file, const char *path, const H5O_info_t *info, void *data) {
  struct visit *visit = data;
  if (info->type != H5O_TYPE_DATASET || !strncmp(path, "run/", 4)) {
    return 0;
  }
  hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT), space = H5Dget_space(dataset);
  int rank = H5Sget_simple_extent_ndims(space);
  for (int i = 0; i < rank && H5DSis_scale(dataset) <= 0; i++) {
    if (H5DSget_num_scales(dataset, (unsigned)i) != 1) {
      fail_msg("%s: dimension %d has no scale, or several", path, i);
    }
    visit->datasets++;
  }
  H5Sclose(space);
  H5Dclose(dataset);
  return 0;
}

/* xarray#10049, h5netcdf#43: opens without an extra argument, dimensions named. */
static void test_h11_scales_on_every_dimension(void **state) {
  (void)state;
  struct sample_results sample;
  struct visit visit = {0};
  hid_t file = open_sample(&sample);
  assert_true(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, check_scales, &visit) >= 0);
  assert_true(visit.datasets > 5);
  H5Fclose(file);
  sample_results_free(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_h07_types_and_filters), cmocka_unit_test(test_h09_texts),
                                     cmocka_unit_test(test_h11_scales_on_every_dimension)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
