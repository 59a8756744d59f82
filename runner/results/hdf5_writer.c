#include "results/hdf5_writer.h"

#include "base/memory.h"
#include "input/hdf5_transfer.h"
#include "results/chunk_writer.h"
#include "results/hdf5_error.h"
#include "results/printable.h"

#include <assert.h>
#include <hdf5_hl.h>
#include <stdlib.h>

enum {
  IMAGE_GROWTH = 1 << 16, /* cleared when it is added: more would be most of a small file's work */
  CREATION_ORDER = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED
};

static int failed(const char *call, const char *name, struct error *err) {
  return hdf5_failed(ERROR_FILE_WRITE, call, name, err);
}

int hdf5_close(int earlier, hid_t id, const char *name, struct error *err) {
  if (id >= 0 && H5Idec_ref(id) < 0 && !earlier) {
    return failed("closing", name, err);
  }
  return earlier;
}

/* Little-endian in the file, whatever the machine. */
static hid_t file_type(enum element element) {
  switch (element) {
  case ELEMENT_F32:
    return H5T_IEEE_F32LE;
  case ELEMENT_F64:
    return H5T_IEEE_F64LE;
  case ELEMENT_I32:
    return H5T_STD_I32LE;
  case ELEMENT_I64:
    return H5T_STD_I64LE;
  case ELEMENT_U8:
    return H5T_STD_U8LE;
  }
  return -1;
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

/* Property list of a file, group or dataset: names and attributes keep their order, and no time is stored, so that
 * equal content gives equal bytes. */
static hid_t creation_list(hid_t class_id) {
  hid_t list = H5Pcreate(class_id);
  if (list < 0) {
    return list;
  }
  bool is_dataset = class_id == H5P_DATASET_CREATE;
  if (H5Pset_attr_creation_order(list, CREATION_ORDER) < 0 || H5Pset_obj_track_times(list, false) < 0 ||
      (!is_dataset && H5Pset_link_creation_order(list, CREATION_ORDER) < 0)) {
    H5Pclose(list);
    return -1;
  }
  return list;
}

int hdf5_image_new(hid_t *file, struct error *err) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  hid_t create = creation_list(H5P_FILE_CREATE);
  *file = -1;
  /* EARLIEST: images of newer formats cannot be read back with HDF5 1.10 (status flags with a stale checksum). */
  if (access >= 0 && create >= 0 && H5Pset_fapl_core(access, IMAGE_GROWTH, false) >= 0 &&
      H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110) >= 0 &&
      H5Pset_fclose_degree(access, H5F_CLOSE_SEMI) >= 0) {
    *file = H5Fcreate("results in memory", H5F_ACC_TRUNC, create, access);
  }
  int result = *file < 0 ? failed("H5Fcreate", "results in memory", err) : 0;
  result = hdf5_close(result, access, "file access list", err);
  return hdf5_close(result, create, "file creation list", err);
}

int hdf5_image_take(hid_t file, void **bytes, size_t *count, struct error *err) {
  int result = H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 ? failed("H5Fflush", "results in memory", err) : 0;
  ssize_t size = result ? -1 : H5Fget_file_image(file, NULL, 0);
  if (!result && size <= 0) {
    result = failed("H5Fget_file_image", "results in memory", err);
  }
  void *image = result ? NULL : memory_new_unset((size_t)size, 1, 1, 1, "results file", err);
  if (!result && !image) {
    result = err->code;
  }
  if (!result && H5Fget_file_image(file, image, (size_t)size) != size) {
    result = failed("H5Fget_file_image", "results in memory", err);
  }
  if (result) {
    hdf5_image_drop(file);
  } else if (H5Fclose(file) < 0) {
    result = failed("H5Fclose", "results in memory", err);
    hdf5_image_drop(file);
  }
  if (result) {
    free(image);
    return result;
  }
  *bytes = image;
  *count = (size_t)size;
  return 0;
}

void hdf5_image_drop(hid_t file) {
  hid_t open[64];
  const unsigned objects = H5F_OBJ_GROUP | H5F_OBJ_DATASET | H5F_OBJ_DATATYPE | H5F_OBJ_ATTR;
  for (ssize_t n = H5Fget_obj_ids(file, objects, 64, open); n > 0; n = H5Fget_obj_ids(file, objects, 64, open)) {
    for (ssize_t i = 0; i < n; i++) {
      if (H5Idec_ref(open[i]) < 0) {
        return;
      }
    }
  }
  H5Fclose(file);
}

int hdf5_group_new(hid_t parent, const char *name, const char *nx_class, hid_t *group, struct error *err) {
  hid_t create = creation_list(H5P_GROUP_CREATE);
  *group = create < 0 ? -1 : H5Gcreate2(parent, name, H5P_DEFAULT, create, H5P_DEFAULT);
  int result = *group < 0 ? failed("H5Gcreate2", name, err) : 0;
  result = hdf5_close(result, create, name, err);
  if (!result) {
    result = hdf5_attribute_text(*group, "NX_class", nx_class, err);
  }
  if (result && *group >= 0) {
    hdf5_close(result, *group, name, err);
    *group = -1;
  }
  return result;
}

static hid_t space_of(const struct hdf5_array *array) {
  return array->rank ? H5Screate_simple((int)array->rank, array->dim, NULL) : H5Screate(H5S_SCALAR);
}

static hsize_t element_count(const struct hdf5_array *array) {
  hsize_t count = 1;
  for (unsigned i = 0; i < array->rank; i++) {
    count *= array->dim[i];
  }
  return count;
}

/* Where the file has the elements as they are here, their chunks are packed here. */
static int write_values(hid_t dataset, const struct hdf5_array *array, const struct chunk_grid *grid,
                        struct error *err) {
  hid_t type = memory_type(array->element);
  if (grid && H5Tequal(type, file_type(array->element)) > 0) {
    const struct chunk_source source = {.name = array->name,
                                        .values = array->data,
                                        .packed = array->packed,
                                        .packed_first = array->packed_first,
                                        .element_size = H5Tget_size(type)};
    return chunk_write_all(dataset, grid, &source, array->pool, err);
  }
  bool empty = element_count(array) == 0;
  return empty || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, array->data) >= 0
             ? 0
             : failed("H5Dwrite", array->name, err);
}

static int dataset_new(hid_t group, const struct hdf5_array *array, bool filtered, hid_t *dataset, struct error *err) {
  hid_t space = space_of(array);
  hid_t create = creation_list(H5P_DATASET_CREATE);
  struct chunk_grid grid;
  if (filtered) {
    chunk_grid_choose(array->dim, array->rank, H5Tget_size(file_type(array->element)), &grid);
  }
  bool ready = space >= 0 && create >= 0 && (!filtered || chunk_filters_set(create, &grid) >= 0);
  *dataset =
      ready ? H5Dcreate2(group, array->name, file_type(array->element), space, H5P_DEFAULT, create, H5P_DEFAULT) : -1;
  int result = *dataset < 0 ? failed("H5Dcreate2", array->name, err) : 0;
  result = result ? result : write_values(*dataset, array, filtered ? &grid : NULL, err);
  result = hdf5_close(result, space, array->name, err);
  result = hdf5_close(result, create, array->name, err);
  if (result && *dataset >= 0) {
    hdf5_close(result, *dataset, array->name, err);
    *dataset = -1;
  }
  return result;
}

int hdf5_scale_new(hid_t group, const struct hdf5_array *array, hid_t *scale, struct error *err) {
  assert(array->rank == 1);
  if (dataset_new(group, array, false, scale, err)) {
    return err->code;
  }
  /* The scale's name is its link's name, which is what netCDF expects. */
  if (H5DSset_scale(*scale, array->name) < 0) {
    failed("H5DSset_scale", array->name, err);
    hdf5_close(err->code, *scale, array->name, err);
    *scale = -1;
    return err->code;
  }
  return 0;
}

int hdf5_variable_new(hid_t group, const struct hdf5_array *array, const hid_t *scale, hid_t *variable,
                      struct error *err) {
  bool filtered = array->rank && element_count(array);
  if (dataset_new(group, array, filtered, variable, err)) {
    return err->code;
  }
  for (unsigned i = 0; i < array->rank; i++) {
    if (H5DSattach_scale(*variable, scale[i], i) < 0) {
      failed("H5DSattach_scale", array->name, err);
      hdf5_close(err->code, *variable, array->name, err);
      *variable = -1;
      return err->code;
    }
  }
  return 0;
}

/* Text of any length, UTF-8. */
static hid_t text_type(void) {
  hid_t type = H5Tcopy(H5T_C_S1);
  if (type >= 0 && (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
    H5Tclose(type);
    return -1;
  }
  return type;
}

int hdf5_text_new(hid_t group, const char *name, const char *text, struct error *err) {
  char *clean = printable_utf8(text, err);
  if (!clean) {
    return err->code;
  }
  hid_t type = text_type();
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t create = creation_list(H5P_DATASET_CREATE);
  bool ready = type >= 0 && space >= 0 && create >= 0;
  hid_t dataset = ready ? H5Dcreate2(group, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT) : -1;
  int result = dataset < 0 ? failed("H5Dcreate2", name, err) : 0;
  if (!result && hdf5_write_all(dataset, type, 1, &clean) < 0) {
    result = failed("H5Dwrite", name, err);
  }
  result = hdf5_close(result, dataset, name, err);
  result = hdf5_close(result, create, name, err);
  result = hdf5_close(result, space, name, err);
  result = hdf5_close(result, type, name, err);
  free(clean);
  return result;
}

/* One attribute of any type; `space` and `type` stay the caller's. */
static int attribute_new(hid_t object, const char *name, hid_t type, hid_t kept_as, hid_t space, const void *value,
                         struct error *err) {
  bool ready = type >= 0 && space >= 0;
  hid_t attribute = ready ? H5Acreate2(object, name, kept_as, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
  int result = attribute < 0 ? failed("H5Acreate2", name, err) : 0;
  if (!result && H5Awrite(attribute, type, value) < 0) {
    result = failed("H5Awrite", name, err);
  }
  return hdf5_close(result, attribute, name, err);
}

int hdf5_attribute_text(hid_t object, const char *name, const char *text, struct error *err) {
  char *clean = printable_utf8(text, err);
  if (!clean) {
    return err->code;
  }
  hid_t type = text_type();
  hid_t space = H5Screate(H5S_SCALAR);
  int result = attribute_new(object, name, type, type, space, &clean, err);
  result = hdf5_close(result, space, name, err);
  result = hdf5_close(result, type, name, err);
  free(clean);
  return result;
}

int hdf5_attribute_texts(hid_t object, const char *name, const char *const *texts, size_t count, struct error *err) {
  hid_t type = text_type();
  hid_t space = H5Screate_simple(1, &(hsize_t){count}, NULL);
  int result = attribute_new(object, name, type, type, space, texts, err);
  result = hdf5_close(result, space, name, err);
  return hdf5_close(result, type, name, err);
}

int hdf5_attribute_array(hid_t object, const struct hdf5_array *array, struct error *err) {
  hid_t space = space_of(array);
  int result = attribute_new(object, array->name, memory_type(array->element), file_type(array->element), space,
                             array->data, err);
  return hdf5_close(result, space, array->name, err);
}

int hdf5_attribute_int(hid_t object, const char *name, int64_t value, struct error *err) {
  return hdf5_attribute_array(object, &(struct hdf5_array){.name = name, .element = ELEMENT_I64, .data = &value}, err);
}

int hdf5_attribute_real(hid_t object, const char *name, double value, struct error *err) {
  return hdf5_attribute_array(object, &(struct hdf5_array){.name = name, .element = ELEMENT_F64, .data = &value}, err);
}
