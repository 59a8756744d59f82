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

/* Bytes of a packed group of two times STEPS_SIDE queries or keys, in the order in which they are used: [steps_tiles]
 * [STEPS_PARTS][2] tiles, of queries [STEPS_SIDE][STEPS_CHANNELS], of keys [STEPS_CHANNELS / 2][STEPS_SIDE][2]. */
enum {
  STEPS_GROUP = 2 * STEPS_SIDE,
  STEPS_PART_BYTES = 2 * STEPS_TILE,
  STEPS_TILES_BYTES = STEPS_PARTS * STEPS_PART_BYTES
};
static inline size_t steps_group_bytes(size_t width) {
  return steps_tiles(width) * STEPS_TILES_BYTES;
}

/* Two tiles of queries times two of keys at a time, in tile registers 0 to 3. */
struct steps {
  const unsigned char *q, *k; /* of these tiles */
  float *c;                   /* of these tiles */
  float *before;              /* of those whose sums are still in registers; NULL: none are */
  size_t group_bytes, c_bytes;
  size_t n_tiles;    /* of channels */
  size_t n_groups;   /* pairs of tiles of keys that are left */
  size_t pair, tile; /* of the next step */
  bool second;       /* tile of queries, in the next step */
};

/* The first PRODUCT_ROWS rows of product_run, as far as whole pairs of tiles of keys go. */
static STEPS_INLINE struct steps steps_start(const struct product *product, const void *panels, const void *q,
                                             float *c) {
  /* The compiler does not know that tiles read memory. */
  __asm__ volatile("" ::: "memory");
  return (struct steps){.q = q,
                        .k = panels,
                        .c = c,
                        .group_bytes = steps_group_bytes(product->width),
                        .c_bytes = product->c_stride * sizeof(float),
                        .n_tiles = steps_tiles(product->width),
                        .n_groups = product->n_keys / STEPS_GROUP};
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

/* Number of steps in all: two for each pair of parts, one tile of queries after the other. */
static inline size_t steps_count(const struct steps *steps) {
  return steps->n_groups * steps->n_tiles * STEPS_PAIRS * 2;
}

#define STEPS_Q(tile, part) _tile_loadd(tile, q + (part)*STEPS_PART_BYTES, 64)
#define STEPS_K(part)                                                                                                  \
  _tile_loadd(6, k + (part)*STEPS_PART_BYTES, 64);                                                                     \
  _tile_loadd(7, k + (part)*STEPS_PART_BYTES + STEPS_TILE, 64)

/* What STEPS_ORDER has at `pair` and the step before had not: queries go to tile registers 4 and 5, keys to 6 and 7. */
static STEPS_INLINE void steps_load(const struct steps *steps) {
  const unsigned char *q = steps->q + steps->tile * STEPS_TILES_BYTES, *k = steps->k + steps->tile * STEPS_TILES_BYTES;
  if (steps->second) {
    q += STEPS_TILE;
    switch (steps->pair) {
    case 0:
      STEPS_Q(5, 2);
      break;
    case 1:
      STEPS_Q(5, 1);
      break;
    case 3:
    case STEPS_LARGE:
      STEPS_Q(5, 0);
      break;
    default:
      break;
    }
    return;
  }
  switch (steps->pair) {
  case 0:
    STEPS_Q(4, 2);
    STEPS_K(0);
    break;
  case 1:
    STEPS_Q(4, 1);
    break;
  case 2:
    STEPS_K(1);
    break;
  case 3:
    STEPS_Q(4, 0);
    break;
  case 4:
    STEPS_K(2);
    break;
  default:
    STEPS_Q(4, 0);
    STEPS_K(0);
    break;
  }
}

static STEPS_INLINE void steps_advance(struct steps *steps) {
  steps->second = !steps->second;
  if (steps->second) {
    return;
  }
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
    steps->k += steps->group_bytes;
    steps->before = steps->c;
    steps->c += STEPS_GROUP;
  }
}

/* One step; due steps_count times. Sums of the group before are stored one by one, as their registers are wanted. */
static STEPS_INLINE void steps_next(struct steps *steps) {
  steps_load(steps);
  bool first = steps->pair == 0 && steps->tile == 0;
  float *before = first ? steps->before : NULL;
  if (!steps->second) {
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
  } else {
    size_t below = STEPS_SIDE * (steps->c_bytes / sizeof(float));
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
  }
  steps_advance(steps);
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
