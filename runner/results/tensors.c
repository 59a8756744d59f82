#include "results/tensors.h"

#include "base/memory.h"
#include "input/npy.h"
#include "results/hdf5_error.h"
#include "results/hdf5_writer.h"
#include "results/results.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Open the group `name` of `parent`, made where it is not there yet. */
static int enter(hid_t parent, const char *name, hid_t *group, struct error *err) {
  htri_t there = H5Lexists(parent, name, H5P_DEFAULT);
  if (there > 0) {
    *group = H5Gopen2(parent, name, H5P_DEFAULT);
    return *group < 0 ? hdf5_failed(ERROR_FILE_WRITE, "H5Gopen2", name, err) : 0;
  }
  return hdf5_group_new(parent, name, "NXcollection", group, err);
}

/* The group that a path leads to, and the path's last name, which stays in `path`. */
static int enter_all(hid_t file, char *path, hid_t *group, const char **last, struct error *err) {
  *group = H5Gopen2(file, "/", H5P_DEFAULT);
  if (*group < 0) {
    return hdf5_failed(ERROR_FILE_WRITE, "H5Gopen2", "/", err);
  }
  char *name = path + strspn(path, "/");
  for (char *slash = strchr(name, '/'); slash; slash = strchr(name, '/')) {
    *slash = '\0';
    hid_t below = -1;
    int status = enter(*group, name, &below, err);
    status = hdf5_close(status, *group, name, err);
    *group = below;
    if (status) {
      return status;
    }
    name = slash + 1 + strspn(slash + 1, "/");
  }
  *last = name;
  return 0;
}

static int new_scale(hid_t group, const struct tensors_axis *axis, size_t length, hid_t *scale, struct error *err) {
  double *counted = NULL;
  if (!axis->values) {
    counted = memory_new(length, sizeof *counted, axis->name, err);
    if (!counted) {
      return err->code;
    }
    for (size_t i = 0; i < length; i++) {
      counted[i] = (double)i;
    }
  }
  struct hdf5_array array = {
      .name = axis->name, .element = ELEMENT_F64, .rank = 1, .dim = {length}, .data = counted ? counted : axis->values};
  int status = hdf5_scale_new(group, &array, scale, err);
  free(counted);
  return status;
}

static int take_scale(hid_t group, const struct tensors_axis *axis, size_t length, hid_t *scale, struct error *err) {
  if (H5Lexists(group, axis->name, H5P_DEFAULT) > 0) {
    *scale = H5Dopen2(group, axis->name, H5P_DEFAULT);
    return *scale < 0 ? hdf5_failed(ERROR_FILE_WRITE, "H5Dopen2", axis->name, err) : 0;
  }
  return new_scale(group, axis, length, scale, err);
}

static int write_item(hid_t group, const char *name, const struct tensors_item *item, struct error *err) {
  assert(item->rank <= RECORD_MAX_RANK);
  struct hdf5_array array = {.name = name, .element = item->element, .rank = item->rank, .data = item->data};
  hid_t scales[RECORD_MAX_RANK], variable = -1;
  unsigned open = 0;
  int status = 0;
  while (!status && open < item->rank) {
    array.dim[open] = item->dim[open];
    scales[open] = -1;
    status = take_scale(group, &item->axis[open], item->dim[open], &scales[open], err);
    open++;
  }
  status = status ? status : hdf5_variable_new(group, &array, scales, &variable, err);
  if (!status && item->doc && item->doc[0]) {
    status = hdf5_attribute_text(variable, "long_name", item->doc, err);
  }
  status = hdf5_close(status, variable, name, err);
  while (open > 0) {
    status = hdf5_close(status, scales[--open], name, err);
  }
  return status;
}

static int add_item(hid_t file, const struct tensors_item *item, struct error *err) {
  char *path = memory_copy_text(item->name, err);
  if (!path) {
    return err->code;
  }
  hid_t group = -1;
  const char *last = path;
  int status = enter_all(file, path, &group, &last, err);
  status = status ? status : write_item(group, last, item, err);
  status = hdf5_close(status, group, item->name, err);
  free(path);
  return status;
}

static int add_attribute(hid_t file, const struct attribute *attribute, struct error *err) {
  switch (attribute->kind) {
  case ATTRIBUTE_TEXT:
    return hdf5_attribute_text(file, attribute->name, attribute->text, err);
  case ATTRIBUTE_INT:
    return hdf5_attribute_int(file, attribute->name, attribute->integer, err);
  case ATTRIBUTE_REAL:
    return hdf5_attribute_real(file, attribute->name, attribute->real, err);
  default:
    return hdf5_attribute_array(file,
                                &(struct hdf5_array){.name = attribute->name,
                                                     .element = ELEMENT_F64,
                                                     .rank = 1,
                                                     .dim = {attribute->count},
                                                     .data = attribute->list},
                                err);
  }
}

static int make_image(const struct tensors *tensors, void **bytes, size_t *count, struct error *err) {
  hid_t file;
  int status = hdf5_image_new(&file, err);
  if (status) {
    return status;
  }
  for (size_t i = 0; !status && i < tensors->count; i++) {
    status = add_item(file, &tensors->items[i], err);
  }
  for (size_t i = 0; !status && tensors->attributes && i < tensors->attributes->count; i++) {
    status = add_attribute(file, &tensors->attributes->items[i], err);
  }
  if (status) {
    hdf5_image_drop(file);
    return status;
  }
  return hdf5_image_take(file, bytes, count, err);
}

int tensors_image(const struct tensors *tensors, void **bytes, size_t *count, struct error *err) {
  struct hdf5_reports before = hdf5_errors_quiet();
  int failed = make_image(tensors, bytes, count, err);
  hdf5_errors_restore(before);
  return failed;
}

int tensors_write_hdf5(const char *path, const struct tensors *tensors, struct error *err) {
  void *bytes = NULL;
  size_t count;
  int status = tensors_image(tensors, &bytes, &count, err);
  status = status ? status : results_put(path, bytes, count, err);
  free(bytes);
  return status;
}

int tensors_write_npy(const char *path, const struct tensors_item *item, struct error *err) {
  assert(item->element == ELEMENT_F32);
  size_t head_count, count = 1;
  unsigned char *head = npy_head(item->rank, item->dim, &head_count, err);
  if (!head) {
    return err->code;
  }
  for (unsigned axis = 0; axis < item->rank; axis++) {
    count *= item->dim[axis];
  }
  int status = results_put_headed(path, head, head_count, item->data, count * sizeof(float), err);
  free(head);
  return status;
}
