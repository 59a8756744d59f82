#include "base/memory.h"
#include "input/hdf5_transfer.h"
#include "results/chunk_reader.h"
#include "results/read_object.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 512 };

/* A tensor's description while it is put together: record_add copies it. */
struct reading {
  const struct hdf5_file *file;
  const char *group;
  bool keep_packed;
  struct tensor_spec spec;
  char axis_name[RECORD_MAX_RANK][RECORD_NAME];
  double *axis_values[RECORD_MAX_RANK];
  char *axis_long_name[RECORD_MAX_RANK], *axis_units[RECORD_MAX_RANK];
  char *long_name, *units;
};

static void reading_free(struct reading *reading) {
  for (unsigned i = 0; i < RECORD_MAX_RANK; i++) {
    free(reading->axis_values[i]);
    free(reading->axis_long_name[i]);
    free(reading->axis_units[i]);
  }
  free(reading->long_name);
  free(reading->units);
}

static int member_path(const struct reading *reading, const char *name, char path[PATH_SIZE], struct error *err) {
  int length = snprintf(path, PATH_SIZE, "%s/%s", reading->group, name);
  return length < 0 || length >= PATH_SIZE
             ? error_set(err, ERROR_FILE_CONTENT, "%s: a name in %s is too long", reading->file->path, reading->group)
             : 0;
}

static int element_of(const struct reading *reading, const char *path, hid_t type, enum element *element,
                      struct error *err) {
  H5T_class_t class = H5Tget_class(type);
  size_t size = H5Tget_size(type);
  if (class == H5T_FLOAT && (size == 4 || size == 8)) {
    *element = size == 4 ? ELEMENT_F32 : ELEMENT_F64;
  } else if (class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2 && (size == 4 || size == 8)) {
    *element = size == 4 ? ELEMENT_I32 : ELEMENT_I64;
  } else if (class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE && size == 1) {
    *element = ELEMENT_U8;
  } else {
    return error_set(err, ERROR_FILE_CONTENT,
                     "%s: %s has elements of a type that a results file does not use (float32, float64, int32, int64 "
                     "and uint8)",
                     reading->file->path, path);
  }
  return 0;
}

static hid_t memory_type(enum element element) {
  switch (element) {
  case ELEMENT_F32:
    return H5T_NATIVE_FLOAT;
  case ELEMENT_F64:
    return H5T_NATIVE_DOUBLE;
  case ELEMENT_I32:
    return H5T_NATIVE_INT32;
  case ELEMENT_I64:
    return H5T_NATIVE_INT64;
  case ELEMENT_U8:
    return H5T_NATIVE_UINT8;
  }
  return -1;
}

/* A dataset that holds nothing is sound, and has nothing stored that would have to be checked. */
static int open_dataset(const struct hdf5_file *file, const char *path, struct hdf5_shape *shape,
                        struct hdf5_dataset *dataset, struct error *err) {
  *dataset = (struct hdf5_dataset){.file = file, .name = path, .handle = -1, .type = -1, .space = -1};
  hid_t id = H5Dopen2(file->handle, path, H5P_DEFAULT);
  hid_t create = id < 0 ? -1 : H5Dget_create_plist(id);
  bool plain = create >= 0 && H5Pget_layout(create) == H5D_CONTIGUOUS && H5Pget_external_count(create) == 0;
  hid_t space = plain ? H5Dget_space(id) : -1;
  hsize_t dim[H5S_MAX_RANK];
  int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dim, NULL);
  bool empty = rank > 0 && rank <= RECORD_MAX_RANK && H5Sget_simple_extent_npoints(space) == 0;
  if (create >= 0) {
    H5Pclose(create);
  }
  if (!empty) {
    if (space >= 0) {
      H5Sclose(space);
    }
    if (id >= 0) {
      H5Dclose(id);
    }
    *shape = (struct hdf5_shape){.rank = HDF5_ANY_RANK};
    return hdf5_dataset_open(file, path, HDF5_WANT_NUMBERS, shape, dataset, err);
  }
  dataset->handle = id;
  dataset->space = space;
  dataset->type = H5Dget_type(id);
  shape->rank = (unsigned)rank;
  for (int i = 0; i < rank; i++) {
    shape->dim[i] = (size_t)dim[i];
  }
  return 0;
}

/* H5DSiterate_scales: keep the name of the first scale. */
static herr_t keep_name(hid_t dataset, unsigned dimension, hid_t scale, void *name) {
  (void)dataset;
  (void)dimension;
  return H5DSget_scale_name(scale, name, RECORD_NAME) > 0 ? 1 : -1;
}

static int read_axis_values(struct reading *reading, unsigned i, const char *path, struct error *err) {
  struct axis_spec *axis = &reading->spec.axis[i];
  struct hdf5_shape shape;
  struct hdf5_dataset scale;
  if (open_dataset(reading->file, path, &shape, &scale, err)) {
    return err->code;
  }
  int result = 0;
  if (shape.rank != 1 || shape.dim[0] != axis->length) {
    result = error_set(err, ERROR_FILE_CONTENT, "%s: the axis %s does not have the length of what it is the axis of",
                       reading->file->path, path);
  }
  axis->real = H5Tget_class(scale.type) == H5T_FLOAT;
  double *values = result ? NULL : memory_new(axis->length, sizeof *values, path, err);
  reading->axis_values[i] = values;
  axis->values = values;
  if (!result && !values) {
    result = err->code;
  }
  if (!result && axis->length && hdf5_read_all(scale.handle, H5T_NATIVE_DOUBLE, axis->length, values) < 0) {
    result = error_set(err, ERROR_FILE_READ, "%s: the values of axis %s cannot be read", reading->file->path, path);
  }
  hdf5_dataset_close(&scale);
  return result;
}

static int is_logarithmic(const struct reading *reading, const char *path, bool *log_values, struct error *err) {
  char *type = NULL;
  if (read_text_attribute(reading->file, path, "scale_type", &type, err)) {
    return err->code;
  }
  *log_values = type && !strcmp(type, "log");
  free(type);
  return 0;
}

/* The axis of this name and length that a tensor of the record has already; NULL: none has. */
static const struct axis *known_axis(const struct record *record, const char *name, size_t length) {
  for (size_t i = 0; i < record->count; i++) {
    const struct axis *axis = tensor_axis(&record->tensors[i], name);
    if (axis && axis->length == length) {
      return axis;
    }
  }
  return NULL;
}

/* Axes of equal name in one group are the same: it is read once. The texts are copied, for the record may move what
 * they stand in. */
static int take_axis(struct reading *reading, unsigned i, const struct axis *known, struct error *err) {
  struct axis_spec *axis = &reading->spec.axis[i];
  *axis = axis_spec_of(known);
  axis->name = reading->axis_name[i];
  axis->long_name = reading->axis_long_name[i] = memory_copy_text(known->long_name, err);
  axis->units = reading->axis_units[i] = axis->long_name ? memory_copy_text(known->units, err) : NULL;
  return axis->units ? 0 : (int)err->code;
}

static int read_axis(struct reading *reading, const struct hdf5_dataset *dataset, const struct record *record,
                     unsigned i, struct error *err) {
  struct axis_spec *axis = &reading->spec.axis[i];
  char *name = reading->axis_name[i];
  if (H5DSiterate_scales(dataset->handle, i, NULL, keep_name, name) <= 0 || !record_name_is_well_formed(name)) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: axis %u of %s has no name", reading->file->path, i, dataset->name);
  }
  const struct axis *known = known_axis(record, name, axis->length);
  if (known) {
    return take_axis(reading, i, known, err);
  }
  axis->name = name;
  char path[PATH_SIZE];
  if (member_path(reading, name, path, err) || read_axis_values(reading, i, path, err) ||
      is_logarithmic(reading, path, &axis->log_values, err) ||
      read_text_attribute(reading->file, path, "long_name", &reading->axis_long_name[i], err) ||
      read_text_attribute(reading->file, path, "units", &reading->axis_units[i], err)) {
    return err->code;
  }
  axis->long_name = reading->axis_long_name[i];
  axis->units = reading->axis_units[i];
  return 0;
}

static int describe(struct reading *reading, const struct hdf5_dataset *dataset, const struct record *record,
                    struct error *err) {
  const char *path = dataset->name;
  char *interpretation = NULL;
  if (read_text_attribute(reading->file, path, "long_name", &reading->long_name, err) ||
      read_text_attribute(reading->file, path, "units", &reading->units, err) ||
      read_text_attribute(reading->file, path, "interpretation", &interpretation, err)) {
    return err->code;
  }
  reading->spec.long_name = reading->long_name;
  reading->spec.units = reading->units;
  reading->spec.image = interpretation && !strcmp(interpretation, "image");
  free(interpretation);
  for (unsigned i = 0; i < reading->spec.rank; i++) {
    if (read_axis(reading, dataset, record, i, err)) {
      return err->code;
    }
  }
  return is_logarithmic(reading, path, &reading->spec.log_values, err);
}

/* Attributes that the writer makes of its own accord. */
static bool is_described_elsewhere(const char *name) {
  static const char *const names[] = {"long_name",  "units",          "_FillValue",     "interpretation",
                                      "scale_type", "DIMENSION_LIST", "REFERENCE_LIST", NULL};
  for (const char *const *known = names; *known; known++) {
    if (!strcmp(name, *known)) {
      return true;
    }
  }
  return false;
}

static int read_other_attributes(const struct hdf5_file *file, const char *path, struct attributes *attributes,
                                 struct error *err) {
  struct names names = {0};
  if (read_attribute_names(file, path, &names, err)) {
    return err->code;
  }
  int result = 0;
  for (size_t i = 0; !result && i < names.count; i++) {
    if (!is_described_elsewhere(names.items[i])) {
      result = read_attribute(file, path, names.items[i], attributes, err);
    }
  }
  names_free(&names);
  return result;
}

static int read_values(const struct reading *reading, const struct hdf5_dataset *dataset, struct tensor *tensor,
                       struct error *err) {
  hid_t type = memory_type(tensor->element);
  if (!tensor->count || chunk_read_all(dataset, type, tensor->data, reading->keep_packed ? &tensor->packed : NULL) ||
      hdf5_read_all(dataset->handle, type, tensor->count, tensor->data) >= 0) {
    return 0;
  }
  char reason[256];
  hdf5_reason(reason, sizeof reason);
  return error_set(err, ERROR_FILE_READ, "%s: %s cannot be read: %s", reading->file->path, dataset->name, reason);
}

static int add_tensor(struct reading *reading, const struct hdf5_dataset *dataset, struct record *record,
                      struct error *err) {
  if (describe(reading, dataset, record, err) ||
      element_of(reading, dataset->name, dataset->type, &reading->spec.element, err)) {
    return err->code;
  }
  struct tensor *tensor = record_add(record, &reading->spec, err);
  if (!tensor) {
    return err->code;
  }
  if (read_values(reading, dataset, tensor, err)) {
    return err->code;
  }
  return read_other_attributes(reading->file, dataset->name, &tensor->attributes, err);
}

int read_tensor(const struct hdf5_file *file, const char *group, const char *name, bool keep_packed,
                struct record *record, struct error *err) {
  struct reading reading = {
      .file = file, .group = group, .keep_packed = keep_packed, .spec = {.name = name, .unset = true}};
  char path[PATH_SIZE];
  if (!record_name_is_well_formed(name) || member_path(&reading, name, path, err)) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: %s has a dataset '%s'; a results file names none like this",
                     file->path, group, name);
  }
  struct hdf5_shape shape;
  struct hdf5_dataset dataset;
  if (open_dataset(file, path, &shape, &dataset, err)) {
    return err->code;
  }
  int result = 0;
  if (shape.rank > RECORD_MAX_RANK) {
    result = error_set(err, ERROR_FILE_CONTENT, "%s: %s has %u axes; at most %d are used", file->path, path, shape.rank,
                       RECORD_MAX_RANK);
  }
  reading.spec.rank = shape.rank;
  for (unsigned i = 0; !result && i < shape.rank; i++) {
    reading.spec.axis[i].length = shape.dim[i];
  }
  result = result ? result : add_tensor(&reading, &dataset, record, err);
  hdf5_dataset_close(&dataset);
  reading_free(&reading);
  return result;
}
