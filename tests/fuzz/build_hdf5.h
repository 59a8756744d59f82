/* An HDF5 file made through the library from bytes that may be anything: sound in its structure and hostile in what it
 * says. */
#ifndef BUILD_HDF5_H
#define BUILD_HDF5_H

#include <stddef.h>
#include <stdint.h>

/* The names under which objects may stand, ended by NULL; "/g" is the one group. */
extern const char *const build_hdf5_names[];

/* Write the file; what the library refuses to make is left out. False where there is no file at all. */
_Bool build_hdf5(const char *path, const uint8_t *bytes, size_t count);

#endif
