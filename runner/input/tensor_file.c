#include "input/tensor_file.h"

#include "base/memory.h"
#include "input/hdf5_reader.h"
#include "input/npy.h"
#include "input/regular_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)TENSOR_MAX_RANK == (int)HDF5_MAX_RANK && (int)TENSOR_MAX_RANK == (int)NPY_MAX_RANK,
               "one bound on axes");

int tensor_split_name(const char *name, char **file, char **dataset, struct error *err) {
  *dataset = NULL;
  *file = memory_copy_text(name, err);
  if (!*file) {
    return err->code;
  }
  /* The dataset's name begins with a slash, so the last ":/" ends the file's name. */
  char *colon = NULL;
  for (char *at = strstr(*file, ":/"); at; at = strstr(at + 1, ":/")) {
    colon = at;
  }
  if (colon) {
    *colon = '\0';
    *dataset = memory_copy_text(colon + 1, err);
    if (!*dataset) {
      free(*file);
      *file = NULL;
      return err->code;
    }
  }
  return 0;
}

void tensor_shape_text(const struct tensor_shape *shape, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "[");
  for (unsigned axis = 0; axis < shape->rank && used < size; axis++) {
    used += (size_t)snprintf(text + used, size - used, axis ? ", %zu" : "%zu", shape->dim[axis]);
  }
  if (used < size) {
    snprintf(text + used, size - used, "]");
  }
}

/* Where a tensor lies: lists in the config (file NULL), a dataset, or a .npy file (dataset NULL). */
struct place {
  char *file, *dataset;
};

static void place_free(struct place *place) {
  free(place->file);
  free(place->dataset);
}

static int find_place(const struct key_value *value, struct place *place, struct error *err) {
  *place = (struct place){NULL, NULL};
  if (!value->text) {
    return 0;
  }
  int status = tensor_split_name(value->text, &place->file, &place->dataset, err);
  size_t length = status ? 0 : strlen(place->file);
  if (!status && !place->dataset && (length <= 4 || strcmp(place->file + length - 4, ".npy") != 0)) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: a tensor is given as FILE.h5:/dataset or FILE.npy", place->file);
    place_free(place);
  }
  return status;
}

static int shape_in_hdf5(const struct place *place, struct tensor_shape *shape, struct error *err) {
  struct hdf5_file *file = hdf5_file_open(place->file, err);
  if (!file) {
    return err->code;
  }
  struct hdf5_shape there = {.rank = HDF5_ANY_RANK};
  int status = hdf5_shape(file, place->dataset, &there, err);
  shape->rank = there.rank;
  memcpy(shape->dim, there.dim, sizeof there.dim);
  hdf5_file_close(file);
  return status;
}

static int shape_in_npy(const struct place *place, struct tensor_shape *shape, struct error *err) {
  struct npy_array array;
  int status = npy_shape(place->file, &array, err);
  if (!status) {
    shape->rank = array.rank;
    memcpy(shape->dim, array.dim, sizeof array.dim);
  }
  return status;
}

int tensor_shape_of(const struct key_value *value, struct tensor_shape *shape, char **from, struct error *err) {
  struct place place;
  *from = NULL;
  *shape = (struct tensor_shape){0};
  int status = find_place(value, &place, err);
  if (status) {
    return status;
  }
  if (!place.file) {
    shape->rank = value->rank;
    memcpy(shape->dim, value->dim, sizeof value->dim);
  } else {
    status = place.dataset ? shape_in_hdf5(&place, shape, err) : shape_in_npy(&place, shape, err);
  }
  if (!status) {
    *from = memory_copy_text(value->text ? value->text : "the list in the config", err);
    status = *from ? 0 : (int)err->code;
  }
  place_free(&place);
  return status;
}

static int shape_changed(const char *file, struct error *err) {
  return error_set(err, ERROR_FILE_READ, "%s: changed while it was read", file);
}

static bool is_shape(const struct npy_array *array, const struct tensor_shape *shape) {
  return array->rank == shape->rank && !memcmp(array->dim, shape->dim, shape->rank * sizeof *shape->dim);
}

/* What to read of a tensor, and where to. */
struct wish {
  bool one_entry;
  size_t index;
  float **floats;
  double **doubles; /* NULL: floats are wanted */
};

static int read_hdf5(const struct place *place, const struct tensor_shape *shape, const struct wish *wish,
                     struct error *err) {
  struct hdf5_file *file = hdf5_file_open(place->file, err);
  if (!file) {
    return err->code;
  }
  struct hdf5_shape expected = {.rank = shape->rank};
  memcpy(expected.dim, shape->dim, sizeof expected.dim);
  int status = wish->doubles     ? hdf5_doubles(file, place->dataset, &expected, wish->doubles, err)
               : wish->one_entry ? hdf5_floats_of(file, place->dataset, wish->index, &expected, wish->floats, err)
                                 : hdf5_floats(file, place->dataset, &expected, wish->floats, err);
  hdf5_file_close(file);
  return status;
}

static int read_npy(const struct place *place, const struct tensor_shape *shape, const struct wish *wish,
                    struct error *err) {
  struct npy_array array;
  int status = wish->doubles     ? npy_read_doubles(place->file, &array, err)
               : wish->one_entry ? npy_read_entry(place->file, wish->index, &array, err)
                                 : npy_read(place->file, &array, err);
  if (status) {
    return status;
  }
  if (!is_shape(&array, shape)) {
    free(array.data);
    free(array.doubles);
    return shape_changed(place->file, err);
  }
  if (wish->doubles) {
    *wish->doubles = array.doubles;
  } else {
    *wish->floats = array.data;
  }
  return 0;
}

static int read_lists(const struct key_value *value, const struct wish *wish, struct error *err) {
  if (wish->doubles) {
    double *values = memory_new(value->count, sizeof *values, "a tensor", err);
    if (values) {
      memcpy(values, value->list, value->count * sizeof *values);
      *wish->doubles = values;
    }
    return values ? 0 : (int)err->code;
  }
  size_t count = wish->one_entry ? value->count / value->dim[0] : value->count;
  size_t first = wish->one_entry ? wish->index * count : 0;
  float *values = memory_new(count, sizeof *values, "a tensor", err);
  for (size_t i = 0; values && i < count; i++) {
    values[i] = (float)value->list[first + i];
    if (!isfinite(values[i])) {
      error_set(err, ERROR_FILE_CONTENT, "the list in the config: element %zu is %g, which float32 cannot hold",
                first + i, value->list[first + i]);
      free(values);
      return err->code;
    }
  }
  if (values) {
    *wish->floats = values;
  }
  return values ? 0 : (int)err->code;
}

static int read_tensor(const struct key_value *value, const struct tensor_shape *shape, const struct wish *wish,
                       struct error *err) {
  struct place place;
  int status = find_place(value, &place, err);
  if (status) {
    return status;
  }
  status = !place.file     ? read_lists(value, wish, err)
           : place.dataset ? read_hdf5(&place, shape, wish, err)
                           : read_npy(&place, shape, wish, err);
  place_free(&place);
  return status;
}

int tensor_floats(const struct key_value *value, const struct tensor_shape *shape, float **data, struct error *err) {
  return read_tensor(value, shape, &(struct wish){.floats = data}, err);
}

int tensor_doubles(const struct key_value *value, const struct tensor_shape *shape, double **data, struct error *err) {
  return read_tensor(value, shape, &(struct wish){.doubles = data}, err);
}

int tensor_floats_of(const struct key_value *value, const struct tensor_shape *shape, size_t index, float **data,
                     struct error *err) {
  return read_tensor(value, shape, &(struct wish){.one_entry = true, .index = index, .floats = data}, err);
}

int tensor_is_in(const char *name, const char *file, bool *same, struct error *err) {
  char *whole = NULL, *dataset = NULL;
  int status = tensor_split_name(name, &whole, &dataset, err);
  *same = !status && (regular_file_same(name, file) || regular_file_same(whole, file));
  free(whole);
  free(dataset);
  return status;
}
