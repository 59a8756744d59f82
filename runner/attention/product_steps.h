/* The split product of product.h as a row of steps, which other work can go between: a tile register unit computes
 * beside the vector units. Only for files that are built for x86-64.
 *
 * Instructions: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18. A tile register has
 * 16 rows of 64 bytes. TDPBF16PS adds to one of 16 x 16 float32 the products of 16 queries of 32 channels with 16 keys
 * of 32 channels, in bfloat16.
 */
#ifndef PE_ATTENTION_PRODUCT_STEPS_H
#define PE_ATTENTION_PRODUCT_STEPS_H

#include "attention/product.h"

#include <immintrin.h>

#define STEPS_TARGET __attribute__((target("amx-tile,amx-bf16")))
#define STEPS_INLINE STEPS_TARGET inline __attribute__((always_inline))

enum {
  STEPS_PARTS = 3,     /* bfloat16 of a float32, the largest first */
  STEPS_SIDE = 16,     /* queries of a tile, and keys of one */
  STEPS_CHANNELS = 32, /* of a tile; the last ones of a width are filled up with zeros */
  STEPS_TILE = 1024,   /* bytes of a tile */
};

static inline size_t steps_tiles(size_t width) {
  return (width + STEPS_CHANNELS - 1) / STEPS_CHANNELS;
}

/* Bytes of STEPS_SIDE packed queries or keys: [STEPS_PARTS][steps_tiles] tiles, of queries
 * [STEPS_SIDE][STEPS_CHANNELS], of keys [STEPS_CHANNELS / 2][STEPS_SIDE][2]. */
static inline size_t steps_side_bytes(size_t width) {
  return STEPS_PARTS * steps_tiles(width) * STEPS_TILE;
}

/* Two tiles of queries times two of keys at a time, in tile registers 0 to 3. */
struct steps {
  const unsigned char *q, *k; /* of these tiles */
  float *c;                   /* of these tiles */
  float *before;              /* of those whose sums are still in registers; NULL: none are */
  size_t part_bytes, side_bytes, c_bytes;
  size_t n_tiles;    /* of channels */
  size_t n_groups;   /* pairs of tiles of keys that are left */
  size_t pair, tile; /* of the next step */
};

/* The first PRODUCT_ROWS rows of product_run, as far as whole pairs of tiles of keys go. */
static STEPS_INLINE struct steps steps_start(const struct product *product, const void *panels, const void *q,
                                             float *c) {
  /* The compiler does not know that tiles read memory. */
  __asm__ volatile("" ::: "memory");
  return (struct steps){.q = q,
                        .k = panels,
                        .c = c,
                        .part_bytes = steps_tiles(product->width) * STEPS_TILE,
                        .side_bytes = steps_side_bytes(product->width),
                        .c_bytes = product->c_stride * sizeof(float),
                        .n_tiles = steps_tiles(product->width),
                        .n_groups = product->n_keys / (2 * STEPS_SIDE)};
}

/* The parts of a query and of a key whose products are added: those above 2^-26 of the whole. Of each tile of channels
 * first all small ones, where neighbours share a part; at the end the large ones, which then decide the rounding, as in
 * a sum of float32. */
#define STEPS_ORDER                                                                                                    \
  {                                                                                                                    \
    {2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {                                                                          \
      0, 0                                                                                                             \
    }                                                                                                                  \
  }
enum { STEPS_PAIRS = 6, STEPS_LARGE = STEPS_PAIRS - 1 };

/* Number of steps in all. */
static inline size_t steps_count(const struct steps *steps) {
  return steps->n_groups * steps->n_tiles * STEPS_PAIRS;
}

#define STEPS_LOAD_Q(part)                                                                                             \
  _tile_loadd(4, steps->q + offset + (part)*steps->part_bytes, 64);                                                    \
  _tile_loadd(5, steps->q + offset + (part)*steps->part_bytes + steps->side_bytes, 64)
#define STEPS_LOAD_K(part)                                                                                             \
  _tile_loadd(6, steps->k + offset + (part)*steps->part_bytes, 64);                                                    \
  _tile_loadd(7, steps->k + offset + (part)*steps->part_bytes + steps->side_bytes, 64)

/* What STEPS_ORDER has at `pair` and the step before had not. */
static STEPS_INLINE void steps_load(const struct steps *steps) {
  size_t offset = steps->tile * STEPS_TILE;
  switch (steps->pair) {
  case 0:
    STEPS_LOAD_Q(2);
    STEPS_LOAD_K(0);
    break;
  case 1:
    STEPS_LOAD_Q(1);
    break;
  case 2:
    STEPS_LOAD_K(1);
    break;
  case 3:
    STEPS_LOAD_Q(0);
    break;
  case 4:
    STEPS_LOAD_K(2);
    break;
  default:
    STEPS_LOAD_Q(0);
    STEPS_LOAD_K(0);
    break;
  }
}

/* One step; due steps_count times. */
static STEPS_INLINE void steps_next(struct steps *steps) {
  steps_load(steps);
  bool first = steps->pair == 0 && steps->tile == 0;
  float *before = first ? steps->before : NULL;
  size_t below = STEPS_SIDE * (steps->c_bytes / sizeof(float));
  if (before) {
    _tile_stored(0, before, steps->c_bytes);
  }
  if (first) {
    _tile_zero(0);
  }
  _tile_dpbf16ps(0, 4, 6);
  if (before) {
    _tile_stored(1, before + STEPS_SIDE, steps->c_bytes);
  }
  if (first) {
    _tile_zero(1);
  }
  _tile_dpbf16ps(1, 4, 7);
  if (before) {
    _tile_stored(2, before + below, steps->c_bytes);
  }
  if (first) {
    _tile_zero(2);
  }
  _tile_dpbf16ps(2, 5, 6);
  if (before) {
    _tile_stored(3, before + below + STEPS_SIDE, steps->c_bytes);
  }
  if (first) {
    _tile_zero(3);
  }
  _tile_dpbf16ps(3, 5, 7);
  if (steps->pair < STEPS_LARGE - 1) {
    steps->pair++;
  } else if (++steps->tile < steps->n_tiles) {
    steps->pair = steps->pair == STEPS_LARGE ? (size_t)STEPS_LARGE : 0;
  } else if (steps->pair < STEPS_LARGE) {
    steps->pair = STEPS_LARGE;
    steps->tile = 0;
  } else {
    steps->pair = 0;
    steps->tile = 0;
    steps->k += 2 * steps->side_bytes;
    steps->before = steps->c;
    steps->c += 2 * STEPS_SIDE;
  }
}

/* What is still in registers, after the last step. */
static STEPS_INLINE void steps_end(const struct steps *steps) {
  float *before = steps->before;
  size_t below = STEPS_SIDE * (steps->c_bytes / sizeof(float));
  if (before) {
    _tile_stored(0, before, steps->c_bytes);
    _tile_stored(1, before + STEPS_SIDE, steps->c_bytes);
    _tile_stored(2, before + below, steps->c_bytes);
    _tile_stored(3, before + below + STEPS_SIDE, steps->c_bytes);
  }
}

#endif
