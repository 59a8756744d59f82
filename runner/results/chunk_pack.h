/* A chunk of a dataset as HDF5's filters shuffle, deflate (in zlib's format) and fletcher32 make it and read it, in
 * that order. Deflate is libdeflate's, which is twice as fast as zlib's at the same size; what is like noise, as the
 * low bytes of mantissas are, is stored.
 */
#ifndef PE_RESULTS_CHUNK_PACK_H
#define PE_RESULTS_CHUNK_PACK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The level that datasets are said to be deflated with, for HDF5 or a tool that writes them again. */
enum { CHUNK_DEFLATE_LEVEL = 4 };

/* What packing needs; one thread at a time. */
struct chunk_packer;

/* For chunks of `bytes` bytes. NULL with ERROR_MEMORY. */
struct chunk_packer *chunk_packer_new(size_t bytes, struct error *err);

/* As many bytes as a packed chunk of `bytes` bytes may have. */
size_t chunk_packed_most(size_t bytes);

/* Pack `bytes` bytes of values of `element_size` bytes each, filled up with zeros to a whole chunk. `packed` has room
 * for chunk_packed_most. Returns the bytes it has. Same values, same bytes. */
size_t chunk_pack(struct chunk_packer *packer, const void *values, size_t bytes, size_t element_size, void *packed);

void chunk_packer_free(struct chunk_packer *packer); /* NULL is allowed */

/* What unpacking needs; one thread at a time. */
struct chunk_unpacker;

/* For chunks of `bytes` bytes. NULL with ERROR_MEMORY. */
struct chunk_unpacker *chunk_unpacker_new(size_t bytes, struct error *err);

/* The first `bytes` bytes of the values of a chunk that has `length` bytes in the file. False: it is damaged, or was
 * not made so; then some values may be written. */
bool chunk_unpack(struct chunk_unpacker *unpacker, const void *packed, size_t length, void *values, size_t bytes,
                  size_t element_size);

void chunk_unpacker_free(struct chunk_unpacker *unpacker); /* NULL is allowed */

#endif
