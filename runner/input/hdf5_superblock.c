/* HDF5 file format specification 3.0, sections II.A (superblock) and II.B (driver information). */
#include "input/hdf5_superblock.h"

#include "input/regular_file.h"

#include <stdbool.h>
#include <string.h>

enum {
  FIRST_USER_BLOCK = 512,
  SUPERBLOCK = 96, /* bytes of the longest one, version 1 */
  VERSION_AT = 8,
  ADDRESS = 8, /* bytes of an address */
  LATEST_VERSION = 3
};

static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

/* The signature stands at 0, 512, 1024, 2048, ...: a block of someone else's (MATLAB's) may come first. `block` gets
 * what is there of the superblock, filled up with zeros. */
static int find(int descriptor, const char *path, size_t bytes, unsigned char block[SUPERBLOCK], bool *found,
                struct error *err) {
  *found = false;
  for (size_t offset = 0; offset <= bytes && bytes - offset >= sizeof signature;
       offset = offset ? 2 * offset : FIRST_USER_BLOCK) {
    size_t count = bytes - offset < SUPERBLOCK ? bytes - offset : SUPERBLOCK;
    memset(block, 0, SUPERBLOCK);
    int status = regular_file_read(descriptor, path, offset, block, count, err);
    if (status) {
      return status;
    }
    if (!memcmp(block, signature, sizeof signature)) {
      *found = true;
      return 0;
    }
  }
  return 0;
}

/* A driver block says that the file is one of several, or whatever else its driver makes of it; the library trusts the
 * size in it. */
static bool names_a_driver(const unsigned char *block) {
  static const unsigned char undefined[ADDRESS] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  size_t addresses = block[VERSION_AT] == 0 ? 24 : 28;
  return memcmp(block + addresses + 3 * ADDRESS, undefined, ADDRESS) != 0;
}

int hdf5_check_superblock(int descriptor, const char *path, size_t bytes, struct error *err) {
  unsigned char block[SUPERBLOCK];
  bool found = false;
  int status = find(descriptor, path, bytes, block, &found, err);
  if (status) {
    return status;
  }
  if (!found) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: is not an HDF5 file", path);
  }
  unsigned version = block[VERSION_AT];
  if (version > LATEST_VERSION) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: is an HDF5 file of version %u; versions 0 to %d are read", path,
                     version, LATEST_VERSION);
  }
  size_t widths = version < 2 ? 13 : 9;
  if (block[widths] != ADDRESS || block[widths + 1] != ADDRESS) {
    return error_set(err, ERROR_FILE_REFUSED, "%s: has addresses of %u and lengths of %u bytes; 8 are read", path,
                     block[widths], block[widths + 1]);
  }
  if (version < 2 && names_a_driver(block)) {
    return error_set(err, ERROR_FILE_REFUSED,
                     "%s: asks for a file driver of its own; only files that hold everything themselves are read",
                     path);
  }
  return 0;
}
