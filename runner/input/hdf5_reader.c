#include "input/hdf5_reader.h"

#include "base/memory.h"
#include "input/hdf5_dataset.h"
#include "input/hdf5_superblock.h"
#include "input/hdf5_transfer.h"
#include "input/regular_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Texts of varying length lie in a heap that several elements may share, so that their sum is not bounded by the file.
 */
enum { TEXTS_AT_ONCE = 64, MOST_TEXT_BYTES = 64 << 20, MOST_TEXTS = 16 << 20 };

/* Open read-only, with nothing loaded and nothing printed; negative with the library's reason. */
static hid_t open_quietly(const char *path, bool locked, char *reason, size_t size) {
  snprintf(reason, size, "the HDF5 library cannot be set up");
  if (H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0 || H5PLset_loading_state(0) < 0) {
    return -1;
  }
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  hid_t file = -1;
  if (access >= 0 && (locked || H5Pset_file_locking(access, false, true) >= 0)) {
    file = H5Fopen(path, H5F_ACC_RDONLY, access);
  }
  if (file < 0) {
    hdf5_reason(reason, size); /* before the next call of the library clears it */
  }
  if (access >= 0) {
    H5Pclose(access);
  }
  return file;
}

static struct hdf5_file *open_file(const char *path, bool locked, struct error *err) {
  size_t bytes = 0;
  int descriptor = regular_file_open(path, "an HDF5 file", &bytes, err);
  if (descriptor < 0) {
    return NULL;
  }
  int status = hdf5_check_superblock(descriptor, path, bytes, err);
  close(descriptor);
  if (status) {
    return NULL;
  }
  struct hdf5_file *file = memory_new(1, sizeof *file, path, err);
  char *copy = file ? memory_copy_text(path, err) : NULL;
  if (!copy) {
    free(file);
    return NULL;
  }
  char reason[256];
  *file = (struct hdf5_file){.handle = open_quietly(path, locked, reason, sizeof reason), .path = copy, .bytes = bytes};
  if (file->handle < 0) {
    error_set(err, ERROR_FILE_READ, "%s: cannot be read as HDF5: %s", path, reason);
    free(file->path);
    free(file);
    return NULL;
  }
  return file;
}

struct hdf5_file *hdf5_file_open(const char *path, struct error *err) {
  return open_file(path, true, err);
}

struct hdf5_file *hdf5_file_open_unlocked(const char *path, struct error *err) {
  return open_file(path, false, err);
}

void hdf5_file_close(struct hdf5_file *file) {
  if (file) {
    H5Fclose(file->handle);
    free(file->path);
    free(file);
  }
}

const char *hdf5_path(const struct hdf5_file *file) {
  return file->path;
}

int hdf5_has(struct hdf5_file *file, const char *name, bool *found, struct error *err) {
  char resolved[HDF5_PATH_SIZE];
  return hdf5_resolve(file->handle, file->path, name, resolved, found, err);
}

int hdf5_shape(struct hdf5_file *file, const char *name, struct hdf5_shape *shape, struct error *err) {
  struct hdf5_dataset dataset;
  int status = hdf5_dataset_open(file, name, HDF5_WANT_NUMBERS, shape, &dataset, err);
  if (!status) {
    hdf5_dataset_close(&dataset);
  }
  return status;
}

static int cannot_read(const struct hdf5_dataset *dataset, struct error *err) {
  char reason[256];
  hdf5_reason(reason, sizeof reason);
  return error_set(err, ERROR_FILE_READ, "%s: %s cannot be read: %s", dataset->file->path, dataset->name, reason);
}

/* Read the whole dataset as `type` into a new array. */
static int read_numbers(struct hdf5_file *file, const char *name, enum hdf5_wanted wanted, struct hdf5_shape *shape,
                        hid_t type, void **data, size_t *count, struct error *err) {
  struct hdf5_dataset dataset;
  int status = hdf5_dataset_open(file, name, wanted, shape, &dataset, err);
  if (status) {
    return status;
  }
  void *values = memory_new(dataset.count, H5Tget_size(type), name, err);
  if (!values) {
    status = err->code;
  } else if (hdf5_read_all(dataset.handle, type, dataset.count, values) < 0) {
    status = cannot_read(&dataset, err);
  }
  *count = dataset.count;
  hdf5_dataset_close(&dataset);
  if (status) {
    free(values);
    return status;
  }
  *data = values;
  return 0;
}

static int check_floats(const struct hdf5_file *file, const char *name, const float *values, size_t count,
                        struct error *err) {
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(values[i])) {
      return error_set(err, ERROR_FILE_CONTENT, "%s: element %zu of %s is not a finite float32 number", file->path, i,
                       name);
    }
  }
  return 0;
}

int hdf5_floats(struct hdf5_file *file, const char *name, struct hdf5_shape *shape, float **data, struct error *err) {
  void *values = NULL;
  size_t count = 0;
  int status = read_numbers(file, name, HDF5_WANT_NUMBERS, shape, H5T_NATIVE_FLOAT, &values, &count, err);
  status = status ? status : check_floats(file, name, values, count, err);
  if (status) {
    free(values);
    return status;
  }
  *data = values;
  return 0;
}

int hdf5_doubles(struct hdf5_file *file, const char *name, struct hdf5_shape *shape, double **data, struct error *err) {
  void *values = NULL;
  size_t count = 0;
  int status = read_numbers(file, name, HDF5_WANT_NUMBERS, shape, H5T_NATIVE_DOUBLE, &values, &count, err);
  for (size_t i = 0; !status && i < count; i++) {
    if (!isfinite(((const double *)values)[i])) {
      status = error_set(err, ERROR_FILE_CONTENT, "%s: element %zu of %s is not a finite number", file->path, i, name);
    }
  }
  if (status) {
    free(values);
    return status;
  }
  *data = values;
  return 0;
}

static int read_entry(const struct hdf5_dataset *dataset, size_t index, const struct hdf5_shape *shape, float *values,
                      struct error *err) {
  hsize_t start[HDF5_MAX_RANK] = {index}, length[HDF5_MAX_RANK] = {1};
  for (unsigned axis = 1; axis < shape->rank; axis++) {
    length[axis] = shape->dim[axis];
  }
  hsize_t count = dataset->count / shape->dim[0];
  hid_t memory = H5Screate_simple(1, &count, NULL);
  if (memory < 0) {
    return cannot_read(dataset, err);
  }
  bool done = H5Sselect_hyperslab(dataset->space, H5S_SELECT_SET, start, NULL, length, NULL) >= 0 &&
              H5Dread(dataset->handle, H5T_NATIVE_FLOAT, memory, dataset->space, H5P_DEFAULT, values) >= 0;
  int status = done ? 0 : cannot_read(dataset, err);
  H5Sclose(memory);
  return status;
}

int hdf5_floats_of(struct hdf5_file *file, const char *name, size_t index, struct hdf5_shape *shape, float **data,
                   struct error *err) {
  struct hdf5_dataset dataset;
  int status = hdf5_dataset_open(file, name, HDF5_WANT_NUMBERS, shape, &dataset, err);
  if (status) {
    return status;
  }
  float *values = NULL;
  if (!shape->rank || index >= shape->dim[0]) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: %s has %zu entries on its first axis; entry %zu is asked for",
                       file->path, name, shape->rank ? shape->dim[0] : (size_t)0, index);
  } else {
    size_t count = dataset.count / shape->dim[0];
    values = memory_new(count, sizeof *values, name, err);
    status = values ? read_entry(&dataset, index, shape, values, err) : (int)err->code;
    status = status ? status : check_floats(file, name, values, count, err);
  }
  hdf5_dataset_close(&dataset);
  if (status) {
    free(values);
    return status;
  }
  *data = values;
  return 0;
}

int hdf5_integers(struct hdf5_file *file, const char *name, struct hdf5_shape *shape, int32_t **data,
                  struct error *err) {
  void *wide = NULL;
  size_t count = 0;
  int status = read_numbers(file, name, HDF5_WANT_WHOLE_NUMBERS, shape, H5T_NATIVE_INT64, &wide, &count, err);
  if (status) {
    return status;
  }
  const int64_t *values = wide;
  int32_t *narrow = memory_new(count, sizeof *narrow, name, err);
  status = narrow ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < count; i++) {
    if (values[i] < INT32_MIN || values[i] > INT32_MAX) {
      status = error_set(err, ERROR_FILE_CONTENT, "%s: element %zu of %s is %lld; allowed are %d to %d", file->path, i,
                         name, (long long)values[i], INT32_MIN, INT32_MAX);
    } else {
      narrow[i] = (int32_t)values[i];
    }
  }
  free(wide);
  if (status) {
    free(narrow);
    return status;
  }
  *data = narrow;
  return 0;
}

/* A copy of a text in a field of `size` bytes, without the padding that `type` uses. */
static char *copy_field(const char *field, size_t size, hid_t type, struct error *err) {
  size_t length = strnlen(field, size);
  while (H5Tget_strpad(type) == H5T_STR_SPACEPAD && length && field[length - 1] == ' ') {
    length--;
  }
  char *copy = memory_new(length + 1, 1, "text", err);
  if (copy) {
    memcpy(copy, field, length);
  }
  return copy;
}

static int read_fixed_texts(const struct hdf5_dataset *dataset, char **texts, struct error *err) {
  size_t size = H5Tget_size(dataset->type);
  char *fields = memory_new(dataset->count, size, dataset->name, err);
  if (!fields) {
    return err->code;
  }
  int status = 0;
  if (H5Dread(dataset->handle, dataset->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, fields) < 0) {
    status = cannot_read(dataset, err);
  }
  for (size_t i = 0; !status && i < dataset->count; i++) {
    texts[i] = copy_field(fields + i * size, size, dataset->type, err);
    status = texts[i] ? 0 : (int)err->code;
  }
  free(fields);
  return status;
}

/* Copy texts first .. first + n - 1, of a dataset [count], adding their length to *total. */
static int read_some_texts(const struct hdf5_dataset *dataset, hid_t memory, size_t first, size_t n, char **texts,
                           size_t *total, struct error *err) {
  char *some[TEXTS_AT_ONCE] = {NULL};
  hsize_t start = first, length = n, zero = 0;
  if (H5Sselect_hyperslab(dataset->space, H5S_SELECT_SET, &start, NULL, &length, NULL) < 0 ||
      H5Sselect_hyperslab(memory, H5S_SELECT_SET, &zero, NULL, &length, NULL) < 0 ||
      H5Dread(dataset->handle, dataset->type, memory, dataset->space, H5P_DEFAULT, some) < 0) {
    return cannot_read(dataset, err);
  }
  int status = 0;
  for (size_t i = 0; !status && i < n; i++) {
    *total += some[i] ? strlen(some[i]) : 0;
    if (*total > MOST_TEXT_BYTES) {
      status = error_set(err, ERROR_FILE_REFUSED, "%s: the texts of %s are longer than %d bytes together",
                         dataset->file->path, dataset->name, MOST_TEXT_BYTES);
    } else {
      texts[first + i] = memory_copy_text(some[i] ? some[i] : "", err);
      status = texts[first + i] ? 0 : (int)err->code;
    }
  }
  if (H5Dvlen_reclaim(dataset->type, memory, H5P_DEFAULT, some) < 0 && !status) {
    status = cannot_read(dataset, err);
  }
  return status;
}

static int read_variable_texts(const struct hdf5_dataset *dataset, char **texts, struct error *err) {
  hsize_t at_once = TEXTS_AT_ONCE;
  hid_t memory = H5Screate_simple(1, &at_once, NULL);
  if (memory < 0) {
    return cannot_read(dataset, err);
  }
  size_t total = 0;
  int status = 0;
  for (size_t first = 0; !status && first < dataset->count; first += TEXTS_AT_ONCE) {
    size_t left = dataset->count - first;
    status = read_some_texts(dataset, memory, first, left < TEXTS_AT_ONCE ? left : TEXTS_AT_ONCE, texts, &total, err);
  }
  H5Sclose(memory);
  return status;
}

int hdf5_texts(struct hdf5_file *file, const char *name, char ***texts, size_t *count, struct error *err) {
  struct hdf5_shape shape = {.rank = 1};
  struct hdf5_dataset dataset;
  int status = hdf5_dataset_open(file, name, HDF5_WANT_TEXTS, &shape, &dataset, err);
  if (status) {
    return status;
  }
  char **list = NULL;
  if (dataset.count > MOST_TEXTS) {
    status = error_set(err, ERROR_FILE_REFUSED, "%s: %s holds %zu texts; at most %d are read", file->path, name,
                       dataset.count, MOST_TEXTS);
  } else {
    list = memory_new(dataset.count, sizeof *list, name, err);
    status = list ? 0 : (int)err->code;
  }
  if (!status) {
    status = H5Tis_variable_str(dataset.type) > 0 ? read_variable_texts(&dataset, list, err)
                                                  : read_fixed_texts(&dataset, list, err);
  }
  if (status && list) {
    hdf5_free_texts(list, dataset.count);
  }
  if (!status) {
    *texts = list;
    *count = dataset.count;
  }
  hdf5_dataset_close(&dataset);
  return status;
}

void hdf5_free_texts(char **texts, size_t count) {
  for (size_t i = 0; texts && i < count; i++) {
    free(texts[i]);
  }
  free(texts);
}
