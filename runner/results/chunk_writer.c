#include "results/chunk_writer.h"

#include "base/memory.h"
#include "results/chunk_pack.h"
#include "results/hdf5_error.h"

#include <stdlib.h>

enum { CHUNKS_PER_THREAD = 4, MOST_CHUNKS = 32 /* packed before they are written */ };

herr_t chunk_filters_set(hid_t create, const struct chunk_grid *grid) {
  if (H5Pset_chunk(create, (int)grid->rank, grid->chunk) < 0 || H5Pset_shuffle(create) < 0 ||
      H5Pset_deflate(create, CHUNK_DEFLATE_LEVEL) < 0) {
    return -1;
  }
  return H5Pset_fletcher32(create);
}

struct packing {
  const struct chunk_grid *grid;
  const char *values;
  size_t element_size;
  struct chunk_packer **packers; /* [threads], each made when it is needed */
  size_t threads;
  size_t first;    /* chunk of the first slot */
  size_t slots;    /* chunks packed at a time */
  size_t room;     /* of a slot */
  char *packed;    /* [slots][room] */
  size_t *lengths; /* [slots] */
};

/* pool_task: one chunk into its slot. */
static int pack_one(void *context, size_t slot, unsigned thread, struct error *err) {
  struct packing *packing = context;
  struct chunk_packer **packer = &packing->packers[thread];
  *packer = *packer ? *packer : chunk_packer_new(packing->grid->bytes, err);
  if (!*packer) {
    return err->code;
  }
  struct chunk_place place = chunk_grid_place(packing->grid, packing->first + slot);
  packing->lengths[slot] = chunk_pack(*packer, packing->values + place.first, place.bytes, packing->element_size,
                                      packing->packed + slot * packing->room);
  return 0;
}

static int begin(struct packing *packing, struct pool *pool, struct error *err) {
  size_t count = packing->grid->count;
  packing->threads = pool_threads(pool);
  packing->slots = packing->threads > 1 ? packing->threads * CHUNKS_PER_THREAD : 1;
  packing->slots = packing->slots < MOST_CHUNKS ? packing->slots : MOST_CHUNKS;
  packing->slots = packing->slots < count ? packing->slots : count;
  packing->room = chunk_packed_most(packing->grid->bytes);
  packing->packers = memory_new(packing->threads, sizeof(struct chunk_packer *), "packing", err);
  packing->packed = packing->packers ? memory_new(packing->slots, packing->room, "packed chunks", err) : NULL;
  packing->lengths =
      packing->packed ? memory_new(packing->slots, sizeof *packing->lengths, "packed chunks", err) : NULL;
  return packing->lengths ? 0 : (int)err->code;
}

static void end(struct packing *packing) {
  for (size_t i = 0; packing->packers && i < packing->threads; i++) {
    chunk_packer_free(packing->packers[i]);
  }
  free(packing->packers);
  free(packing->packed);
  free(packing->lengths);
}

static int write_slots(const struct packing *packing, size_t count, hid_t dataset, const char *name,
                       struct error *err) {
  for (size_t slot = 0; slot < count; slot++) {
    struct chunk_place place = chunk_grid_place(packing->grid, packing->first + slot);
    if (H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, place.start, packing->lengths[slot],
                       packing->packed + slot * packing->room) < 0) {
      return hdf5_failed(ERROR_FILE_WRITE, "H5Dwrite_chunk", name, err);
    }
  }
  return 0;
}

int chunk_write_all(hid_t dataset, const struct chunk_grid *grid, const void *values, size_t element_size,
                    struct pool *pool, const char *name, struct error *err) {
  struct packing packing = {.grid = grid, .values = values, .element_size = element_size};
  int status = begin(&packing, pool, err);
  while (!status && packing.first < grid->count) {
    size_t left = grid->count - packing.first, now = left < packing.slots ? left : packing.slots;
    status = pool_run(now > 1 ? pool : NULL, now, pack_one, &packing, err);
    status = status ? status : write_slots(&packing, now, dataset, name, err);
    packing.first += now;
  }
  end(&packing);
  return status;
}
