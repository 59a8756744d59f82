/* Reading HDF5 files that others made. Nothing is trusted: the file must be a regular one, no filter plugin is loaded,
 * and what leads out of the file (external links, external storage, virtual datasets) or cannot be true of it (more
 * elements than its bytes can hold) is refused by name before anything is allocated.
 *
 * Every function that can fail returns 0 or ERROR_FILE_READ (cannot be read), ERROR_FILE_REFUSED (asks for something
 * that is not allowed), ERROR_FILE_CONTENT (another shape or type than needed) or ERROR_MEMORY; the sentence names the
 * file, the dataset, what is there and what is needed. Not thread-safe on one file.
 */
#ifndef PE_INPUT_HDF5_READER_H
#define PE_INPUT_HDF5_READER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HDF5_MAX_RANK = 8, HDF5_ANY_RANK = 99 };

/* A shape that is asked for and then filled in: a length of 0 may be any (at least 1), a rank of HDF5_ANY_RANK any up
 * to HDF5_MAX_RANK. */
struct hdf5_shape {
  unsigned rank;
  size_t dim[HDF5_MAX_RANK];
};

struct hdf5_file;

struct hdf5_file *hdf5_file_open(const char *path, struct error *err);
/* The same for a file that is never changed, only replaced whole, as results are: no lock on it is an obstacle. */
struct hdf5_file *hdf5_file_open_unlocked(const char *path, struct error *err);
void hdf5_file_close(struct hdf5_file *file);

const char *hdf5_path(const struct hdf5_file *file);

/* *found: the file has a group or dataset of that name. Fails where a link on the way is refused. */
int hdf5_has(struct hdf5_file *file, const char *name, bool *found, struct error *err);

/* The shape of a numeric dataset, checked against `shape` and filled into it; nothing is read. */
int hdf5_shape(struct hdf5_file *file, const char *name, struct hdf5_shape *shape, struct error *err);

/* A dataset of any float or integer type, row-major; values must be finite in the type they are read as. The array is
 * the caller's to free(). */
int hdf5_floats(struct hdf5_file *file, const char *name, struct hdf5_shape *shape, float **data, struct error *err);
int hdf5_doubles(struct hdf5_file *file, const char *name, struct hdf5_shape *shape, double **data, struct error *err);

/* Entry `index` of the first axis alone, for example one layer of [layer, head, token, width]: data
 * [shape->dim[1]]...[shape->dim[rank - 1]]; `shape` is the whole dataset's. */
int hdf5_floats_of(struct hdf5_file *file, const char *name, size_t index, struct hdf5_shape *shape, float **data,
                   struct error *err);

/* A dataset of any integer type whose values fit into int32. */
int hdf5_integers(struct hdf5_file *file, const char *name, struct hdf5_shape *shape, int32_t **data,
                  struct error *err);

/* A dataset [count] of texts, of fixed or variable length. The array and each text are the caller's: hdf5_free_texts.
 */
int hdf5_texts(struct hdf5_file *file, const char *name, char ***texts, size_t *count, struct error *err);
void hdf5_free_texts(char **texts, size_t count);

/* Scalar attributes of a group or dataset ("/" is the file). *found = false and the value untouched where there is
 * none; wrong kinds are errors. The text is the caller's to free(). */
int hdf5_number(struct hdf5_file *file, const char *object, const char *attribute, bool *found, double *value,
                struct error *err);
int hdf5_text(struct hdf5_file *file, const char *object, const char *attribute, bool *found, char **text,
              struct error *err);

#endif
