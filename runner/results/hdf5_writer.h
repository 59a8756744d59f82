/* A thin layer over HDF5 for the results: each function makes one thing the way docs/results-format.md says, checks
 * every return code, and releases what it opened. A file is made in memory and handed over as bytes.
 *
 * All return 0 or ERROR_FILE_WRITE with HDF5's reason, or ERROR_MEMORY. Identifiers that are handed out are
 * closed with hdf5_close. One thread at a time.
 */
#ifndef PE_RESULTS_HDF5_WRITER_H
#define PE_RESULTS_HDF5_WRITER_H

#include "base/error.h"
#include "base/pool.h"
#include "base/record.h"

#include <hdf5.h>
#include <stddef.h>

struct hdf5_array {
  const char *name;
  enum element element;
  unsigned rank; /* 0: a scalar */
  hsize_t dim[RECORD_MAX_RANK];
  const void *data;    /* row-major, in the machine's byte order */
  const void *packed;  /* chunks of it that are packed already (packed.h), or NULL */
  size_t packed_first; /* byte of what they hold at which data begins */
  struct pool *pool;   /* to compress with, or NULL */
};

/* A new, empty file in memory. */
int hdf5_image_new(hid_t *file, struct error *err);

/* The file's bytes, to be freed, or ERROR_MEMORY. The file is closed either way; objects still open in it are an
 * error. */
int hdf5_image_take(hid_t file, void **bytes, size_t *count, struct error *err);

/* Close a file that is given up, with everything open in it. */
void hdf5_image_drop(hid_t file);

/* A group with attribute NX_class. */
int hdf5_group_new(hid_t parent, const char *name, const char *nx_class, hid_t *group, struct error *err);

/* A dimension scale: rank 1, stored as it is. */
int hdf5_scale_new(hid_t group, const struct hdf5_array *array, hid_t *scale, struct error *err);

/* A dataset, scale[i] attached to dimension i: chunks of full rows of at most 512 KiB, shuffled, deflated, with a
 * checksum. Scalars and empty ones are stored as they are. */
int hdf5_variable_new(hid_t group, const struct hdf5_array *array, const hid_t *scale, hid_t *variable,
                      struct error *err);

/* A scalar dataset of UTF-8 text. */
int hdf5_text_new(hid_t group, const char *name, const char *text, struct error *err);

/* Attributes of a group or dataset: UTF-8 texts of any length, numbers, arrays of rank 0 or 1. Text that is not UTF-8
 * is mended. */
int hdf5_attribute_text(hid_t object, const char *name, const char *text, struct error *err);
int hdf5_attribute_texts(hid_t object, const char *name, const char *const *texts, size_t count, struct error *err);
int hdf5_attribute_int(hid_t object, const char *name, int64_t value, struct error *err);
int hdf5_attribute_real(hid_t object, const char *name, double value, struct error *err);
int hdf5_attribute_array(hid_t object, const struct hdf5_array *array, struct error *err);

/* Close a group, dataset or any other identifier on the way out; a negative one is none. Returns `earlier` where that
 * is an error, and then leaves *err as it is; `name` is for the message. */
int hdf5_close(int earlier, hid_t id, const char *name, struct error *err);

#endif
