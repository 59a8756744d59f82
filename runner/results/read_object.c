#include "results/read_object.h"

#include "base/memory.h"
#include "input/hdf5_transfer.h"

#include <hdf5_hl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int cannot_read(const struct hdf5_file *file, const char *object, struct error *err) {
  char reason[256];
  hdf5_reason(reason, sizeof reason);
  return error_set(err, ERROR_FILE_READ, "%s: %s cannot be read: %s", file->path, object, reason);
}

void names_free(struct names *names) {
  for (size_t i = 0; i < names->count; i++) {
    free(names->items[i]);
  }
  free(names->items);
  *names = (struct names){0};
}

static int names_add(struct names *names, const char *name, struct error *err) {
  char **grown = memory_grow(names->items, &names->capacity, names->count + 1, sizeof *grown, "names", err);
  if (!grown) {
    return err->code;
  }
  names->items = grown;
  grown[names->count] = memory_copy_text(name, err);
  return grown[names->count] ? (names->count++, 0) : (int)err->code;
}

struct visit {
  const struct hdf5_file *file;
  const char *object;
  struct names *names;
  struct error *err;
};

/* Links are followed by nobody: a results file has hard ones only. */
static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *context) {
  (void)group;
  struct visit *visit = context;
  if (info->type != H5L_TYPE_HARD) {
    error_set(visit->err, ERROR_FILE_REFUSED, "%s: %s/%s is a link to elsewhere; a results file has none",
              visit->file->path, visit->object, name);
    return -1;
  }
  return names_add(visit->names, name, visit->err) ? -1 : 0;
}

static herr_t visit_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context) {
  (void)object;
  (void)info;
  struct visit *visit = context;
  return names_add(visit->names, name, visit->err) ? -1 : 0;
}

/* Iterate by creation order where the object has one, as ours do; by name where another tool re-wrote it. */
static int visit_all(const struct hdf5_file *file, const char *object, bool links, struct names *names,
                     struct error *err) {
  hid_t id = H5Oopen(file->handle, object, H5P_DEFAULT);
  if (id < 0) {
    return cannot_read(file, object, err);
  }
  err->code = ERROR_NONE;
  struct visit visit = {file, object, names, err};
  hsize_t next = 0;
  herr_t done = links ? H5Literate(id, H5_INDEX_CRT_ORDER, H5_ITER_INC, &next, visit_link, &visit)
                      : H5Aiterate2(id, H5_INDEX_CRT_ORDER, H5_ITER_INC, &next, visit_attribute, &visit);
  if (done < 0 && err->code == ERROR_NONE && !names->count) {
    next = 0;
    done = links ? H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, &next, visit_link, &visit)
                 : H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_INC, &next, visit_attribute, &visit);
  }
  int result = done >= 0 ? 0 : err->code != ERROR_NONE ? (int)err->code : cannot_read(file, object, err);
  H5Oclose(id);
  if (result) {
    names_free(names);
  }
  return result;
}

int read_members(const struct hdf5_file *file, const char *group, struct names *names, struct error *err) {
  return visit_all(file, group, true, names, err);
}

int read_attribute_names(const struct hdf5_file *file, const char *object, struct names *names, struct error *err) {
  return visit_all(file, object, false, names, err);
}

int read_kind(const struct hdf5_file *file, const char *object, bool *is_group, struct error *err) {
  hid_t id = H5Oopen(file->handle, object, H5P_DEFAULT);
  if (id < 0) {
    return cannot_read(file, object, err);
  }
  H5I_type_t kind = H5Iget_type(id);
  H5Oclose(id);
  *is_group = kind == H5I_GROUP;
  return kind == H5I_GROUP || kind == H5I_DATASET
             ? 0
             : error_set(err, ERROR_FILE_CONTENT, "%s: %s is neither a group nor a dataset", file->path, object);
}

static bool is_text(hid_t type) {
  return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
}

/* A text of variable length, read from an attribute or a dataset. */
static int copy_text(const struct hdf5_file *file, const char *what, hid_t id, bool attribute, hid_t type, char **text,
                     struct error *err) {
  char *read = NULL;
  herr_t done = attribute ? H5Aread(id, type, &read) : hdf5_read_all(id, type, 1, &read);
  if (done < 0) {
    return cannot_read(file, what, err);
  }
  *text = memory_copy_text(read ? read : "", err);
  H5free_memory(read);
  return *text ? 0 : (int)err->code;
}

static int read_text_kind(const struct hdf5_file *file, const char *object, const char *name, hid_t id, hid_t type,
                          struct attributes *out, struct error *err) {
  char *text = NULL;
  if (copy_text(file, object, id, true, type, &text, err)) {
    return err->code;
  }
  int failed = attributes_set_text(out, name, text, err);
  free(text);
  return failed;
}

static int read_number_kind(const struct hdf5_file *file, const char *object, const char *name, hid_t id, hid_t type,
                            hid_t space, struct attributes *out, struct error *err) {
  hssize_t count = H5Sget_simple_extent_npoints(space);
  if (count < 0) {
    return cannot_read(file, object, err);
  }
  if (H5Sget_simple_extent_type(space) == H5S_SCALAR && H5Tget_class(type) == H5T_INTEGER) {
    int64_t integer = 0;
    return H5Aread(id, H5T_NATIVE_INT64, &integer) < 0 ? cannot_read(file, object, err)
                                                       : attributes_set_int(out, name, integer, err);
  }
  double *list = memory_new((size_t)count, sizeof *list, name, err);
  if (!list) {
    return err->code;
  }
  int failed = H5Aread(id, H5T_NATIVE_DOUBLE, list) < 0 ? cannot_read(file, object, err) : 0;
  if (!failed && H5Sget_simple_extent_type(space) == H5S_SCALAR) {
    failed = attributes_set_real(out, name, list[0], err);
  } else if (!failed) {
    failed = attributes_set_reals(out, name, list, (size_t)count, err);
  }
  free(list);
  return failed;
}

int read_attribute(const struct hdf5_file *file, const char *object, const char *name, struct attributes *out,
                   struct error *err) {
  if (strlen(name) >= RECORD_NAME) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: %s has an attribute with a name of %zu bytes", file->path, object,
                     strlen(name));
  }
  hid_t id = H5Aopen_by_name(file->handle, object, name, H5P_DEFAULT, H5P_DEFAULT);
  hid_t type = id < 0 ? -1 : H5Aget_type(id);
  hid_t space = id < 0 ? -1 : H5Aget_space(id);
  int result = 0;
  if (type < 0 || space < 0) {
    result = cannot_read(file, object, err);
  } else if (is_text(type) && H5Sget_simple_extent_type(space) == H5S_SCALAR) {
    result = read_text_kind(file, object, name, id, type, out, err);
  } else if (H5Tget_class(type) == H5T_INTEGER || H5Tget_class(type) == H5T_FLOAT) {
    result = read_number_kind(file, object, name, id, type, space, out, err);
  } else {
    result = error_set(err, ERROR_FILE_CONTENT, "%s: attribute '%s' of %s is neither a text nor numbers", file->path,
                       name, object);
  }
  if (space >= 0) {
    H5Sclose(space);
  }
  if (type >= 0) {
    H5Tclose(type);
  }
  if (id >= 0) {
    H5Aclose(id);
  }
  return result;
}

int read_text_attribute(const struct hdf5_file *file, const char *object, const char *name, char **text,
                        struct error *err) {
  *text = NULL;
  htri_t exists = H5Aexists_by_name(file->handle, object, name, H5P_DEFAULT);
  if (exists <= 0) {
    return exists < 0 ? cannot_read(file, object, err) : 0;
  }
  struct attributes one = {0};
  int result = read_attribute(file, object, name, &one, err);
  if (!result && one.items[0].kind != ATTRIBUTE_TEXT) {
    result = error_set(err, ERROR_FILE_CONTENT, "%s: attribute '%s' of %s is not a text", file->path, name, object);
  }
  if (!result) {
    *text = one.items[0].text;
    one.items[0].text = NULL;
  }
  attributes_free(&one);
  return result;
}

int read_text(const struct hdf5_file *file, const char *path, char **text, struct error *err) {
  struct hdf5_shape shape = {.rank = 0};
  struct hdf5_dataset dataset;
  *text = NULL;
  if (hdf5_dataset_open(file, path, HDF5_WANT_TEXTS, &shape, &dataset, err)) {
    return err->code;
  }
  int result = is_text(dataset.type)
                   ? copy_text(file, path, dataset.handle, false, dataset.type, text, err)
                   : error_set(err, ERROR_FILE_CONTENT, "%s: %s is not a text of variable length", file->path, path);
  hdf5_dataset_close(&dataset);
  return result;
}

int read_is_scale(const struct hdf5_file *file, const char *path, bool *is_scale, struct error *err) {
  hid_t dataset = H5Dopen2(file->handle, path, H5P_DEFAULT);
  htri_t answer = dataset < 0 ? -1 : H5DSis_scale(dataset);
  if (dataset >= 0) {
    H5Dclose(dataset);
  }
  *is_scale = answer > 0;
  return answer < 0 ? cannot_read(file, path, err) : 0;
}
