#include "results/packed.h"

#include "base/memory.h"

#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The block: this, then chunks, each with its bytes behind it, filled up to a multiple of eight. */
struct packed {
  struct packed_form form;
  size_t used, capacity; /* bytes of the block */
};

struct packed_chunk {
  size_t first, bytes; /* of the values */
  size_t length;
  uint32_t sum; /* CRC-32 of the values */
};

static size_t room_of(size_t length) {
  return sizeof(struct packed_chunk) + (length + 7) / 8 * 8;
}

static const struct packed_chunk *chunk_at(const struct packed *packed, size_t at) {
  return (const struct packed_chunk *)(const void *)((const char *)packed + at);
}

void *packed_new(const struct packed_form *form, size_t count, size_t bytes, struct error *err) {
  size_t capacity;
  if (__builtin_mul_overflow(count, room_of(8), &capacity) || __builtin_add_overflow(capacity, bytes, &capacity) ||
      __builtin_add_overflow(capacity, sizeof(struct packed), &capacity)) {
    capacity = SIZE_MAX;
  }
  struct packed *block = memory_new_unset(capacity, 1, 1, 1, "packed chunks", err);
  if (block) {
    *block = (struct packed){*form, sizeof *block, capacity};
  }
  return block;
}

static int append(void **packed, const struct packed_form *form, const struct packed_chunk *chunk, const void *bytes,
                  struct error *err) {
  struct packed *block = *packed;
  size_t used = block ? block->used : sizeof *block, capacity = block ? block->capacity : 0;
  block = memory_grow(block, &capacity, used + room_of(chunk->length), 1, "packed chunks", err);
  if (!block) {
    return err->code;
  }
  block->form = *form;
  block->capacity = capacity;
  memcpy((char *)block + used, chunk, sizeof *chunk);
  memcpy((char *)block + used + sizeof *chunk, bytes, chunk->length);
  block->used = used + room_of(chunk->length);
  *packed = block;
  return 0;
}

static bool same_form(const struct packed *packed, const struct packed_form *form) {
  return packed->form.element_size == form->element_size && packed->form.chunk_bytes == form->chunk_bytes;
}

int packed_add(void **packed, const struct packed_form *form, size_t first, const void *values, size_t bytes,
               const void *chunk, size_t length, struct error *err) {
  const struct packed_chunk head = {first, bytes, length, libdeflate_crc32(0, values, bytes)};
  return append(packed, form, &head, chunk, err);
}

int packed_copy(void **packed, size_t to_first, const void *from, size_t first, size_t bytes, struct error *err) {
  const struct packed *block = from;
  int status = 0;
  bool fits = block && (!*packed || same_form(*packed, &block->form));
  for (size_t at = sizeof *block; !status && fits && at < block->used;) {
    struct packed_chunk chunk = *chunk_at(block, at);
    const char *body = (const char *)block + at + sizeof chunk;
    at += room_of(chunk.length);
    if (chunk.first >= first && chunk.first - first + chunk.bytes <= bytes) {
      chunk.first = chunk.first - first + to_first;
      status = append(packed, &block->form, &chunk, body, err);
    }
  }
  return status;
}

const void *packed_find(const void *packed, const struct packed_form *form, size_t first, const void *values,
                        size_t bytes, size_t *after, size_t *length) {
  const struct packed *block = packed;
  if (!block || !same_form(block, form)) {
    return NULL;
  }
  size_t at = *after ? *after : sizeof *block;
  while (at < block->used && chunk_at(block, at)->first < first) {
    at += room_of(chunk_at(block, at)->length);
  }
  *after = at;
  const struct packed_chunk *chunk = at < block->used ? chunk_at(block, at) : NULL;
  bool same =
      chunk && chunk->first == first && chunk->bytes == bytes && chunk->sum == libdeflate_crc32(0, values, bytes);
  if (!same) {
    return NULL;
  }
  *length = chunk->length;
  return chunk + 1;
}
