#include "build_hdf5.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const build_hdf5_names[] = {"/w", "/v", "/g/w", "/g/v", "/s", "/g", NULL};

enum { NAMES = 6, MOST_OBJECTS = 24, MOST_BYTES = 1 << 16, MOST_RANK = 9 };

struct stream {
  const uint8_t *bytes;
  size_t count;
};

/* The next byte below `bound`; 0 when the stream has run out. */
static unsigned next(struct stream *stream, unsigned bound) {
  if (!stream->count) {
    return 0;
  }
  stream->count--;
  return *stream->bytes++ % bound;
}

static const char *next_name(struct stream *stream) {
  return build_hdf5_names[next(stream, NAMES)];
}

static hid_t text_type(struct stream *stream) {
  static const H5T_str_t padding[] = {H5T_STR_NULLTERM, H5T_STR_NULLPAD, H5T_STR_SPACEPAD};
  hid_t type = H5Tcopy(H5T_C_S1);
  unsigned size = next(stream, 8);
  H5Tset_size(type, size ? size : H5T_VARIABLE);
  H5Tset_strpad(type, padding[next(stream, 3)]);
  H5Tset_cset(type, next(stream, 2) ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
  return type;
}

static hid_t half_type(void) {
  hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

static hid_t compound_type(void) {
  hid_t type = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(type, "a", 0, H5T_STD_I32LE);
  H5Tinsert(type, "b", 4, H5T_IEEE_F32LE);
  return type;
}

static hid_t next_type(struct stream *stream) {
  const hid_t plain[] = {H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_I8LE, H5T_STD_I16BE,
                         H5T_STD_I64LE,  H5T_STD_U64LE,  H5T_STD_B8LE, H5T_STD_REF_OBJ};
  hsize_t two = 2;
  unsigned kind = next(stream, 16);
  switch (kind) {
  case 8:
  case 9:
    return text_type(stream);
  case 10:
    return half_type();
  case 11:
    return compound_type();
  case 12:
    return H5Tcreate(H5T_OPAQUE, 3);
  case 13:
    return H5Tarray_create2(H5T_IEEE_F32LE, 1, &two);
  case 14:
    return H5Tvlen_create(H5T_STD_I32LE);
  case 15:
    return H5Tenum_create(H5T_STD_I32LE);
  default:
    return H5Tcopy(plain[kind]);
  }
}

static hid_t next_space(struct stream *stream, hsize_t dim[MOST_RANK], int *rank) {
  static const hsize_t lengths[] = {0, 1, 2, 3, 5, 17, (hsize_t)1 << 20, (hsize_t)1 << 40};
  unsigned form = next(stream, MOST_RANK + 3);
  *rank = form <= MOST_RANK ? (int)form : 0;
  for (int axis = 0; axis < *rank; axis++) {
    dim[axis] = lengths[next(stream, sizeof lengths / sizeof *lengths)];
  }
  return form == MOST_RANK + 2 ? H5Screate(H5S_NULL)
         : *rank               ? H5Screate_simple(*rank, dim, NULL)
                               : H5Screate(H5S_SCALAR);
}

static void set_chunks(struct stream *stream, hid_t properties, hid_t type, const hsize_t *dim, int rank) {
  hsize_t chunk[MOST_RANK];
  for (int axis = 0; axis < rank; axis++) {
    chunk[axis] = dim[axis] > 17 ? 17 : dim[axis] ? dim[axis] : 1;
  }
  H5Pset_chunk(properties, rank, chunk);
  unsigned filters = next(stream, 32);
  if (filters & 1) {
    H5Pset_shuffle(properties);
  }
  if (filters & 2) {
    H5Pset_deflate(properties, 6);
  }
  if (filters & 4) {
    H5Pset_fletcher32(properties);
  }
  /* Writing anything but plain numbers through this filter crashes libhdf5 1.10. */
  if ((filters & 8) && (H5Tget_class(type) == H5T_INTEGER || H5Tget_class(type) == H5T_FLOAT)) {
    H5Pset_nbit(properties);
  }
  if (filters & 16) {
    H5Pset_filter(properties, 32004, H5Z_FLAG_OPTIONAL, 0, NULL);
  }
}

/* Contiguous, compact, chunked, in another file, or virtual. */
static hid_t next_layout(struct stream *stream, hid_t type, hid_t space, const hsize_t *dim, int rank) {
  hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  switch (next(stream, 8)) {
  case 0:
    H5Pset_layout(properties, H5D_COMPACT);
    break;
  case 1:
    H5Pset_external(properties, "/etc/hostname", 0, 16);
    break;
  case 2:
    H5Pset_virtual(properties, space, "/etc/hostname", "/w", space);
    break;
  case 3:
  case 4:
  case 5:
    set_chunks(stream, properties, type, dim, rank);
    break;
  default:
    break;
  }
  return properties;
}

/* Bytes of the stream, over and over, as the values; texts of varying length have the one word. */
static void write_values(struct stream *stream, hid_t object, hid_t type, hssize_t n, bool attribute) {
  size_t size = H5Tget_size(type);
  if (n <= 0 || !size || (size_t)n > MOST_BYTES / size || H5Tdetect_class(type, H5T_VLEN) > 0) {
    return;
  }
  uint8_t *values = calloc((size_t)n, size);
  if (!values) {
    return;
  }
  if (H5Tis_variable_str(type) > 0) {
    static char word[] = "he works";
    for (size_t i = 0; i < (size_t)n; i++) {
      char *text = i % 3 == 2 ? NULL : word;
      memcpy(values + i * size, &text, sizeof text);
    }
  } else if (H5Tget_class(type) != H5T_REFERENCE) {
    for (size_t i = 0; i < (size_t)n * size && stream->count; i++) {
      values[i] = stream->bytes[i % stream->count];
    }
  }
  if (attribute) {
    H5Awrite(object, type, values);
  } else {
    H5Dwrite(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  }
  free(values);
}

static void add_dataset(struct stream *stream, hid_t file) {
  const char *name = next_name(stream);
  hsize_t dim[MOST_RANK];
  int rank = 0;
  hid_t type = next_type(stream), space = next_space(stream, dim, &rank);
  hid_t properties = next_layout(stream, type, space, dim, rank);
  hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  if (dataset >= 0) {
    if (H5Pget_layout(properties) != H5D_VIRTUAL && !H5Pget_external_count(properties) && next(stream, 4)) {
      write_values(stream, dataset, type, H5Sget_simple_extent_npoints(space), false);
    }
    H5Dclose(dataset);
  }
  H5Pclose(properties);
  H5Sclose(space);
  H5Tclose(type);
}

static void add_attribute(struct stream *stream, hid_t file) {
  hid_t object = H5Oopen(file, next(stream, 2) ? "/g" : "/", H5P_DEFAULT);
  hsize_t dim[MOST_RANK];
  int rank = 0;
  hid_t type = next_type(stream), space = next_space(stream, dim, &rank);
  hssize_t n = H5Sget_simple_extent_npoints(space);
  hid_t attribute =
      n > 64 ? -1 : H5Acreate2(object, next(stream, 2) ? "n" : "t", type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute >= 0) {
    write_values(stream, attribute, type, n, true);
    H5Aclose(attribute);
  }
  H5Sclose(space);
  H5Tclose(type);
  if (object >= 0) {
    H5Oclose(object);
  }
}

static void add_link(struct stream *stream, hid_t file) {
  const char *name = next_name(stream), *target = next_name(stream);
  switch (next(stream, 4)) {
  case 0:
    H5Lcreate_external("/etc/hostname", target, file, name, H5P_DEFAULT, H5P_DEFAULT);
    break;
  case 1:
    H5Lcreate_hard(file, target, file, name, H5P_DEFAULT, H5P_DEFAULT);
    break;
  case 2:
    H5Lcreate_soft(target + 1, file, name, H5P_DEFAULT, H5P_DEFAULT);
    break;
  default:
    H5Lcreate_soft(target, file, name, H5P_DEFAULT, H5P_DEFAULT);
  }
}

bool build_hdf5(const char *path, const uint8_t *bytes, size_t count) {
  struct stream stream = {bytes, count};
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (next(&stream, 2)) {
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  }
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  if (file < 0) {
    return false;
  }
  if (next(&stream, 4)) {
    hid_t group = H5Gcreate2(file, "/g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group >= 0) {
      H5Gclose(group);
    }
  }
  for (int i = 0; i < MOST_OBJECTS && stream.count; i++) {
    switch (next(&stream, 5)) {
    case 0:
      add_link(&stream, file);
      break;
    case 1:
      add_attribute(&stream, file);
      break;
    default:
      add_dataset(&stream, file);
    }
  }
  return H5Fclose(file) >= 0;
}
