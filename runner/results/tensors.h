/* Tensors for other programs: a small HDF5 file of named datasets with dimension scales, or one .npy file, put in place
 * whole.
 */
#ifndef PE_RESULTS_TENSORS_H
#define PE_RESULTS_TENSORS_H

#include "base/record.h"

/* One axis. Two axes of a group with the same name are the same axis: same length, same values. */
struct tensors_axis {
  const char *name;     /* [A-Za-z][A-Za-z0-9_]* */
  const double *values; /* [length]; NULL: 0, 1, 2, ... */
};

struct tensors_item {
  const char *name; /* path in the file: "/result", "/derived/inv_freq"; groups on the way are made */
  enum element element;
  unsigned rank; /* 0: a scalar; at most RECORD_MAX_RANK */
  size_t dim[RECORD_MAX_RANK];
  struct tensors_axis axis[RECORD_MAX_RANK];
  const void *data; /* row-major */
  const char *doc;  /* attribute long_name; NULL or "": none */
};

struct tensors {
  const struct tensors_item *items;
  size_t count;
  const struct attributes *attributes; /* of the file; may be NULL */
};

/* The file's bytes, to be freed. Same input, same bytes. 0, ERROR_FILE_WRITE with HDF5's reason, or ERROR_MEMORY. */
int tensors_image(const struct tensors *tensors, void **bytes, size_t *count, struct error *err);

/* tensors_image by results_put. */
int tensors_write_hdf5(const char *path, const struct tensors *tensors, struct error *err);

/* A float32 tensor as a .npy file. */
int tensors_write_npy(const char *path, const struct tensors_item *item, struct error *err);

#endif
