/* HDF5 files that others made: whatever they hold, the reader answers with values of the promised size or with a
 * sentence, and reads no other file. The bytes say what the file holds (build_hdf5.h): mutated files themselves soon
 * crash libhdf5 1.10 inside its own decoding, which is why the runner reads files in its workers. */
#include "build_hdf5.h"
#include "fuzz.h"
#include "memory_file.h"

#include "input/hdf5_reader.h"

#include <hdf5.h>
#include <math.h>
#include <stdbool.h>

static void check(int status, const struct error *err) {
  if (status && (!err->text[0] || err->code != (enum error_code)status)) {
    abort();
  }
}

static void read_numbers(struct hdf5_file *file, const char *name) {
  struct error err = {ERROR_NONE, ""};
  struct hdf5_shape shape = {.rank = HDF5_ANY_RANK};
  int status = hdf5_shape(file, name, &shape, &err);
  check(status, &err);
  if (status) {
    return;
  }
  float *floats = NULL;
  double *doubles = NULL;
  int32_t *whole = NULL;
  status = hdf5_floats(file, name, &shape, &floats, &err);
  check(status, &err);
  size_t count = 1;
  for (unsigned axis = 0; axis < shape.rank; axis++) {
    count *= shape.dim[axis];
  }
  for (size_t i = 0; !status && i < count; i++) {
    if (!isfinite(floats[i])) {
      abort();
    }
  }
  check(hdf5_doubles(file, name, &shape, &doubles, &err), &err);
  check(hdf5_integers(file, name, &shape, &whole, &err), &err);
  free(floats);
  free(doubles);
  free(whole);
}

static void read_texts(struct hdf5_file *file, const char *name) {
  struct error err = {ERROR_NONE, ""};
  char **texts = NULL;
  size_t count = 0;
  check(hdf5_texts(file, name, &texts, &count, &err), &err);
  hdf5_free_texts(texts, count);
}

static void read_attributes(struct hdf5_file *file, const char *object) {
  struct error err = {ERROR_NONE, ""};
  bool found = false;
  double number = 0;
  char *text = NULL;
  check(hdf5_number(file, object, "n", &found, &number, &err), &err);
  check(hdf5_text(file, object, "t", &found, &text, &err), &err);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  char path[MEMORY_FILE_PATH];
  memory_file(bytes, 0, path);
  struct error err = {ERROR_NONE, ""};
  struct hdf5_file *file = build_hdf5(path, bytes, count) ? hdf5_file_open(path, &err) : NULL;
  if (file) {
    for (const char *const *name = build_hdf5_names; *name; name++) {
      read_numbers(file, *name);
      read_texts(file, *name);
    }
    read_attributes(file, "/");
    read_attributes(file, "/g");
    hdf5_file_close(file);
  }
  memory_file_drop(path);
  return 0;
}
