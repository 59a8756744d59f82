#include "train/checkpoint.h"

#include "base/memory.h"
#include "base/text.h"
#include "config/section_text.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Every HDF5 call below returns a negative number where it fails; `failed` collects that. */
static bool put_attribute(hid_t object, const char *name, hid_t stored, hid_t memory, const void *value) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(object, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
  bool failed = attribute < 0 || H5Awrite(attribute, memory, value) < 0;
  failed = (attribute >= 0 && H5Aclose(attribute) < 0) || failed;
  H5Sclose(space);
  return failed;
}

static bool put_number(hid_t object, const char *name, double value) {
  return put_attribute(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

static bool put_text(hid_t object, const char *name, const char *text) {
  hid_t type = H5Tcopy(H5T_C_S1);
  bool failed = H5Tset_size(type, strlen(text) + 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
                put_attribute(object, name, type, type, text);
  H5Tclose(type);
  return failed;
}

static bool put_parameter(hid_t file, const struct parameter *parameter, const float *values) {
  hsize_t dim[4];
  for (unsigned axis = 0; axis < parameter->rank; axis++) {
    dim[axis] = parameter->dim[axis];
  }
  hid_t links = H5Pcreate(H5P_LINK_CREATE), create = H5Pcreate(H5P_DATASET_CREATE);
  hid_t space = H5Screate_simple((int)parameter->rank, dim, NULL);
  /* No times: the same model gives the same bytes. */
  bool failed = H5Pset_create_intermediate_group(links, 1) < 0 || H5Pset_obj_track_times(create, 0) < 0;
  hid_t set = H5Dcreate2(file, parameter->name, H5T_IEEE_F32LE, space, links, create, H5P_DEFAULT);
  failed = set < 0 || failed || H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;
  failed = (set >= 0 && H5Dclose(set) < 0) || failed;
  H5Sclose(space);
  H5Pclose(create);
  H5Pclose(links);
  return failed;
}

static bool put_layer(hid_t file, const struct decoder_shape *shape, size_t layer) {
  char name[32];
  snprintf(name, sizeof name, "layer%zu", layer);
  hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
  double head_dim = (double)(shape->d_model / shape->heads);
  bool failed =
      group < 0 || put_number(group, "d_in", (double)shape->d_model) ||
      put_number(group, "d_out", (double)shape->d_model) || put_number(group, "n_heads", (double)shape->heads) ||
      put_number(group, "n_kv_heads", (double)shape->heads) || put_number(group, "head_dim", head_dim) ||
      put_number(group, "q_scale", shape->score_scale) || put_number(group, "ln_epsilon", shape->norm_epsilon);
  return (group >= 0 && H5Gclose(group) < 0) || failed;
}

static bool put_model(hid_t file, const struct parameters *layout, const float *block, const char *scheme,
                      const char *params, double train_length, bool is_bytes) {
  const struct decoder_shape *s = &layout->shape;
  bool failed = false;
  for (size_t i = 0; i < layout->n; i++) {
    failed = put_parameter(file, &layout->items[i], block + layout->items[i].offset) || failed;
  }
  for (size_t layer = 0; layer < s->layers; layer++) {
    failed = put_layer(file, s, layer) || failed;
  }
  return put_number(file, "vocab_size", (double)s->vocab) || put_number(file, "d_model", (double)s->d_model) ||
         put_number(file, "n_layers", (double)s->layers) || put_number(file, "n_heads", (double)s->heads) ||
         put_number(file, "token_scale", s->embed_scale) || put_number(file, "pe_scale", s->pe_scale) ||
         put_number(file, "tied", s->tied) || put_number(file, "max_length", train_length) ||
         put_text(file, "norm", "pre_layer_norm") ||
         put_text(file, "activation", s->gelu == GELU_TANH ? "gelu_tanh" : "gelu_erf") ||
         put_text(file, "trained_with", scheme) || put_text(file, "trained_with_parameters", params) ||
         put_text(file, "trained_mask", "causal") || (is_bytes && put_text(file, "tokens", "bytes")) || failed;
}

/* The folders of a path that are missing. */
static int make_folders(const char *path, struct error *err) {
  char *copy = memory_copy_text(path, err);
  int status = copy ? 0 : ERROR_MEMORY;
  for (char *slash = copy ? strchr(copy + 1, '/') : NULL; !status && slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(copy, 0777) && errno != EEXIST) {
      status = error_set(err, ERROR_FILE_WRITE, "%s: %s", copy, strerror(errno));
    }
    *slash = '/';
  }
  free(copy);
  return status;
}

/* Into `path` itself. */
static int write_file(const char *path, const struct parameters *layout, const float *block, const char *scheme,
                      const char *params, double train_length, bool is_bytes, struct error *err) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  /* The oldest format of the library, and no lock: some shared folders have none. */
  H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  bool failed = file < 0 || put_model(file, layout, block, scheme, params, train_length, is_bytes);
  failed = (file >= 0 && H5Fclose(file) < 0) || failed;
  H5Pclose(access);
  int handle = failed ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  failed = failed || handle < 0 || fsync(handle);
  if (handle >= 0) {
    close(handle);
  }
  return failed ? error_set(err, ERROR_FILE_WRITE, "%s: the checkpoint cannot be written", path) : 0;
}

int checkpoint_write(const char *path, const struct parameters *layout, const float *block, const struct scheme *scheme,
                     const struct section *params, double train_length, bool is_bytes, struct error *err) {
  struct text name = {0};
  text_printf(&name, "%s.new", path);
  char *new_path = text_take(&name, err);
  char *json = new_path ? config_section_to_json(params, err) : NULL;
  int status = json ? make_folders(path, err) : (int)err->code;
  /* HDF5 prints its errors where nobody asked for them. */
  H5E_auto2_t print;
  void *print_data;
  H5Eget_auto2(H5E_DEFAULT, &print, &print_data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  status = status ? status : write_file(new_path, layout, block, scheme->info.id, json, train_length, is_bytes, err);
  H5Eset_auto2(H5E_DEFAULT, print, print_data);
  if (!status && rename(new_path, path)) {
    status = error_set(err, ERROR_FILE_WRITE, "%s: %s", path, strerror(errno));
  }
  if (status && new_path) {
    unlink(new_path);
  }
  free(json);
  free(new_path);
  return status;
}
