#include "golden_file.h"

#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* HDF5's identifiers are kept as int64_t so that the header needs no HDF5. */
_Static_assert(sizeof(hid_t) == sizeof(int64_t), "hid_t is 64 bits wide");

enum { PATH_SIZE = 512 };

static void join_path(char *path, const char *group, const char *name) {
  int length = snprintf(path, PATH_SIZE, "/%s%s%s", group, *group && *name ? "/" : "", name);
  if (length < 0 || length >= PATH_SIZE) {
    fail_msg("path of %s/%s is too long", group, name);
  }
}

static herr_t count_group(hid_t root, const char *name, const H5L_info_t *info, void *context) {
  (void)root;
  (void)name;
  (void)info;
  (*(size_t *)context)++;
  return 0;
}

static herr_t add_group(hid_t root, const char *name, const H5L_info_t *info, void *context) {
  (void)info;
  golden_file *file = context;
  hid_t object = H5Oopen(root, name, H5P_DEFAULT);
  bool is_group = H5Iget_type(object) == H5I_GROUP;
  if (object < 0 || H5Oclose(object) < 0) {
    return -1;
  }
  if (!is_group) {
    return 0;
  }
  file->cases[file->n_cases] = strdup(name);
  return file->cases[file->n_cases++] ? 0 : -1;
}

void golden_file_open(golden_file *file, const char *name) {
  memset(file, 0, sizeof *file);
  snprintf(file->name, sizeof file->name, "%s", name);
  char path[PATH_SIZE];
  int length = snprintf(path, sizeof path, "%s/%s", TEST_GOLDEN_DIR, name);
  if (length < 0 || (size_t)length >= sizeof path) {
    fail_msg("path of %s is too long", name);
  }
  file->handle = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file->handle < 0) {
    fail_msg("%s cannot be opened", path);
  }
  size_t n_links = 0;
  if (H5Literate(file->handle, H5_INDEX_NAME, H5_ITER_INC, NULL, count_group, &n_links) < 0) {
    fail_msg("%s: its cases cannot be listed", name);
  }
  file->cases = calloc(n_links + 1, sizeof *file->cases);
  if (!file->cases || H5Literate(file->handle, H5_INDEX_NAME, H5_ITER_INC, NULL, add_group, file) < 0) {
    fail_msg("%s: its cases cannot be listed", name);
  }
}

void golden_file_close(golden_file *file) {
  for (size_t i = 0; i < file->n_cases; i++) {
    free(file->cases[i]);
  }
  free(file->cases);
  if (H5Fclose(file->handle) < 0) {
    fail_msg("%s cannot be closed", file->name);
  }
  memset(file, 0, sizeof *file);
}

bool golden_has(const golden_file *file, const char *group, const char *name) {
  char path[PATH_SIZE];
  join_path(path, group, name);
  /* Every group on the way must exist before HDF5 may be asked for the next. */
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    bool exists = H5Lexists(file->handle, path, H5P_DEFAULT) > 0;
    *slash = '/';
    if (!exists) {
      return false;
    }
  }
  return H5Lexists(file->handle, path, H5P_DEFAULT) > 0;
}

golden_array golden_read(const golden_file *file, const char *group, const char *name) {
  golden_array array = {.rank = 0, .n = 1};
  char path[PATH_SIZE];
  join_path(path, group, name);
  if (!golden_has(file, group, name)) {
    fail_msg("%s: there is no %s", file->name, path);
  }
  hid_t dataset = H5Dopen2(file->handle, path, H5P_DEFAULT);
  hid_t space = H5Dget_space(dataset);
  hsize_t dims[H5S_MAX_RANK];
  int rank = H5Sget_simple_extent_dims(space, dims, NULL);
  if (dataset < 0 || space < 0 || rank < 0 || rank > GOLDEN_MAX_RANK) {
    fail_msg("%s: %s is not a dataset of at most %d axes", file->name, path, GOLDEN_MAX_RANK);
  }
  array.rank = (size_t)rank;
  for (size_t axis = 0; axis < GOLDEN_MAX_RANK; axis++) {
    array.dim[axis] = axis < array.rank ? (size_t)dims[axis] : 1;
    array.n *= array.dim[axis];
  }
  array.data = malloc((array.n ? array.n : 1) * sizeof *array.data);
  if (!array.data || H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.data) < 0) {
    fail_msg("%s: %s cannot be read", file->name, path);
  }
  H5Sclose(space);
  H5Dclose(dataset);
  return array;
}

void golden_array_free(golden_array *array) {
  free(array->data);
  memset(array, 0, sizeof *array);
}

float *golden_floats(const golden_array *array) {
  float *values = malloc((array->n ? array->n : 1) * sizeof *values);
  if (!values) {
    fail_msg("no memory for %zu numbers", array->n);
  }
  for (size_t i = 0; i < array->n; i++) {
    values[i] = (float)array->data[i];
  }
  return values;
}

bool golden_has_attribute(const golden_file *file, const char *group, const char *name) {
  char path[PATH_SIZE];
  join_path(path, group, "");
  return H5Aexists_by_name(file->handle, path, name, H5P_DEFAULT) > 0;
}

double golden_number(const golden_file *file, const char *group, const char *name) {
  char path[PATH_SIZE];
  join_path(path, group, "");
  if (!golden_has_attribute(file, group, name)) {
    fail_msg("%s: %s has no attribute %s", file->name, path, name);
  }
  double number = 0;
  hid_t attribute = H5Aopen_by_name(file->handle, path, name, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Aget_space(attribute);
  if (attribute < 0 || space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
      H5Aread(attribute, H5T_NATIVE_DOUBLE, &number) < 0) {
    fail_msg("%s: attribute %s of %s is not a number", file->name, name, path);
  }
  H5Sclose(space);
  H5Aclose(attribute);
  return number;
}

golden_array golden_attribute_list(const golden_file *file, const char *group, const char *name) {
  char path[256];
  join_path(path, group, "");
  if (!golden_has_attribute(file, group, name)) {
    fail_msg("%s: %s has no attribute %s", file->name, path, name);
  }
  hid_t attribute = H5Aopen_by_name(file->handle, path, name, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Aget_space(attribute);
  hssize_t count = H5Sget_simple_extent_npoints(space);
  assert_true(count > 0);
  golden_array array = {.rank = 1, .dim = {(size_t)count, 1, 1, 1, 1}, .n = (size_t)count};
  array.data = malloc(array.n * sizeof *array.data);
  assert_non_null(array.data);
  if (H5Aread(attribute, H5T_NATIVE_DOUBLE, array.data) < 0) {
    fail_msg("%s: attribute %s of %s is not a list of numbers", file->name, name, path);
  }
  H5Sclose(space);
  H5Aclose(attribute);
  return array;
}

double golden_number_or(const golden_file *file, const char *group, const char *name, double absent) {
  return golden_has_attribute(file, group, name) ? golden_number(file, group, name) : absent;
}

bool golden_text(const golden_file *file, const char *group, const char *name, char *text, size_t size) {
  text[0] = '\0';
  if (!golden_has_attribute(file, group, name)) {
    return false;
  }
  char path[PATH_SIZE];
  join_path(path, group, "");
  hid_t attribute = H5Aopen_by_name(file->handle, path, name, H5P_DEFAULT, H5P_DEFAULT);
  hid_t type = H5Aget_type(attribute);
  if (attribute < 0 || type < 0 || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0) {
    fail_msg("%s: attribute %s of %s is not a fixed-length text", file->name, name, path);
  }
  size_t length = H5Tget_size(type);
  char *whole = calloc(length + 1, 1);
  if (!whole || H5Aread(attribute, type, whole) < 0) {
    fail_msg("%s: attribute %s of %s cannot be read", file->name, name, path);
    return false;
  }
  snprintf(text, size, "%s", whole);
  free(whole);
  H5Tclose(type);
  H5Aclose(attribute);
  return true;
}

bool golden_text_is(const golden_file *file, const char *group, const char *name, const char *text) {
  char value[PATH_SIZE];
  return golden_text(file, group, name, value, sizeof value) && strcmp(value, text) == 0;
}

bool golden_case_begins(const char *name, const char *beginning) {
  return strncmp(name, beginning, strlen(beginning)) == 0;
}
