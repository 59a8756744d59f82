/* The first block of an HDF5 file, judged before the library sees it: private to the reader. */
#ifndef PE_INPUT_HDF5_SUPERBLOCK_H
#define PE_INPUT_HDF5_SUPERBLOCK_H

#include "base/error.h"

#include <stddef.h>

/* `descriptor` is open on a regular file of `bytes` bytes; `path` is for messages. 0, ERROR_FILE_CONTENT (no HDF5 file,
 * or of a version that is not known), ERROR_FILE_REFUSED (asks for a driver of its own, or for addresses of another
 * width than 8 bytes) or ERROR_FILE_READ. */
int hdf5_check_superblock(int descriptor, const char *path, size_t bytes, struct error *err);

#endif
