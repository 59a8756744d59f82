#include "config/arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16384, ALIGNMENT = _Alignof(max_align_t) };

struct arena_block {
  struct arena_block *next;
  size_t used, size;
  _Alignas(max_align_t) unsigned char bytes[];
};

void *arena_new(struct arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX / 2) {
    arena->failed = true;
    return NULL;
  }
  size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  struct arena_block *block = arena->blocks;
  if (!block || block->size - block->used < rounded) {
    size_t size = rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES;
    block = calloc(1, sizeof *block + size);
    if (!block) {
      arena->failed = true;
      return NULL;
    }
    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;
  }
  void *memory = block->bytes + block->used;
  block->used += rounded;
  return memory;
}

void *arena_array(struct arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    arena->failed = true;
    return NULL;
  }
  return arena_new(arena, bytes);
}

char *arena_copy(struct arena *arena, const char *text, size_t length) {
  char *copy = arena_new(arena, length + 1);
  if (copy) {
    memcpy(copy, text, length);
  }
  return copy;
}

const char *arena_printf(struct arena *arena, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = length < 0 ? NULL : arena_new(arena, (size_t)length + 1);
  if (!text) {
    arena->failed = true;
    return "(out of memory)";
  }
  va_start(arguments, format);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return text;
}

void arena_free(struct arena *arena) {
  while (arena->blocks) {
    struct arena_block *next = arena->blocks->next;
    free(arena->blocks);
    arena->blocks = next;
  }
}
