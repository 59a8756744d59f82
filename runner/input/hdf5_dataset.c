#include "input/hdf5_dataset.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Deflate cannot make less than 1 byte of 1032: a dataset that declares more is not really there. */
enum { MOST_EXPANSION = 1040, SMALL_CHUNK = 1 << 20 };

static int check_storage(const struct hdf5_dataset *dataset, hid_t properties, struct error *err) {
  const char *path = dataset->file->path;
  int external = H5Pget_external_count(properties);
  H5D_layout_t layout = H5Pget_layout(properties);
  if (external < 0 || layout == H5D_LAYOUT_ERROR) {
    return error_set(err, ERROR_FILE_READ, "%s: how %s is stored cannot be told", path, dataset->name);
  }
  if (external > 0) {
    char other[256] = "";
    if (H5Pget_external(properties, 0, sizeof other - 1, other, NULL, NULL) < 0) {
      other[0] = '\0';
    }
    return error_set(err, ERROR_FILE_REFUSED,
                     "%s: %s keeps its values in another file (%s); only what is in the file itself is read", path,
                     dataset->name, other);
  }
  if (layout == H5D_VIRTUAL) {
    return error_set(err, ERROR_FILE_REFUSED,
                     "%s: %s is a virtual dataset, put together from other files; only what is in the file itself is "
                     "read",
                     path, dataset->name);
  }
  return 0;
}

static int check_filters(const struct hdf5_dataset *dataset, hid_t properties, struct error *err) {
  int n = H5Pget_nfilters(properties);
  for (unsigned i = 0; n > 0 && i < (unsigned)n; i++) {
    unsigned flags = 0, config = 0;
    size_t n_values = 0;
    char name[64] = "";
    H5Z_filter_t id = H5Pget_filter2(properties, i, &flags, &n_values, NULL, sizeof name - 1, name, &config);
    if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32) {
      return error_set(err, ERROR_FILE_REFUSED,
                       "%s: %s went through filter %d%s%s%s; allowed are deflate (gzip), shuffle and fletcher32",
                       dataset->file->path, dataset->name, (int)id, name[0] ? " (" : "", name, name[0] ? ")" : "");
    }
  }
  if (n < 0) {
    return error_set(err, ERROR_FILE_READ, "%s: the filters of %s cannot be told", dataset->file->path, dataset->name);
  }
  return 0;
}

static const char *class_name(H5T_class_t class) {
  switch (class) {
  case H5T_INTEGER:
    return "whole numbers";
  case H5T_FLOAT:
    return "numbers";
  case H5T_STRING:
    return "texts";
  case H5T_BITFIELD:
    return "bit fields";
  case H5T_OPAQUE:
    return "opaque bytes";
  case H5T_COMPOUND:
    return "compound records";
  case H5T_REFERENCE:
    return "references";
  case H5T_ENUM:
    return "values of an enumeration";
  case H5T_VLEN:
    return "lists of varying length";
  case H5T_ARRAY:
    return "arrays";
  default:
    return "values of an unknown type";
  }
}

int hdf5_check_class(const struct hdf5_file *file, const char *what, hid_t type, enum hdf5_wanted wanted,
                     struct error *err) {
  static const char *const wanted_names[] = {"floating-point or whole numbers", "whole numbers", "texts"};
  H5T_class_t class = H5Tget_class(type);
  bool right = wanted == HDF5_WANT_TEXTS           ? class == H5T_STRING
               : wanted == HDF5_WANT_WHOLE_NUMBERS ? class == H5T_INTEGER
                                                   : class == H5T_INTEGER || class == H5T_FLOAT;
  return right ? 0
               : error_set(err, ERROR_FILE_CONTENT, "%s: %s holds %s; needed are %s", file->path, what,
                           class_name(class), wanted_names[wanted]);
}

/* "[256, 4, 64]", "any" for a length that may be any. */
static void append_shape(struct text *text, unsigned rank, const hsize_t *there, const size_t *needed) {
  if (!rank) {
    text_append(text, "a single value");
    return;
  }
  for (unsigned axis = 0; axis < rank; axis++) {
    text_append(text, axis ? ", " : "[");
    if (needed && !needed[axis]) {
      text_append(text, "any");
    } else {
      text_printf(text, "%llu", needed ? (unsigned long long)needed[axis] : (unsigned long long)there[axis]);
    }
  }
  text_append(text, "]");
}

static int wrong_shape(const struct hdf5_dataset *dataset, unsigned rank, const hsize_t *there,
                       const struct hdf5_shape *shape, struct error *err) {
  struct text is = {0}, needed = {0};
  append_shape(&is, rank, there, NULL);
  if (shape->rank == HDF5_ANY_RANK) {
    text_printf(&needed, "a shape of at most %d axes, none of them empty", HDF5_MAX_RANK);
  } else {
    append_shape(&needed, shape->rank, NULL, shape->dim);
  }
  int status = is.failed || needed.failed ? error_set(err, ERROR_MEMORY, "no memory for a message")
                                          : error_set(err, ERROR_FILE_CONTENT, "%s: %s is %s; needed is %s",
                                                      dataset->file->path, dataset->name, is.data, needed.data);
  text_free(&is);
  text_free(&needed);
  return status;
}

static int check_shape(struct hdf5_dataset *dataset, struct hdf5_shape *shape, struct error *err) {
  hsize_t there[H5S_MAX_RANK];
  H5S_class_t class = H5Sget_simple_extent_type(dataset->space);
  int rank = class == H5S_SIMPLE || class == H5S_SCALAR ? H5Sget_simple_extent_dims(dataset->space, there, NULL) : -1;
  if (rank < 0) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: %s holds nothing", dataset->file->path, dataset->name);
  }
  bool fits = shape->rank == HDF5_ANY_RANK ? rank <= HDF5_MAX_RANK : (unsigned)rank == shape->rank;
  dataset->count = 1;
  for (unsigned axis = 0; fits && axis < (unsigned)rank; axis++) {
    size_t needed = shape->rank == HDF5_ANY_RANK ? 0 : shape->dim[axis];
    fits = needed ? there[axis] == needed : there[axis] > 0;
    if (fits && __builtin_mul_overflow(dataset->count, there[axis], &dataset->count)) {
      dataset->count = SIZE_MAX;
    }
  }
  if (!fits) {
    return wrong_shape(dataset, (unsigned)rank, there, shape, err);
  }
  shape->rank = (unsigned)rank;
  for (unsigned axis = 0; axis < (unsigned)rank; axis++) {
    shape->dim[axis] = (size_t)there[axis];
  }
  return 0;
}

/* Can the file's bytes hold what the dataset declares? */
static int check_size(const struct hdf5_dataset *dataset, hid_t properties, struct error *err) {
  const struct hdf5_file *file = dataset->file;
  size_t bytes = H5Tget_size(dataset->type);
  if (__builtin_mul_overflow(bytes, dataset->count, &bytes)) {
    bytes = SIZE_MAX;
  }
  hsize_t stored = H5Dget_storage_size(dataset->handle);
  int filters = H5Pget_nfilters(properties);
  size_t most = stored > file->bytes ? file->bytes : (size_t)stored;
  if (filters > 0 && __builtin_mul_overflow(most, (size_t)MOST_EXPANSION, &most)) {
    most = SIZE_MAX;
  }
  if (stored > file->bytes || bytes > most) {
    return error_set(err, ERROR_FILE_REFUSED,
                     "%s: %s declares %zu elements (%zu bytes), but %llu bytes are stored for it in a file of %zu",
                     file->path, dataset->name, dataset->count, bytes, (unsigned long long)stored, file->bytes);
  }
  if (H5Pget_layout(properties) != H5D_CHUNKED) {
    return 0;
  }
  hsize_t chunk[H5S_MAX_RANK];
  int rank = H5Pget_chunk(properties, H5S_MAX_RANK, chunk);
  size_t chunk_bytes = H5Tget_size(dataset->type);
  for (int axis = 0; axis < rank; axis++) {
    if (__builtin_mul_overflow(chunk_bytes, chunk[axis], &chunk_bytes)) {
      chunk_bytes = SIZE_MAX;
    }
  }
  if (rank < 0 || (chunk_bytes > SMALL_CHUNK && chunk_bytes > most)) {
    return error_set(err, ERROR_FILE_REFUSED, "%s: %s declares chunks of %zu bytes in a file of %zu", file->path,
                     dataset->name, chunk_bytes, file->bytes);
  }
  return 0;
}

static int check_all(struct hdf5_dataset *dataset, hid_t properties, enum hdf5_wanted wanted, struct hdf5_shape *shape,
                     struct error *err) {
  /* Storage first: asking a virtual dataset for its extent may already open other files. */
  int status = check_storage(dataset, properties, err);
  status = status ? status : check_filters(dataset, properties, err);
  if (status) {
    return status;
  }
  dataset->type = H5Dget_type(dataset->handle);
  dataset->space = H5Dget_space(dataset->handle);
  if (dataset->type < 0 || dataset->space < 0) {
    return error_set(err, ERROR_FILE_READ, "%s: type and shape of %s cannot be told", dataset->file->path,
                     dataset->name);
  }
  status = hdf5_check_class(dataset->file, dataset->name, dataset->type, wanted, err);
  status = status ? status : check_shape(dataset, shape, err);
  return status ? status : check_size(dataset, properties, err);
}

int hdf5_dataset_open(const struct hdf5_file *file, const char *name, enum hdf5_wanted wanted, struct hdf5_shape *shape,
                      struct hdf5_dataset *dataset, struct error *err) {
  *dataset = (struct hdf5_dataset){.file = file, .name = name, .handle = -1, .type = -1, .space = -1};
  char resolved[HDF5_PATH_SIZE];
  bool found = false;
  int status = hdf5_resolve(file->handle, file->path, name, resolved, &found, err);
  if (status) {
    return status;
  }
  if (!found) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: there is no dataset %s", file->path, name);
  }
  dataset->handle = H5Oopen(file->handle, resolved, H5P_DEFAULT);
  if (dataset->handle < 0) {
    char reason[256];
    hdf5_reason(reason, sizeof reason);
    return error_set(err, ERROR_FILE_READ, "%s: %s cannot be opened: %s", file->path, name, reason);
  }
  if (H5Iget_type(dataset->handle) != H5I_DATASET) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: %s is %s; needed is a dataset", file->path, name,
                       H5Iget_type(dataset->handle) == H5I_GROUP ? "a group" : "a named type");
    H5Oclose(dataset->handle);
    return status;
  }
  hid_t properties = H5Dget_create_plist(dataset->handle);
  if (properties < 0) {
    status = error_set(err, ERROR_FILE_READ, "%s: how %s is stored cannot be told", file->path, name);
  } else {
    status = check_all(dataset, properties, wanted, shape, err);
    /* A virtual dataset's list must be closed: left open it takes libhdf5 1.10 down at exit. */
    if (H5Pclose(properties) < 0 && !status) {
      status = error_set(err, ERROR_FILE_READ, "%s: %s cannot be read", file->path, name);
    }
  }
  if (status) {
    hdf5_dataset_close(dataset);
  }
  return status;
}

void hdf5_dataset_close(struct hdf5_dataset *dataset) {
  if (dataset->space >= 0) {
    H5Sclose(dataset->space);
  }
  if (dataset->type >= 0) {
    H5Tclose(dataset->type);
  }
  if (dataset->handle >= 0) {
    H5Oclose(dataset->handle);
  }
  dataset->handle = dataset->type = dataset->space = -1;
}
