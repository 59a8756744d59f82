/* How the work of one attention call is cut: per head into chunks of row blocks, of about equal work, the same for any
 * number of threads. A chunk is a unit of the pool and owns one partial sum of the mass by distance; the partial sums
 * are added in the order of the chunks.
 */
#ifndef PE_ATTENTION_PARTITION_H
#define PE_ATTENTION_PARTITION_H

#include <stdbool.h>
#include <stddef.h>

/* The memory for partial sums grows with it, the idle time at the end of a head shrinks with it. */
enum { PARTITION_CHUNKS = 16 };

struct partition {
  size_t nq, nk;
  bool causal;
  size_t block_rows;                      /* rows of a row block; the last one may be shorter */
  size_t n_chunks;                        /* 0 where there are no rows */
  size_t first_row[PARTITION_CHUNKS + 1]; /* chunk c holds rows first_row[c] .. first_row[c + 1] - 1 */
};

void partition_rows(struct partition *partition, size_t nq, size_t nk, bool causal, size_t block_rows);

/* Columns that some row before `end_row` sees: 0 .. n - 1. */
size_t partition_columns(const struct partition *partition, size_t end_row);

/* Elements of the signed distances i + nk - nq - j of the rows of one chunk, and the largest of them. Element x of a
 * partial sum holds distance `largest` - x, so that it ascends with j. */
size_t partition_distances(const struct partition *partition, size_t chunk, ptrdiff_t *largest);

#endif
