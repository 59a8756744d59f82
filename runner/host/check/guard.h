/* Memory that notices who touches what is not theirs: between pages that cannot be touched, its gaps filled with a
 * pattern, and read-only where it is an input.
 */
#ifndef PE_HOST_CHECK_GUARD_H
#define PE_HOST_CHECK_GUARD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which end of the data lies against an untouchable page; the other end borders on the pattern. */
enum guard_side { GUARD_AFTER, GUARD_BEFORE };

struct guarded {
  const char *name; /* for sentences; outlives it */
  void *data;       /* [bytes], filled with the pattern at first; aligned for what is in it, not more */
  size_t bytes;
  unsigned char *map; /* the whole of it, guard pages included */
  size_t map_bytes;
};

/* All guarded memory of one check; zero-initialised, in memory that outlives it. */
enum { GUARD_MOST = 32, GUARD_NAME = 48 };
struct guard_table {
  struct guard_entry {
    char name[GUARD_NAME];
    uintptr_t data, map; /* map 0: free */
    size_t bytes, map_bytes;
  } entries[GUARD_MOST];
};

/* Take memory for `bytes` bytes. alignment: a power of two. 0 or ERROR_MEMORY, and then *out is zero. [not thread-safe]
 */
int guard_new(struct guard_table *table, const char *name, size_t bytes, size_t alignment, enum guard_side side,
              struct guarded *out, struct error *err);
void guard_free(struct guard_table *table, struct guarded *memory);

/* From now on a write is caught like one outside. */
void guard_read_only(const struct guarded *memory);

/* The pattern: as a float a NaN whose bits no arithmetic makes. */
#define GUARD_PATTERN 0x7fa5a5a5u
bool guard_is_pattern(const float *element);

/* Whether the slack around the data still holds the pattern; else *text (size bytes) says what was touched. */
bool guard_intact(const struct guarded *memory, char *text, size_t size);

/* In a child, before all else: from now on touching a guard page (or writing what is read-only) ends the process with
 * *touched = 1 and, in `stage` (bytes long), a sentence on what was touched, before what it held. Other faults stay
 * what they are. `stage` and `touched` lie in shared memory. 0 or ERROR_MEMORY, ERROR_INTERNAL. */
int guard_watch(const struct guard_table *table, char *stage, size_t bytes, volatile uint32_t *touched,
                struct error *err);

#endif
