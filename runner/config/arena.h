/* Memory that lives as long as one reading of a config: taken piece by piece, released at once. */
#ifndef PE_CONFIG_ARENA_H
#define PE_CONFIG_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
  struct arena_block *blocks; /* newest first */
  bool failed;                /* memory ran out at least once */
};

/* `bytes` zeroed bytes, aligned for any object; NULL where there is no memory, and then arena->failed is set. */
void *arena_new(struct arena *arena, size_t bytes);

/* `count` elements of `size` bytes; NULL also where the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* A NUL-terminated copy of `length` bytes. */
char *arena_copy(struct arena *arena, const char *text, size_t length);

/* A formatted text; never NULL: where memory ran out it is a constant that says so. */
const char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

void arena_free(struct arena *arena);

#endif
