#include "results/replace.h"

#include "input/hdf5_reader.h"
#include "results/hdf5_error.h"
#include "results/read_object.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct kind {
  const char *begins; /* the first bytes of such a file */
  const char *what;
};

static const struct kind kinds[] = {
    [REPLACE_PAGE] = {"<!doctype html", "a page of HTML"},
    [REPLACE_NPY] = {"\x93NUMPY", "a .npy file"},
    [REPLACE_VECTORS] = {"{\n  \"scheme\": ", "a JSON file of `pe-run vectors`"},
    [REPLACE_TENSORS] = {"\x89HDF\r\n\x1a\n", "an HDF5 file of `pe-run apply` or `pe-run vectors`"},
};

static bool begins_with(const char *path, const char *begins) {
  char there[32];
  size_t length = strlen(begins);
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t got = file < 0 ? -1 : read(file, there, length);
  if (file >= 0) {
    close(file);
  }
  return got == (ssize_t)length && !memcmp(there, begins, length);
}

/* Whether the file's own attributes are those that every file of tensors has. 0 or ERROR_MEMORY. */
static int names_a_scheme(const char *path, bool *ours, struct error *err) {
  struct hdf5_reports before = hdf5_errors_quiet();
  *err = (struct error){0}; /* an attribute that is not there is no error */
  struct hdf5_file *file = hdf5_file_open_unlocked(path, err);
  char *scheme = NULL, *parameters = NULL;
  *ours = file && read_text_attribute(file, "/", "scheme", &scheme, err) == 0 && scheme &&
          read_text_attribute(file, "/", "parameters", &parameters, err) == 0 && parameters;
  free(scheme);
  free(parameters);
  hdf5_file_close(file);
  hdf5_errors_restore(before);
  return !*ours && err->code == ERROR_MEMORY ? ERROR_MEMORY : 0;
}

int results_may_replace(const char *path, enum replace_kind kind, struct error *err) {
  struct stat there;
  if (stat(path, &there) || !S_ISREG(there.st_mode) || there.st_size == 0) {
    return 0;
  }
  bool ours = begins_with(path, kinds[kind].begins);
  if (ours && kind == REPLACE_TENSORS && names_a_scheme(path, &ours, err)) {
    return err->code;
  }
  return ours ? 0
              : error_set(err, ERROR_FILE_REFUSED,
                          "'%s' is there, and is not %s: it is not overwritten; choose another name, or remove it",
                          path, kinds[kind].what);
}
