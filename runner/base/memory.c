#include "base/memory.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks from half a huge page on are made of huge ones, where the system has them: attention walks through many rows
 * of scores at once, and a tenth of its time went into finding small pages. */
enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };
/* The fence: one cache line of bytes that make no sensible number. */
enum { FENCE = 64, FENCE_BYTE = 0xa5 };

void memory_keep_freed(void) {
  enum { LARGEST_KEPT = 32 << 20, MOST_KEPT = 256 << 20 };
  /* The first is the most that the allocator allows. Where it knows neither, it only takes longer. */
  (void)mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT);
  (void)mallopt(M_TRIM_THRESHOLD, MOST_KEPT);
}

void memory_give_back(void) {
  (void)malloc_trim(0);
}

static void *new_block(size_t count, size_t size, bool zeroed, const char *what, struct error *err) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - HUGE_PAGE) {
    error_set(err, ERROR_MEMORY, "%s: %zu elements of %zu bytes do not fit into memory", what, count, size);
    return NULL;
  }
  size_t unit = bytes >= HUGE_PAGE / 2 ? HUGE_PAGE : ALIGNMENT;
  size_t rounded = bytes ? (bytes + unit - 1) / unit * unit : ALIGNMENT;
  void *memory = aligned_alloc(unit, rounded);
  if (!memory) {
    error_set(err, ERROR_MEMORY, "%s: %zu bytes of memory are not to be had", what, bytes);
    return NULL;
  }
  if (unit == HUGE_PAGE) {
    (void)madvise(memory, rounded, MADV_HUGEPAGE); /* a wish: without it the pages are small */
  }
  if (zeroed) {
    memset(memory, 0, rounded);
  }
  return memory;
}

void *memory_new(size_t count, size_t size, const char *what, struct error *err) {
  return new_block(count, size, true, what, err);
}

static void *new_3d(size_t a, size_t b, size_t c, size_t size, bool zeroed, const char *what, struct error *err) {
  size_t count;
  if (__builtin_mul_overflow(a, b, &count) || __builtin_mul_overflow(count, c, &count)) {
    error_set(err, ERROR_MEMORY, "%s: %zu x %zu x %zu elements do not fit into memory", what, a, b, c);
    return NULL;
  }
  return new_block(count, size, zeroed, what, err);
}

void *memory_new_3d(size_t a, size_t b, size_t c, size_t size, const char *what, struct error *err) {
  return new_3d(a, b, c, size, true, what, err);
}

void *memory_new_unset(size_t a, size_t b, size_t c, size_t size, const char *what, struct error *err) {
  return new_3d(a, b, c, size, false, what, err);
}

static void *new_fenced(size_t count, size_t size, bool zeroed, const char *what, struct error *err) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - FENCE) {
    error_set(err, ERROR_MEMORY, "%s: %zu elements of %zu bytes do not fit into memory", what, count, size);
    return NULL;
  }
  char *memory = new_block(bytes + FENCE, 1, zeroed, what, err);
  if (memory) {
    memset(memory + bytes, FENCE_BYTE, FENCE);
  }
  return memory;
}

void *memory_new_fenced(size_t count, size_t size, const char *what, struct error *err) {
  return new_fenced(count, size, true, what, err);
}

void *memory_new_fenced_unset(size_t count, size_t size, const char *what, struct error *err) {
  return new_fenced(count, size, false, what, err);
}

bool memory_fence_holds(const void *memory, size_t count, size_t size) {
  const unsigned char *fence = (const unsigned char *)memory + count * size;
  for (size_t i = 0; i < FENCE; i++) {
    if (fence[i] != FENCE_BYTE) {
      return false;
    }
  }
  return true;
}

void *memory_grow(void *array, size_t *capacity, size_t needed, size_t size, const char *what, struct error *err) {
  if (array && needed <= *capacity) {
    return array;
  }
  size_t wanted = *capacity ? *capacity : 8;
  while (wanted < needed) {
    if (__builtin_mul_overflow(wanted, (size_t)2, &wanted)) {
      error_set(err, ERROR_MEMORY, "%s: %zu elements do not fit into memory", what, needed);
      return NULL;
    }
  }
  void *grown = memory_new(wanted, size, what, err);
  if (grown && array) {
    memcpy(grown, array, *capacity * size);
    free(array);
  }
  *capacity = grown ? wanted : *capacity;
  return grown;
}

char *memory_copy_text(const char *text, struct error *err) {
  size_t length = strlen(text);
  char *copy = memory_new(length + 1, 1, "text", err);
  if (copy) {
    memcpy(copy, text, length);
  }
  return copy;
}
