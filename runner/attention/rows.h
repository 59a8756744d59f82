/* Vector kernels for rows of scores: softmax while the column tiles go by, and sums along diagonals. One table per
 * instruction set, chosen at run time; all follow rows_body.h.
 *
 * The softmax of a row is kept relative to a reference logit `ref` close to the largest one so far. A tile whose
 * largest logit is more than ROWS_LEEWAY above it moves the reference, and what was summed before is scaled once; so a
 * row is read once, and every exponential is at most exp(ROWS_LEEWAY).
 */
#ifndef PE_ATTENTION_ROWS_H
#define PE_ATTENTION_ROWS_H

#include "attention/product.h"

#include <stdbool.h>
#include <stddef.h>

enum {
  ROWS_TILE = 128,   /* columns of a tile at most */
  ROWS_SUMS = 4,     /* partial sums of a row */
  ROWS_VECTOR = 16,  /* columns of a tile are a multiple of it; rows of scores are padded to it with -INFINITY */
  ROWS_MAX = 64,     /* rows of a block at most */
  ROWS_MARGIN = 128, /* zeros that add_diagonals may read on either side of a row of e */
  ROWS_EXCESS = 64,  /* elements by which add_diagonals may go beyond the end of its sums, adding zeros */
};
#define ROWS_LEEWAY 4.0f /* exp(s - ref) carries the rounding of s - ref: small keeps it below 4 units in 2^-24 */

/* exp(s - ref) is 0 below it: a weight of 1e-30 is none, and its products with others must not become subnormal, for
 * which processors take a hundred times as long. */
#define ROWS_LOWEST (-69.0f)

/* What is known of the rows so far: [n_rows] of each. Lanes are summed up at the end, in order. */
struct rows_state {
  float (*max)[ROWS_VECTOR];        /* largest logits */
  float (*recent)[2 * ROWS_VECTOR]; /* of e = exp(s - ref), then of e * (s - ref), since the last flush */
  double (*sums)[2 * ROWS_SUMS];    /* the same, until then */
  double (*distances)[ROWS_SUMS];   /* of e * |distance|, where it is wanted */
  float *ref;                       /* 0 before the first visible key */
  float *limit;                     /* ref + ROWS_LEEWAY; -INFINITY before the first visible key */
  bool *moved;                      /* whether ref has moved after the first visible key */
};

/* The largest of a row's lanes. */
float rows_largest(const float lanes[ROWS_VECTOR]);

/* All of it as it is before the first tile. */
void rows_state_reset(const struct rows_state *state, size_t n_rows);

struct rows_tile {
  const float *s; /* [n_rows][s_stride], 64-byte aligned rows */
  size_t s_stride;
  size_t n_rows, n;  /* n: a multiple of ROWS_VECTOR, at most ROWS_TILE */
  const float *bias; /* bias[r - j] belongs to row r and column j; NULL: none */
  float *e;          /* [n_rows][e_stride]: exp(s - ref); NULL: not kept */
  size_t e_stride;   /* rows of e are 64-byte aligned */
  float *ref;        /* [n_rows], ref_stride apart: what e is relative to; NULL with e */
  size_t ref_stride;
  bool distance;           /* whether rows_state.distances is wanted */
  float distance_of_first; /* i + nk - nq - j of the tile's row 0 and column 0; |.| is used */
};

struct rows_kernels {
  const char *name;
  size_t lanes;
  size_t run;  /* tiles after which a flush is due: then a lane of `recent` is a float32 sum of 32 values */
  bool beside; /* softmax takes a product */
  /* Add a tile to the rows; row r of the tile is row `first + r` of the state. `call`: a split product to be made
   * beside it, or NULL. */
  void (*softmax)(const struct rows_tile *tile, const struct rows_state *state, size_t first,
                  const struct product_call *call);
  /* What is recent joins the sums, in rows 0 .. n_rows - 1. Due before these are read. */
  void (*flush)(const struct rows_state *state, size_t n_rows);
  /* e [n] *= factor (0 .. 1), and 0 where that is less than exp(ROWS_LOWEST); n a multiple of ROWS_VECTOR */
  void (*scale)(float *e, size_t n, float factor);
  /* sum[x] += sum over rows r of weight[r] * e[r * stride + x + r - (n_rows - 1)] for x in 0 .. n - 1. What is read
   * within ROWS_MARGIN of a row must be zero. */
  void (*add_diagonals)(const float *e, size_t stride, size_t n_rows, const float *weight, double *sum, size_t n);
  /* y [n] = exp(x) within 2 units in the last place, and 0 where exp(x) < 2^-126; any n. */
  void (*exponential)(const float *x, float *y, size_t n);
};

/* The kernels of one instruction set; NULL where this machine cannot run them. */
const struct rows_kernels *rows_portable(void);
const struct rows_kernels *rows_avx2(void);
const struct rows_kernels *rows_avx512(void);

/* Those for the split product; NULL where this machine has none. */
const struct rows_kernels *rows_tiles(void);

/* The best of the first three. */
const struct rows_kernels *rows_best(void);

#endif
