/* HDF5's own account of what went wrong, in our messages instead of on standard error.
 */
#ifndef PE_RESULTS_HDF5_ERROR_H
#define PE_RESULTS_HDF5_ERROR_H

#include "base/error.h"

#include <hdf5.h>

/* How HDF5 reported errors before we took over, in this thread. */
struct hdf5_reports {
  H5E_auto2_t report;
  void *data;
};

/* Keep HDF5 from printing; undo it. */
struct hdf5_reports hdf5_errors_quiet(void);
void hdf5_errors_restore(struct hdf5_reports before);

/* *err says that `call` failed on `name`, with the innermost reason that HDF5 gives; returns `code`. */
int hdf5_failed(enum error_code code, const char *call, const char *name, struct error *err);

#endif
