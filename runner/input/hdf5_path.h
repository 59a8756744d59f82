/* Names in HDF5 files, followed link by link: private to the reader. */
#ifndef PE_INPUT_HDF5_PATH_H
#define PE_INPUT_HDF5_PATH_H

#include "base/error.h"

#include <hdf5.h>
#include <stdbool.h>

enum { HDF5_PATH_SIZE = 1024 };

/* out = the name of the same object by hard links alone, so that HDF5 can open it without leaving the file. *found =
 * false where there is none. Soft links are followed here; external and user-defined ones are refused by name. `path`
 * is the file's, for messages. 0, ERROR_FILE_REFUSED or ERROR_FILE_READ. */
int hdf5_resolve(hid_t file, const char *path, const char *name, char out[HDF5_PATH_SIZE], bool *found,
                 struct error *err);

/* The innermost sentence on the library's error stack, into text; "no reason given" where there is none. */
void hdf5_reason(char *text, size_t size);

#endif
