#include "results/hdf5_error.h"

#include <stdio.h>

struct hdf5_reports hdf5_errors_quiet(void) {
  struct hdf5_reports before = {0};
  H5Eget_auto2(H5E_DEFAULT, &before.report, &before.data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return before;
}

void hdf5_errors_restore(struct hdf5_reports before) {
  H5Eset_auto2(H5E_DEFAULT, before.report, before.data);
}

static herr_t keep_innermost(unsigned depth, const H5E_error2_t *entry, void *reason) {
  if (depth == 0 && entry->desc) {
    snprintf(reason, 200, "%s", entry->desc);
  }
  return 0;
}

int hdf5_failed(enum error_code code, const char *call, const char *name, struct error *err) {
  char reason[200] = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, reason);
  return error_set(err, code, "HDF5: %s of '%s' failed: %s", call, name, reason);
}
