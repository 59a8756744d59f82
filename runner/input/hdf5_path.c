#include "input/hdf5_path.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SOFT_LINKS = 32 };

static herr_t keep_first(unsigned n, const H5E_error2_t *entry, void *context) {
  if (n == 0) {
    *(const char **)context = entry->desc;
  }
  return 0;
}

void hdf5_reason(char *text, size_t size) {
  const char *reason = NULL;
  if (H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason) < 0 || !reason) {
    reason = "no reason given";
  }
  snprintf(text, size, "%s", reason);
}

/* Where the walk stands: `done` is a path of hard links from the root, `rest` is still to be followed. */
struct walk {
  hid_t file;
  const char *path;
  const char *name;
  char done[HDF5_PATH_SIZE];
  char rest[HDF5_PATH_SIZE];
  unsigned soft_links;
};

static int too_long(const struct walk *walk, struct error *err) {
  return error_set(err, ERROR_FILE_REFUSED, "%s: %.200s... is longer than a name may be (%d bytes)", walk->path,
                   walk->name, HDF5_PATH_SIZE - 1);
}

/* Take the first component off `rest`; "" at the end. */
static void next_component(char *rest, char *component) {
  const char *start = rest + strspn(rest, "/");
  size_t length = strcspn(start, "/");
  memcpy(component, start, length);
  component[length] = '\0';
  start += length;
  memmove(rest, start, strlen(start) + 1);
}

static int follow_soft_link(struct walk *walk, const char *link, size_t value_size, struct error *err) {
  char target[HDF5_PATH_SIZE];
  if (value_size >= sizeof target) {
    return too_long(walk, err);
  }
  memset(target, 0, sizeof target);
  if (H5Lget_val(walk->file, link, target, sizeof target - 1, H5P_DEFAULT) < 0) {
    return error_set(err, ERROR_FILE_READ, "%s: the soft link %s cannot be read", walk->path, link);
  }
  if (++walk->soft_links > MOST_SOFT_LINKS) {
    return error_set(err, ERROR_FILE_REFUSED, "%s: %s is a soft link that leads in a circle", walk->path, walk->name);
  }
  char rest[2 * HDF5_PATH_SIZE];
  int length = snprintf(rest, sizeof rest, "%s/%s", target, walk->rest);
  if (length < 0 || length >= HDF5_PATH_SIZE) {
    return too_long(walk, err);
  }
  memcpy(walk->rest, rest, (size_t)length + 1);
  if (target[0] == '/') {
    walk->done[0] = '\0';
  }
  return 0;
}

static int refuse_external_link(const struct walk *walk, const char *link, size_t value_size, struct error *err) {
  char value[2 * HDF5_PATH_SIZE];
  const char *other_file = "a file with a very long name", *other_object = "";
  unsigned flags = 0;
  if (value_size <= sizeof value && H5Lget_val(walk->file, link, value, sizeof value, H5P_DEFAULT) >= 0 &&
      H5Lunpack_elink_val(value, value_size, &flags, &other_file, &other_object) < 0) {
    other_file = "a file that cannot be told";
  }
  return error_set(err, ERROR_FILE_REFUSED,
                   "%s: %s is an external link into another file (%s); only what is in the file itself is read",
                   walk->path, link, other_file);
}

/* Follow one component: `done` grows by it, or `rest` by where a soft link leads. */
static int step(struct walk *walk, const char *component, bool *found, struct error *err) {
  char link[2 * HDF5_PATH_SIZE];
  int length = snprintf(link, sizeof link, "%s/%s", walk->done, component);
  if (length < 0 || length >= HDF5_PATH_SIZE) {
    return too_long(walk, err);
  }
  htri_t exists = H5Lexists(walk->file, link, H5P_DEFAULT);
  if (exists <= 0) {
    /* Negative: what stands before this component is no group. Then there is no such object either. */
    *found = false;
    return 0;
  }
  H5L_info_t info;
  if (H5Lget_info(walk->file, link, &info, H5P_DEFAULT) < 0) {
    char reason[128];
    hdf5_reason(reason, sizeof reason);
    return error_set(err, ERROR_FILE_READ, "%s: the link %s cannot be read: %s", walk->path, link, reason);
  }
  switch (info.type) {
  case H5L_TYPE_HARD:
    memcpy(walk->done, link, (size_t)length + 1);
    return 0;
  case H5L_TYPE_SOFT:
    return follow_soft_link(walk, link, info.u.val_size, err);
  case H5L_TYPE_EXTERNAL:
    return refuse_external_link(walk, link, info.u.val_size, err);
  default:
    return error_set(err, ERROR_FILE_REFUSED, "%s: %s is a link of a user-defined kind (%d); hard and soft are read",
                     walk->path, link, (int)info.type);
  }
}

int hdf5_resolve(hid_t file, const char *path, const char *name, char out[HDF5_PATH_SIZE], bool *found,
                 struct error *err) {
  struct walk walk = {.file = file, .path = path, .name = name};
  *found = true;
  if (strlen(name) >= sizeof walk.rest) {
    return too_long(&walk, err);
  }
  memcpy(walk.rest, name, strlen(name) + 1);
  char component[HDF5_PATH_SIZE];
  for (next_component(walk.rest, component); component[0] && *found; next_component(walk.rest, component)) {
    if (!strcmp(component, ".")) {
      continue;
    }
    int status = step(&walk, component, found, err);
    if (status) {
      return status;
    }
  }
  snprintf(out, HDF5_PATH_SIZE, "%s", walk.done[0] ? walk.done : "/");
  return 0;
}
