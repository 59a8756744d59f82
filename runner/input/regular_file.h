/* Opening foreign files: regular files only, so that no FIFO blocks and no device is read. */
#ifndef PE_INPUT_REGULAR_FILE_H
#define PE_INPUT_REGULAR_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Open a regular file for reading; *size is its size in bytes. `wanted` says what is needed, for messages ("an HDF5
 * file"). A file descriptor, the caller's to close; -1 with ERROR_FILE_READ or ERROR_FILE_REFUSED. */
int regular_file_open(const char *path, const char *wanted, size_t *size, struct error *err);

/* Read exactly `count` bytes at `offset`. 0 or ERROR_FILE_READ, naming `path`. */
int regular_file_read(int file, const char *path, size_t offset, void *bytes, size_t count, struct error *err);

/* All bytes of a regular file of at most `limit` bytes, with a NUL behind them. The caller's to free(); NULL with
 * ERROR_FILE_READ, ERROR_FILE_REFUSED (not regular, too large) or ERROR_MEMORY. */
char *regular_file_bytes(const char *path, const char *wanted, size_t limit, size_t *count, struct error *err);

/* Whether both paths lead to one file that is there, by links or not. */
bool regular_file_same(const char *a, const char *b);

#endif
