/* Writing the chunks of a dataset that was made for it, packed here and not by HDF5. */
#ifndef PE_RESULTS_CHUNK_WRITER_H
#define PE_RESULTS_CHUNK_WRITER_H

#include "base/pool.h"
#include "results/chunk_grid.h"

/* Chunks, shuffle, deflate and fletcher32 of a dataset creation list. Negative after an error. */
herr_t chunk_filters_set(hid_t create, const struct chunk_grid *grid);

/* What is to be written, its elements in the file as they are here. */
struct chunk_source {
  const char *name; /* for messages */
  const void *values;
  const void *packed;  /* chunks that are packed already (packed.h), or NULL */
  size_t packed_first; /* byte of what they hold at which values begin */
  size_t element_size;
};

/* Write all values of a dataset of this grid. The pool's threads pack what is not packed yet (NULL: the caller alone);
 * the file is the same for any number of them. 0, ERROR_MEMORY, or ERROR_FILE_WRITE with HDF5's reason. */
int chunk_write_all(hid_t dataset, const struct chunk_grid *grid, const struct chunk_source *source, struct pool *pool,
                    struct error *err);

#endif
