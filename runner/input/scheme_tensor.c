/* Tensors of schemes: learned tables, biases and kernels that a config gives as lists or as files. */
#include "input/hdf5_reader.h"
#include "input/model.h"
#include "input/tensor_file.h"

#include <stdio.h>
#include <stdlib.h>

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

int model_read_tensor(const struct key_value *value, float **data, size_t dim[4], unsigned *rank, char **from,
                      struct error *err) {
  struct tensor_shape shape;
  char *name = NULL;
  int status = tensor_shape_of(value, &shape, &name, err);
  status = status ? status : take_shape(name, shape.rank, shape.dim, dim, rank, err);
  status = status ? status : tensor_floats(value, &shape, data, err);
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
