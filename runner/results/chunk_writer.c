#include "results/chunk_writer.h"

#include "base/memory.h"
#include "results/chunk_pack.h"
#include "results/hdf5_error.h"
#include "results/packed.h"

#include <stdlib.h>

enum { CHUNKS_PER_THREAD = 4, MOST_CHUNKS = 32 /* packed before they are written */ };

herr_t chunk_filters_set(hid_t create, const struct chunk_grid *grid) {
  if (H5Pset_chunk(create, (int)grid->rank, grid->chunk) < 0 || H5Pset_shuffle(create) < 0 ||
      H5Pset_deflate(create, CHUNK_DEFLATE_LEVEL) < 0) {
    return -1;
  }
  return H5Pset_fletcher32(create);
}

/* A chunk as the file gets it: packed already, or in the slot's own memory. */
struct slot {
  const void *packed; /* NULL: to be packed */
  size_t length;
  char *own; /* [most] */
};

struct packing {
  const struct chunk_grid *grid;
  const struct chunk_source *source;
  struct chunk_packer **packers; /* [threads], each made when it is needed */
  size_t threads;
  size_t first;   /* chunk of the first slot */
  size_t n_slots; /* chunks packed at a time */
  size_t most;    /* bytes of a packed chunk */
  size_t after;   /* packed_find */
  struct slot *slots;
  char *memory; /* [n_slots][most] */
};

/* pool_task: one chunk into its slot. */
static int pack_one(void *context, size_t index, unsigned thread, struct error *err) {
  struct packing *packing = context;
  struct slot *slot = &packing->slots[index];
  if (slot->packed) {
    return 0;
  }
  struct chunk_packer **packer = &packing->packers[thread];
  *packer = *packer ? *packer : chunk_packer_new(packing->grid->bytes, err);
  if (!*packer) {
    return err->code;
  }
  struct chunk_place place = chunk_grid_place(packing->grid, packing->first + index);
  slot->length = chunk_pack(*packer, (const char *)packing->source->values + place.first, place.bytes,
                            packing->source->element_size, slot->own);
  slot->packed = slot->own;
  return 0;
}

/* Look for the next `count` chunks among those that are packed already. Returns how many there are. */
static size_t find_packed(struct packing *packing, size_t count) {
  const struct packed_form form = {packing->source->element_size, packing->grid->bytes};
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    struct chunk_place place = chunk_grid_place(packing->grid, packing->first + i);
    struct slot *slot = &packing->slots[i];
    slot->packed =
        packed_find(packing->source->packed, &form, packing->source->packed_first + place.first,
                    (const char *)packing->source->values + place.first, place.bytes, &packing->after, &slot->length);
    found += slot->packed != NULL;
  }
  return found;
}

static int begin(struct packing *packing, struct pool *pool, struct error *err) {
  size_t count = packing->grid->count;
  packing->threads = pool_threads(pool);
  packing->n_slots = packing->threads > 1 ? packing->threads * CHUNKS_PER_THREAD : 1;
  packing->n_slots = packing->n_slots < MOST_CHUNKS ? packing->n_slots : MOST_CHUNKS;
  packing->n_slots = packing->n_slots < count ? packing->n_slots : count;
  packing->most = chunk_packed_most(packing->grid->bytes);
  packing->packers = memory_new(packing->threads, sizeof(struct chunk_packer *), "packing", err);
  packing->slots = packing->packers ? memory_new(packing->n_slots, sizeof *packing->slots, "packing", err) : NULL;
  packing->memory =
      packing->slots ? memory_new_unset(packing->n_slots, packing->most, 1, 1, "packed chunks", err) : NULL;
  for (size_t i = 0; packing->memory && i < packing->n_slots; i++) {
    packing->slots[i].own = packing->memory + i * packing->most;
  }
  return packing->memory ? 0 : (int)err->code;
}

static void end(struct packing *packing) {
  for (size_t i = 0; packing->packers && i < packing->threads; i++) {
    chunk_packer_free(packing->packers[i]);
  }
  free(packing->packers);
  free(packing->slots);
  free(packing->memory);
}

static int write_slots(const struct packing *packing, size_t count, hid_t dataset, struct error *err) {
  for (size_t i = 0; i < count; i++) {
    const struct slot *slot = &packing->slots[i];
    struct chunk_place place = chunk_grid_place(packing->grid, packing->first + i);
    if (H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, place.start, slot->length, slot->packed) < 0) {
      return hdf5_failed(ERROR_FILE_WRITE, "H5Dwrite_chunk", packing->source->name, err);
    }
  }
  return 0;
}

int chunk_write_all(hid_t dataset, const struct chunk_grid *grid, const struct chunk_source *source, struct pool *pool,
                    struct error *err) {
  struct packing packing = {.grid = grid, .source = source};
  int status = begin(&packing, pool, err);
  while (!status && packing.first < grid->count) {
    size_t left = grid->count - packing.first, now = left < packing.n_slots ? left : packing.n_slots;
    size_t missing = now - find_packed(&packing, now);
    status = missing ? pool_run(missing > 1 ? pool : NULL, now, pack_one, &packing, err) : 0;
    status = status ? status : write_slots(&packing, now, dataset, err);
    packing.first += now;
  }
  end(&packing);
  return status;
}
