/* Tensors of schemes: learned tables, biases and kernels that a config gives as lists or as files. */
#include "base/memory.h"
#include "input/hdf5_reader.h"
#include "input/model.h"
#include "input/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 4 };

static int take_shape(const char *from, unsigned axes, const size_t *lengths, size_t dim[4], unsigned *rank,
                      struct error *err) {
  if (axes > MOST_AXES) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: has %u axes; a tensor of a scheme has at most %d", from, axes,
                     MOST_AXES);
  }
  for (unsigned axis = 0; axis < MOST_AXES; axis++) {
    dim[axis] = axis < axes ? lengths[axis] : 1;
  }
  *rank = axes;
  return 0;
}

static int read_lists(const struct key_value *value, float **data, size_t dim[4], unsigned *rank, char **from,
                      struct error *err) {
  float *values = memory_new(value->count, sizeof *values, "a tensor", err);
  char *name = memory_copy_text("the list in the config", err);
  int status = values && name ? take_shape(name, value->rank, value->dim, dim, rank, err) : (int)err->code;
  for (size_t i = 0; !status && i < value->count; i++) {
    values[i] = (float)value->list[i];
    if (!isfinite(values[i])) {
      status = error_set(err, ERROR_FILE_CONTENT, "%s: element %zu is %g, which is not a finite float32 number", name,
                         i, value->list[i]);
    }
  }
  if (status) {
    free(values);
    free(name);
    return status;
  }
  *data = values;
  *from = name;
  return 0;
}

static int read_dataset(const char *path, const char *dataset, float **data, size_t dim[4], unsigned *rank,
                        struct error *err) {
  struct hdf5_file *file = hdf5_file_open(path, err);
  if (!file) {
    return err->code;
  }
  struct hdf5_shape shape = {.rank = HDF5_ANY_RANK};
  int status = hdf5_shape(file, dataset, &shape, err);
  status = status ? status : take_shape(dataset, shape.rank, shape.dim, dim, rank, err);
  status = status ? status : hdf5_floats(file, dataset, &shape, data, err);
  hdf5_file_close(file);
  return status;
}

static int read_npy(const char *path, float **data, size_t dim[4], unsigned *rank, struct error *err) {
  struct npy_array array;
  int status = npy_read(path, &array, err);
  if (status) {
    return status;
  }
  status = take_shape(path, array.rank, array.dim, dim, rank, err);
  if (status) {
    free(array.data);
    return status;
  }
  *data = array.data;
  return 0;
}

int model_read_tensor(const struct key_value *value, float **data, size_t dim[4], unsigned *rank, char **from,
                      struct error *err) {
  if (!value->text) {
    return read_lists(value, data, dim, rank, from, err);
  }
  char *name = memory_copy_text(value->text, err);
  if (!name) {
    return err->code;
  }
  /* FILE:/dataset; the dataset's name begins with a slash, so the last ":/" ends the file's name. */
  char *colon = NULL;
  for (char *at = strstr(name, ":/"); at; at = strstr(at + 1, ":/")) {
    colon = at;
  }
  size_t length = strlen(name);
  int status = 0;
  if (colon) {
    *colon = '\0';
    status = read_dataset(name, colon + 1, data, dim, rank, err);
    *colon = ':';
  } else if (length > 4 && !strcmp(name + length - 4, ".npy")) {
    status = read_npy(name, data, dim, rank, err);
  } else {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: a tensor is given as FILE.h5:/dataset or FILE.npy", name);
  }
  if (status) {
    free(name);
    return status;
  }
  *from = name;
  return 0;
}

int model_read_scheme_tensor(const char *path, const char *name, float **data, size_t dim[4], unsigned *rank,
                             struct error *err) {
  struct hdf5_file *file = hdf5_file_open(path, err);
  if (!file) {
    return err->code;
  }
  char in_group[256], at_root[256];
  snprintf(in_group, sizeof in_group, "/scheme/%s", name);
  snprintf(at_root, sizeof at_root, "/%s", name);
  bool is_in_group = false, is_at_root = false;
  *data = NULL;
  int status = hdf5_has(file, in_group, &is_in_group, err);
  status = status ? status : hdf5_has(file, at_root, &is_at_root, err);
  if (!status && (is_in_group || is_at_root)) {
    const char *dataset = is_in_group ? in_group : at_root;
    struct hdf5_shape shape = {.rank = HDF5_ANY_RANK};
    status = hdf5_shape(file, dataset, &shape, err);
    status = status ? status : take_shape(dataset, shape.rank, shape.dim, dim, rank, err);
    status = status ? status : hdf5_floats(file, dataset, &shape, data, err);
  }
  hdf5_file_close(file);
  return status;
}
