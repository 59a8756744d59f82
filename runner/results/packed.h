/* The packed chunks of a tensor that was read from a results file, kept so that another file gets them as they are.
 * They are one block, freed with free(); each is bound to the values that it holds by their place and their checksum,
 * so that values that were changed since are packed anew.
 */
#ifndef PE_RESULTS_PACKED_H
#define PE_RESULTS_PACKED_H

#include "base/error.h"

#include <stddef.h>

/* What decides about a chunk's bytes besides its values. */
struct packed_form {
  size_t element_size;
  size_t chunk_bytes; /* of a whole chunk */
};

/* Room for `count` chunks of `bytes` bytes together, with none in it yet; to be freed. NULL with ERROR_MEMORY. */
void *packed_new(const struct packed_form *form, size_t count, size_t bytes, struct error *err);

/* Append a chunk: `bytes` bytes of values that begin at byte `first` of the tensor's, packed in `length` bytes. The
 * chunks come in ascending order. *packed: NULL at first. 0 or ERROR_MEMORY, and then *packed is as it was. */
int packed_add(void **packed, const struct packed_form *form, size_t first, const void *values, size_t bytes,
               const void *chunk, size_t length, struct error *err);

/* Append the chunks of `from` (may be NULL) that lie whole in its tensor's `bytes` bytes from `first` on, for another
 * tensor that has those bytes from `to_first` on. Chunks of another form than those before are left out. */
int packed_copy(void **packed, size_t to_first, const void *from, size_t first, size_t bytes, struct error *err);

/* The chunk of this form and these values, and its length; NULL: there is none. *after (0 at first) is for the next
 * call: chunks are asked for in ascending order. */
const void *packed_find(const void *packed, const struct packed_form *form, size_t first, const void *values,
                        size_t bytes, size_t *after, size_t *length);

#endif
