/* Scalar attributes of foreign HDF5 files. */
#include "base/memory.h"
#include "input/hdf5_dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT_BYTES = 1 << 20 };

struct attribute_handle {
  hid_t handle, type;
  char what[2 * HDF5_PATH_SIZE]; /* "the attribute a of /b", for messages */
};

static void close_attribute(struct attribute_handle *attribute) {
  if (attribute->type >= 0) {
    H5Tclose(attribute->type);
  }
  if (attribute->handle >= 0) {
    H5Aclose(attribute->handle);
  }
}

static int cannot_read(const struct hdf5_file *file, const struct attribute_handle *attribute, struct error *err) {
  char reason[256];
  hdf5_reason(reason, sizeof reason);
  return error_set(err, ERROR_FILE_READ, "%s: %s cannot be read: %s", file->path, attribute->what, reason);
}

static int check_attribute(const struct hdf5_file *file, struct attribute_handle *attribute, enum hdf5_wanted wanted,
                           struct error *err) {
  attribute->type = H5Aget_type(attribute->handle);
  hid_t space = H5Aget_space(attribute->handle);
  hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
  if (space >= 0) {
    H5Sclose(space);
  }
  if (attribute->type < 0 || count < 0) {
    return cannot_read(file, attribute, err);
  }
  if (count != 1) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: %s holds %lld values; needed is one", file->path, attribute->what,
                     (long long)count);
  }
  return hdf5_check_class(file, attribute->what, attribute->type, wanted, err);
}

/* *found = false and nothing open where there is no such object or attribute. */
static int open_attribute(const struct hdf5_file *file, const char *object, const char *name, enum hdf5_wanted wanted,
                          struct attribute_handle *attribute, bool *found, struct error *err) {
  *attribute = (struct attribute_handle){.handle = -1, .type = -1};
  snprintf(attribute->what, sizeof attribute->what, "the attribute %s of %s", name, object);
  char resolved[HDF5_PATH_SIZE];
  int status = hdf5_resolve(file->handle, file->path, object, resolved, found, err);
  if (status || !*found) {
    return status;
  }
  htri_t exists = H5Aexists_by_name(file->handle, resolved, name, H5P_DEFAULT);
  *found = exists > 0;
  if (exists < 0) {
    return cannot_read(file, attribute, err);
  }
  if (!*found) {
    return 0;
  }
  attribute->handle = H5Aopen_by_name(file->handle, resolved, name, H5P_DEFAULT, H5P_DEFAULT);
  status = attribute->handle < 0 ? cannot_read(file, attribute, err) : check_attribute(file, attribute, wanted, err);
  if (status) {
    close_attribute(attribute);
  }
  return status;
}

int hdf5_number(struct hdf5_file *file, const char *object, const char *name, bool *found, double *value,
                struct error *err) {
  struct attribute_handle attribute;
  int status = open_attribute(file, object, name, HDF5_WANT_NUMBERS, &attribute, found, err);
  if (status || !*found) {
    return status;
  }
  double number = 0;
  if (H5Aread(attribute.handle, H5T_NATIVE_DOUBLE, &number) < 0) {
    status = cannot_read(file, &attribute, err);
  } else if (!isfinite(number)) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: %s is not a finite number", file->path, attribute.what);
  } else {
    *value = number;
  }
  close_attribute(&attribute);
  return status;
}

static int read_fixed(const struct hdf5_file *file, const struct attribute_handle *attribute, char **text,
                      struct error *err) {
  size_t size = H5Tget_size(attribute->type);
  if (!size || size > MOST_TEXT_BYTES) {
    return error_set(err, ERROR_FILE_REFUSED, "%s: %s has %zu bytes; 1 to %d are read", file->path, attribute->what,
                     size, MOST_TEXT_BYTES);
  }
  char *copy = memory_new(size + 1, 1, attribute->what, err);
  if (!copy) {
    return err->code;
  }
  if (H5Aread(attribute->handle, attribute->type, copy) < 0) {
    free(copy);
    return cannot_read(file, attribute, err);
  }
  size_t length = strlen(copy);
  while (H5Tget_strpad(attribute->type) == H5T_STR_SPACEPAD && length && copy[length - 1] == ' ') {
    copy[--length] = '\0';
  }
  *text = copy;
  return 0;
}

static int read_variable(const struct hdf5_file *file, const struct attribute_handle *attribute, char **text,
                         struct error *err) {
  char *value = NULL;
  if (H5Aread(attribute->handle, attribute->type, &value) < 0) {
    return cannot_read(file, attribute, err);
  }
  *text = memory_copy_text(value ? value : "", err);
  if (value && H5free_memory(value) < 0) {
    free(*text);
    *text = NULL;
    return cannot_read(file, attribute, err);
  }
  return *text ? 0 : (int)err->code;
}

int hdf5_text(struct hdf5_file *file, const char *object, const char *name, bool *found, char **text,
              struct error *err) {
  struct attribute_handle attribute;
  int status = open_attribute(file, object, name, HDF5_WANT_TEXTS, &attribute, found, err);
  if (status || !*found) {
    return status;
  }
  status = H5Tis_variable_str(attribute.type) > 0 ? read_variable(file, &attribute, text, err)
                                                  : read_fixed(file, &attribute, text, err);
  close_attribute(&attribute);
  return status;
}
