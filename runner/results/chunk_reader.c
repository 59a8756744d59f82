#include "results/chunk_reader.h"

#include "base/memory.h"
#include "results/chunk_grid.h"
#include "results/chunk_pack.h"
#include "results/packed.h"

#include <stdlib.h>

struct chunk_reading {
  hid_t dataset;
  struct chunk_grid grid;
  size_t element_size;
  struct chunk_unpacker *unpacker;
  char *chunk; /* [most]: as it is in the file */
  size_t most;
};

/* Shuffle of elements of this size, deflate, fletcher32, and nothing else. */
static bool has_our_filters(hid_t create, size_t element_size) {
  static const H5Z_filter_t ours[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32};
  bool same = H5Pget_nfilters(create) == 3;
  for (unsigned i = 0; same && i < 3; i++) {
    unsigned flags = 0, config = 0, value[1] = {0};
    size_t n_values = 1;
    same = H5Pget_filter2(create, i, &flags, &n_values, value, 0, NULL, &config) == ours[i] &&
           (i > 0 || (n_values == 1 && value[0] == element_size));
  }
  return same;
}

static bool is_ours(const struct hdf5_dataset *dataset, hid_t type, struct chunk_reading *reading) {
  hsize_t dim[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
  int rank = H5Sget_simple_extent_dims(dataset->space, dim, NULL);
  hid_t create = rank > 0 ? H5Dget_create_plist(dataset->handle) : -1;
  if (create < 0) {
    return false;
  }
  bool ours = H5Tequal(dataset->type, type) > 0 && H5Pget_layout(create) == H5D_CHUNKED &&
              has_our_filters(create, reading->element_size) && H5Pget_chunk(create, H5S_MAX_RANK, chunk) == rank &&
              chunk_grid_of(dim, chunk, (unsigned)rank, reading->element_size, &reading->grid);
  return H5Pclose(create) >= 0 && ours;
}

static bool read_chunk(struct chunk_reading *reading, size_t index, char *values, void **packed) {
  struct error ignored;
  struct chunk_place place = chunk_grid_place(&reading->grid, index);
  hsize_t length = 0;
  uint32_t left_out = 0;
  if (H5Dget_chunk_storage_size(reading->dataset, place.start, &length) < 0 || length > reading->most ||
      H5Dread_chunk(reading->dataset, H5P_DEFAULT, place.start, &left_out, reading->chunk) < 0 || left_out ||
      !chunk_unpack(reading->unpacker, reading->chunk, (size_t)length, values + place.first, place.bytes,
                    reading->element_size)) {
    return false;
  }
  const struct packed_form form = {reading->element_size, reading->grid.bytes};
  return !packed || !packed_add(packed, &form, place.first, values + place.first, place.bytes, reading->chunk,
                                (size_t)length, &ignored);
}

bool chunk_read_all(const struct hdf5_dataset *dataset, hid_t type, void *values, void **packed) {
  struct error ignored;
  struct chunk_reading reading = {.dataset = dataset->handle, .element_size = H5Tget_size(type)};
  if (!is_ours(dataset, type, &reading)) {
    return false;
  }
  reading.most = chunk_packed_most(reading.grid.bytes);
  reading.chunk = memory_new_unset(reading.most, 1, 1, 1, "a chunk", &ignored);
  reading.unpacker = reading.chunk ? chunk_unpacker_new(reading.grid.bytes, &ignored) : NULL;
  const struct packed_form form = {reading.element_size, reading.grid.bytes};
  bool done = reading.unpacker != NULL;
  if (done && packed) {
    hsize_t stored = H5Dget_storage_size(dataset->handle);
    *packed = packed_new(&form, reading.grid.count, (size_t)stored, &ignored);
    done = *packed != NULL;
  }
  for (size_t i = 0; done && i < reading.grid.count; i++) {
    done = read_chunk(&reading, i, values, packed);
  }
  if (!done && packed) {
    free(*packed);
    *packed = NULL;
  }
  chunk_unpacker_free(reading.unpacker);
  free(reading.chunk);
  return done;
}
