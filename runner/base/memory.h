/* Allocation that says when it fails and never wraps around. Everything is released with free(). */
#ifndef PE_BASE_MEMORY_H
#define PE_BASE_MEMORY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* count * size zeroed bytes, 64-byte aligned; at least one byte. NULL with ERROR_MEMORY, which names `what` and the
 * bytes asked for, where they overflow or are not to be had. */
void *memory_new(size_t count, size_t size, const char *what, struct error *err);

/* The same for three factors, such as heads * rows * width. */
void *memory_new_3d(size_t a, size_t b, size_t c, size_t size, const char *what, struct error *err);

/* The same with whatever bytes were there, for what is written in full before it is read. */
void *memory_new_unset(size_t a, size_t b, size_t c, size_t size, const char *what, struct error *err);

/* memory_new with a fence behind its last byte, for memory that code we do not trust writes into; and the same with
 * whatever bytes were there before the fence. */
void *memory_new_fenced(size_t count, size_t size, const char *what, struct error *err);
void *memory_new_fenced_unset(size_t count, size_t size, const char *what, struct error *err);
/* Whether nobody wrote over the fence of memory that was made for count * size bytes. */
bool memory_fence_holds(const void *memory, size_t count, size_t size);

/* `array` grown to hold `needed` elements of `size` bytes, by doubling; *capacity is its capacity in elements. New
 * elements are zero; the old block is released. NULL with ERROR_MEMORY, and then array and *capacity are as they were.
 */
void *memory_grow(void *array, size_t *capacity, size_t needed, size_t size, const char *what, struct error *err);

/* A copy of a string; NULL with ERROR_MEMORY. */
char *memory_copy_text(const char *text, struct error *err);

/* From here on this process keeps blocks of up to 32 MiB that are freed for those that are taken next. Without it the
 * system takes back every large block, and clears its pages for the next one: two of three page faults of
 * configs/rope_scaling.yaml were for that. */
void memory_keep_freed(void);

/* Give what is kept back to the system. */
void memory_give_back(void);

#endif
