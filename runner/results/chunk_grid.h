/* How the values of a dataset lie in chunks: full rows, cut along the slowest dimensions only, so that each chunk is
 * one run of the row-major values. */
#ifndef PE_RESULTS_CHUNK_GRID_H
#define PE_RESULTS_CHUNK_GRID_H

#include "base/record.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

struct chunk_grid {
  unsigned rank;
  hsize_t dim[RECORD_MAX_RANK];   /* of the dataset */
  hsize_t chunk[RECORD_MAX_RANK]; /* of a chunk */
  unsigned cut;                   /* chunks have 1 in the dimensions before, all of those behind */
  size_t row;                     /* bytes of one step along dimension `cut` */
  size_t bytes;                   /* of a whole chunk */
  size_t count;                   /* of chunks */
};

/* Chunk `index` of a grid: where it begins in the dataset, and its run of the values. The last one along the cut may be
 * shorter than a whole chunk; in the file it is filled up with zeros. */
struct chunk_place {
  hsize_t start[RECORD_MAX_RANK];
  size_t first, bytes;
};

/* Cut a dataset of rank 1 or more, none of whose dimensions is 0, into chunks of at most 512 KiB, a single row of the
 * fastest dimension's values excepted. */
void chunk_grid_choose(const hsize_t *dim, unsigned rank, size_t element_size, struct chunk_grid *grid);

/* The grid of a dataset that is cut so already; false where it is cut in another way. */
bool chunk_grid_of(const hsize_t *dim, const hsize_t *chunk, unsigned rank, size_t element_size,
                   struct chunk_grid *grid);

struct chunk_place chunk_grid_place(const struct chunk_grid *grid, size_t index);

#endif
