/* Reading the chunks of a dataset and unpacking them here and not in HDF5. */
#ifndef PE_RESULTS_CHUNK_READER_H
#define PE_RESULTS_CHUNK_READER_H

#include "base/record.h"
#include "input/hdf5_dataset.h"

#include <stdbool.h>

/* Read all values of a dataset that is as chunk_write_all makes them, checksums included, into values [its bytes],
 * which are of `type` in memory. packed (may be NULL) gets the chunks as they are, to be freed. False: it is not, or
 * not sound, or memory is not to be had; then HDF5 may read it, or say what is wrong, and *packed is NULL. */
bool chunk_read_all(const struct hdf5_dataset *dataset, hid_t type, void *values, void **packed);

#endif
