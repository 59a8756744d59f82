#include "results/hdf5_error.h"

#include "input/hdf5_path.h"

struct hdf5_reports hdf5_errors_quiet(void) {
  struct hdf5_reports before = {0};
  H5Eget_auto2(H5E_DEFAULT, &before.report, &before.data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return before;
}

void hdf5_errors_restore(struct hdf5_reports before) {
  H5Eset_auto2(H5E_DEFAULT, before.report, before.data);
}

int hdf5_failed(enum error_code code, const char *call, const char *name, struct error *err) {
  char reason[200];
  hdf5_reason(reason, sizeof reason);
  return error_set(err, code, "HDF5: %s of '%s' failed: %s", call, name, reason);
}
