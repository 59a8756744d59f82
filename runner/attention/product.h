/* Products of a block of queries with the keys of a head, which are packed once into panels of PRODUCT_PANEL keys:
 *
 *     c[i][j] = scale * sum over channels of q[i][channel] * k[j][channel]
 *
 * Two methods, equal within the rounding of float32:
 *
 *  - float32: libxsmm makes a kernel for each shape at run time; where it is not built in or has none for this machine,
 *    CBLAS does the same.
 *  - split: a float32 is the sum of three bfloat16 (8 bits each), so a product of two is the sum of nine products, six
 *    of which matter; tiles of the processor (AMX) add these up in float32. Twice as fast as the fastest float32
 *    instructions. Values of 2^56 and above do not fit and are refused; below 2^-109 the third part is lost, so a
 *    product may be wrong by up to 2^-64 times the width, absolutely.
 *
 * What a packed panel and packed queries contain is the method's own.
 */
#ifndef PE_ATTENTION_PRODUCT_H
#define PE_ATTENTION_PRODUCT_H

#include "base/blas.h"

#include <stdbool.h>
#include <stddef.h>

enum {
  PRODUCT_PANEL = 64, /* keys */
  PRODUCT_ROWS = 32,  /* c has memory for a multiple of it, and queries are packed from a multiple of it */
};

struct product;

struct product_method {
  const char *name; /* "libxsmm", "openblas" or "amx" */
  size_t rows;      /* of a block at least, for speed */
  /* Bytes of a packed panel, and of packed queries; both multiples of 64. */
  size_t (*panel_bytes)(size_t width);
  size_t (*query_bytes)(size_t n_rows, size_t width);
  /* panel from k [n_keys][width], n_keys <= PRODUCT_PANEL; packed from q [n_rows][width]. Both 64-byte aligned. False:
   * a value does not fit, and what is packed is of no use. [any] */
  bool (*pack_keys)(const float *k, size_t n_keys, size_t width, void *panel);
  bool (*pack_queries)(const float *q, size_t n_rows, size_t width, float scale, void *packed);
  /* The kernels of a shape: n_keys, a multiple of 16, keys of panels that follow each other. A few look-ups; making a
   * kernel for a shape that is new takes 0.1 ms. [any] */
  struct product (*of_shape)(size_t width, size_t n_rows, size_t n_keys, size_t c_stride);
  /* Around products: a thread lends its tile registers. [any, on the thread of the products] */
  void (*begin)(void);
  void (*end)(void);
};

struct product {
  size_t width, n_rows, n_keys, c_stride;
  void (*run)(const struct product *product, const void *panels, const void *q, float *c);
  small_kernel whole, rest; /* of whole panels; of what is left in the last one; NULL: CBLAS */
};

/* q: packed, from a row that is a multiple of PRODUCT_ROWS. c [n_rows rounded up to PRODUCT_ROWS][c_stride], of which
 * n_keys columns of n_rows are written, and more rows with whatever. [any, between begin and end] */
static inline void product_run(const struct product *product, const void *panels, const void *q, float *c) {
  product->run(product, panels, q, c);
}

/* A product that is made later. */
struct product_call {
  const struct product *product;
  const void *panels, *q;
  float *c;
};

const struct product_method *product_float32(void);

/* NULL where this machine has no such tiles. The first call asks the system for them. [any] */
const struct product_method *product_split(void);

/* The faster one. */
const struct product_method *product_best(void);

/* Panels for n_keys keys. */
size_t product_panels(size_t n_keys);

#endif
