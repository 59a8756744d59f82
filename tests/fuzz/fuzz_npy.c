/* .npy files: whatever the bytes, either an array whose size matches, or a sentence. */
#include "fuzz.h"
#include "memory_file.h"

#include "input/npy.h"

#include <math.h>
#include <string.h>

static void check(int status, const struct npy_array *array, const struct error *err) {
  if (status ? !err->text[0] || err->code != (enum error_code)status : !array->count) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char path[MEMORY_FILE_PATH];
  memory_file(bytes, count, path);
  struct npy_array array = {0}, entry = {0};
  struct error err = {ERROR_NONE, ""};
  int status = npy_read(path, &array, &err);
  check(status, &array, &err);
  for (size_t i = 0; !status && i < array.count; i++) {
    if (!isfinite(array.data[i])) {
      abort();
    }
  }
  /* The first entry alone is the beginning of the whole. */
  if (!status && array.rank) {
    int entry_status = npy_read_entry(path, 0, &entry, &err);
    check(entry_status, &entry, &err);
    if (memcmp(entry.data, array.data, array.count / array.dim[0] * sizeof *array.data) != 0) {
      abort();
    }
  }
  free(array.data);
  free(entry.data);
  memory_file_drop(path);
  return 0;
}
