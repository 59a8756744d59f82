/* NumPy's .npy files, versions 1 to 3: little-endian float16, float32, float64 and integers, in C or Fortran order. */
#ifndef PE_INPUT_NPY_H
#define PE_INPUT_NPY_H

#include "base/error.h"

#include <stddef.h>

enum { NPY_MAX_RANK = 8 };

/* A tensor, row-major (C order), whatever the file has. */
struct npy_array {
  unsigned rank;
  size_t dim[NPY_MAX_RANK];
  size_t count;    /* elements of the whole file */
  float *data;     /* npy_read: [count]; npy_read_entry: [count / dim[0]]; else NULL. The caller's to free() */
  double *doubles; /* npy_read_doubles: [count]; else NULL. The caller's to free() */
};

/* Read a regular file. The header is parsed, never evaluated; the shape must account for every byte behind it, and
 * every value must be finite in the type it is read as. 0, ERROR_FILE_READ, ERROR_FILE_REFUSED (not a regular file;
 * Python objects), ERROR_FILE_CONTENT or ERROR_MEMORY. All are thread-safe. */
int npy_read(const char *path, struct npy_array *array, struct error *err);
int npy_read_doubles(const char *path, struct npy_array *array, struct error *err);

/* Entry `index` of the first axis alone, for example one layer; other entries of a file in C order are not read. */
int npy_read_entry(const char *path, size_t index, struct npy_array *array, struct error *err);

/* The shape alone. */
int npy_shape(const char *path, struct npy_array *array, struct error *err);

/* What stands in a version-1 file before float32 values of a shape in C order, for the caller to write and to free();
 * *size is its number of bytes, a multiple of 64. NULL with ERROR_MEMORY. rank <= NPY_MAX_RANK. */
unsigned char *npy_head(unsigned rank, const size_t *dim, size_t *size, struct error *err);

#endif
