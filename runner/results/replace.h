/* What a file that pe-run writes may take the place of: nothing, an empty file, or a file of the same kind. A slip of
 * the hand (a results file as the page of its report, a model's file as the tensor that comes out) costs no data.
 */
#ifndef PE_RESULTS_REPLACE_H
#define PE_RESULTS_REPLACE_H

#include "base/error.h"

enum replace_kind {
  REPLACE_PAGE,    /* a page of HTML */
  REPLACE_NPY,     /* a .npy file */
  REPLACE_VECTORS, /* golden vectors as JSON */
  REPLACE_TENSORS  /* an HDF5 file of tensors (results/tensors.h), whose attributes say which scheme made it */
};

/* 0 where a file of `kind` may be put at `path`; ERROR_FILE_REFUSED where something else is there; ERROR_MEMORY. What
 * cannot be looked at is left to results_put, which says why. */
int results_may_replace(const char *path, enum replace_kind kind, struct error *err);

#endif
