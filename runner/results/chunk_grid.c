#include "results/chunk_grid.h"

enum { CHUNK_BYTES = 512 << 10 /* HDF5's chunk cache is 1 MiB: larger chunks are inflated again for every row */ };

/* Everything else follows from the shapes and the cut. */
static void measure(struct chunk_grid *grid, size_t element_size) {
  grid->row = element_size;
  for (unsigned i = grid->cut + 1; i < grid->rank; i++) {
    grid->row *= (size_t)grid->dim[i];
  }
  grid->bytes = grid->row * (size_t)grid->chunk[grid->cut];
  grid->count = (size_t)((grid->dim[grid->cut] + grid->chunk[grid->cut] - 1) / grid->chunk[grid->cut]);
  for (unsigned i = 0; i < grid->cut; i++) {
    grid->count *= (size_t)grid->dim[i];
  }
}

/* The slowest dimension is halved until a chunk is small enough; when it is 1, the next one. */
void chunk_grid_choose(const hsize_t *dim, unsigned rank, size_t element_size, struct chunk_grid *grid) {
  *grid = (struct chunk_grid){.rank = rank};
  hsize_t bytes = element_size;
  for (unsigned i = 0; i < rank; i++) {
    grid->dim[i] = grid->chunk[i] = dim[i];
    bytes *= dim[i];
  }
  while (bytes > CHUNK_BYTES) {
    hsize_t *length = &grid->chunk[grid->cut];
    if (*length > 1) {
      bytes /= *length;
      *length = (*length + 1) / 2;
      bytes *= *length;
    } else if (grid->cut + 1 < rank) {
      grid->cut++;
    } else {
      break;
    }
  }
  measure(grid, element_size);
}

bool chunk_grid_of(const hsize_t *dim, const hsize_t *chunk, unsigned rank, size_t element_size,
                   struct chunk_grid *grid) {
  *grid = (struct chunk_grid){.rank = rank};
  if (!rank || rank > RECORD_MAX_RANK) {
    return false;
  }
  while (grid->cut + 1 < rank && chunk[grid->cut] == 1) {
    grid->cut++;
  }
  for (unsigned i = 0; i < rank; i++) {
    grid->dim[i] = dim[i];
    grid->chunk[i] = chunk[i];
    bool fits = i > grid->cut ? chunk[i] == dim[i] : chunk[i] <= dim[i];
    if (!chunk[i] || !fits) {
      return false;
    }
  }
  measure(grid, element_size);
  return true;
}

struct chunk_place chunk_grid_place(const struct chunk_grid *grid, size_t index) {
  struct chunk_place place = {.first = 0};
  size_t along = (size_t)grid->chunk[grid->cut], length = (size_t)grid->dim[grid->cut];
  size_t per_slice = (length + along - 1) / along;
  size_t slice = index / per_slice, start = index % per_slice * along;
  place.start[grid->cut] = start;
  place.first = (slice * length + start) * grid->row;
  place.bytes = (length - start < along ? length - start : along) * grid->row;
  for (unsigned i = grid->cut; i-- > 0;) {
    place.start[i] = slice % grid->dim[i];
    slice /= (size_t)grid->dim[i];
  }
  return place;
}
