/* The split product of product.h: packing, and the product by itself. */
#include "attention/product.h"

#if defined(__x86_64__) && defined(__linux__)
#include "attention/product_steps.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VECTORS __attribute__((target("avx512f")))

_Static_assert((int)PRODUCT_ROWS == (int)STEPS_GROUP && PRODUCT_PANEL % STEPS_GROUP == 0, "whole groups");

/* ---- packing ------------------------------------------------------------------------------------------------------
 */

static size_t panel_bytes(size_t width) {
  return PRODUCT_PANEL / STEPS_GROUP * steps_group_bytes(width);
}

static size_t query_bytes(size_t n_rows, size_t width) {
  return (n_rows + STEPS_GROUP - 1) / STEPS_GROUP * steps_group_bytes(width);
}

/* The nearest bfloat16 of each lane, ties to even, as the float32 with zeros below it. */
static VECTORS inline __m512 nearest_bfloat16(__m512 x) {
  __m512i bits = _mm512_castps_si512(x);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  return _mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32((int)0xffff0000u)));
}

/* n <= 16 values times scale, in parts of 16 bfloat16. What is left of a float32 after two parts has at most 8 bits:
 * the third part is exact. The magnitudes join `largest`, as integers. */
static VECTORS inline void split(const float *x, size_t n, float scale, unsigned char *to, __m512i *largest) {
  __mmask16 wanted = (__mmask16)((1u << n) - 1u);
  __m512 rest = _mm512_mul_ps(_mm512_maskz_loadu_ps(wanted, x), _mm512_set1_ps(scale));
  __m512i magnitude = _mm512_and_si512(_mm512_castps_si512(rest), _mm512_set1_epi32(0x7fffffff));
  *largest = _mm512_max_epu32(*largest, magnitude);
  for (size_t part = 0; part < STEPS_PARTS; part++) {
    __m512 nearest = nearest_bfloat16(rest);
    rest = _mm512_sub_ps(rest, nearest);
    __m256i upper = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(nearest), 16));
    _mm256_storeu_si256((__m256i *)(void *)(to + part * STEPS_PART_BYTES), upper);
  }
}

/* A group of rows of x [n_rows][width], n_rows <= STEPS_GROUP, as queries are packed. */
static VECTORS void split_group(const float *x, size_t n_rows, size_t width, float scale, unsigned char *group,
                                __m512i *largest) {
  enum { HALF = STEPS_CHANNELS / 2 };
  if (n_rows < STEPS_GROUP || width % STEPS_CHANNELS > 0) {
    memset(group, 0, steps_group_bytes(width));
  }
  for (size_t r = 0; r < n_rows; r++) {
    unsigned char *row = group + r / STEPS_SIDE * STEPS_TILE + r % STEPS_SIDE * (STEPS_CHANNELS * sizeof(uint16_t));
    for (size_t channel = 0; channel < width; channel += HALF) {
      size_t n = width - channel < HALF ? width - channel : HALF;
      split(x + r * width + channel, n, scale,
            row + channel / STEPS_CHANNELS * STEPS_TILES_BYTES + channel % STEPS_CHANNELS * sizeof(uint16_t), largest);
    }
  }
}

/* 2^56: the sum of the products of any width up to 2^14 is finite, and so are its parts. Infinity and what is not a
 * number are above it. */
static VECTORS bool all_fit(__m512i largest) {
  const float limit = 0x1p56f;
  return _mm512_cmplt_epu32_mask(largest, _mm512_castps_si512(_mm512_set1_ps(limit))) == 0xffff;
}

static VECTORS bool pack_queries(const float *q, size_t n_rows, size_t width, float scale, void *packed) {
  __m512i largest = _mm512_setzero_si512();
  unsigned char *group = packed;
  for (size_t r = 0; r < n_rows; r += STEPS_GROUP, group += steps_group_bytes(width)) {
    size_t left = n_rows - r;
    split_group(q + r * width, left < STEPS_GROUP ? left : STEPS_GROUP, width, scale, group, &largest);
  }
  return all_fit(largest);
}

/* A tile of [STEPS_SIDE rows][STEPS_CHANNELS / 2 pairs] becomes [STEPS_CHANNELS / 2 pairs][STEPS_SIDE rows], in place:
 * blocks of 2 x 2 and 4 x 4 pairs by interleaving neighbours, of 8 x 8 and 16 x 16 by moving quarters of a vector. */
static VECTORS inline void transpose_pairs(unsigned char *tile) {
  __m512i a[STEPS_SIDE], b[STEPS_SIDE];
  for (size_t i = 0; i < STEPS_SIDE; i++) {
    a[i] = _mm512_load_si512(tile + i * 64);
  }
  for (size_t i = 0; i < STEPS_SIDE; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (size_t i = 0; i < STEPS_SIDE; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  /* Quarter q of a[4 g + i] is pair 4 q + i of rows 4 g to 4 g + 3. */
  for (size_t i = 0; i < 4; i++) {
    __m512i even_low = _mm512_shuffle_i32x4(a[i], a[4 + i], 0x88), odd_low = _mm512_shuffle_i32x4(a[i], a[4 + i], 0xdd);
    __m512i even_high = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0x88);
    __m512i odd_high = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0xdd);
    _mm512_store_si512(tile + i * 64, _mm512_shuffle_i32x4(even_low, even_high, 0x88));
    _mm512_store_si512(tile + (4 + i) * 64, _mm512_shuffle_i32x4(odd_low, odd_high, 0x88));
    _mm512_store_si512(tile + (8 + i) * 64, _mm512_shuffle_i32x4(even_low, even_high, 0xdd));
    _mm512_store_si512(tile + (12 + i) * 64, _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd));
  }
}

static VECTORS bool pack_keys(const float *k, size_t n_keys, size_t width, void *panel) {
  __m512i largest = _mm512_setzero_si512();
  unsigned char *group = panel;
  for (size_t key = 0; key < PRODUCT_PANEL; key += STEPS_GROUP, group += steps_group_bytes(width)) {
    size_t left = key < n_keys ? n_keys - key : 0;
    split_group(k + (left ? key * width : 0), left < STEPS_GROUP ? left : STEPS_GROUP, width, 1.0f, group, &largest);
    for (size_t at = 0; left && at < steps_group_bytes(width); at += STEPS_TILE) {
      transpose_pairs(group + at);
    }
  }
  return all_fit(largest);
}

/* ---- products -----------------------------------------------------------------------------------------------------
 */

/* Two tiles of queries times the last tile of keys, where their number is odd. */
static STEPS_TARGET void last_tile(const struct steps *steps, float *c) {
  static const unsigned char order[STEPS_PAIRS][2] = STEPS_ORDER;
  _tile_zero(0);
  _tile_zero(2);
  for (size_t tile = 0; tile < 2 * steps->n_tiles; tile++) {
    bool large = tile >= steps->n_tiles;
    size_t offset = tile % steps->n_tiles * STEPS_TILES_BYTES;
    for (size_t pair = large ? STEPS_LARGE : 0; pair < (large ? STEPS_PAIRS : STEPS_LARGE); pair++) {
      const unsigned char *q = steps->q + offset + order[pair][0] * STEPS_PART_BYTES;
      _tile_loadd(4, q, 64);
      _tile_loadd(5, q + STEPS_TILE, 64);
      _tile_loadd(6, steps->k + offset + order[pair][1] * STEPS_PART_BYTES, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(2, 5, 6);
    }
  }
  _tile_stored(0, c, steps->c_bytes);
  _tile_stored(2, c + STEPS_SIDE * (steps->c_bytes / sizeof *c), steps->c_bytes);
}

static STEPS_TARGET void run(const struct product *product, const void *panels, const void *q, float *c) {
  size_t of_rows = query_bytes(PRODUCT_ROWS, product->width);
  for (size_t row = 0; row < product->n_rows; row += PRODUCT_ROWS, c += PRODUCT_ROWS * product->c_stride) {
    struct steps steps = steps_start(product, panels, (const unsigned char *)q + row / PRODUCT_ROWS * of_rows, c);
    for (size_t left = steps_count(&steps); left > 0; left--) {
      steps_next(&steps);
    }
    steps_end(&steps);
    size_t rest = product->n_keys % STEPS_GROUP;
    if (rest > 0) {
      last_tile(&steps, c + product->n_keys - rest);
    }
  }
}

static struct product of_shape(size_t width, size_t n_rows, size_t n_keys, size_t c_stride) {
  return (struct product){.width = width, .n_rows = n_rows, .n_keys = n_keys, .c_stride = c_stride, .run = run};
}

/* ---- tile registers -----------------------------------------------------------------------------------------------
 */

/* What LDTILECFG reads. */
struct tile_configuration {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes_of_row[16];
  uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_configuration) == 64, "as the processor reads it");

static STEPS_TARGET void begin(void) {
  static const struct tile_configuration whole = {
      .palette = 1,
      .bytes_of_row = {64, 64, 64, 64, 64, 64, 64, 64},
      .rows = {STEPS_SIDE, STEPS_SIDE, STEPS_SIDE, STEPS_SIDE, STEPS_SIDE, STEPS_SIDE, STEPS_SIDE, STEPS_SIDE}};
  _tile_loadconfig(&whole);
}

static STEPS_TARGET void end(void) {
  _tile_release();
}

/* The kernel keeps tiles from processes that did not ask: their registers take 8 KiB of every signal's stack. It says
 * no where the processor has none; all processors that have them multiply bfloat16. Asking the processor itself would
 * take 30 microseconds in a virtual machine. */
static bool tiles_allowed(void) {
  enum { ASK_FOR_FEATURE = 0x1023, TILE_DATA = 18 };
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bf16") && syscall(SYS_arch_prctl, ASK_FOR_FEATURE, TILE_DATA) == 0;
}

const struct product_method *product_split(void) {
  static const struct product_method method = {.name = "amx",
                                               .rows = PRODUCT_ROWS,
                                               .panel_bytes = panel_bytes,
                                               .query_bytes = query_bytes,
                                               .pack_keys = pack_keys,
                                               .pack_queries = pack_queries,
                                               .of_shape = of_shape,
                                               .begin = begin,
                                               .end = end};
  return tiles_allowed() ? &method : NULL;
}

#else

const struct product_method *product_split(void) {
  return NULL;
}

#endif
