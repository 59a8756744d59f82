/* Products of a block of queries with a panel of keys. Keys are packed once per head into panels that lie ready for the
 * library: PRODUCT_PANEL keys side by side, channel by channel, zeros where there are no more keys.
 *
 *     c[i][j] = sum over channels of q[i][channel] * panel[channel][j]
 *
 * libxsmm makes a kernel for each shape at run time; where it is not built in or has none for this machine, CBLAS does
 * the same, equal within rounding.
 */
#ifndef PE_ATTENTION_PRODUCT_H
#define PE_ATTENTION_PRODUCT_H

#include <stddef.h>

enum { PRODUCT_PANEL = 64 };

/* The library's own type; what follows c only matters to kernels that prefetch. NULL: CBLAS. */
typedef void (*product_kernel)(const float *panel, const float *q, float *c, ...);

/* The kernels of one shape: n_rows queries, n_keys keys of panels that follow each other. */
struct product {
  size_t width, n_rows, n_keys, c_stride;
  product_kernel whole, rest; /* of whole panels; of what is left in the last one */
};

/* A few look-ups; making a kernel for a shape that is new takes 0.1 ms. n_keys: a multiple of 16. [any] */
struct product product_of_shape(size_t width, size_t n_rows, size_t n_keys, size_t c_stride);

/* q [n_rows][width], c [n_rows][c_stride] of which n_keys columns are written. [any] */
void product_run(const struct product *product, const float *panels, const float *q, float *c);

/* Panels for n_keys keys, and floats of one. */
size_t product_panels(size_t n_keys);
size_t product_panel_size(size_t width);

/* panel [width][PRODUCT_PANEL] from k [n_keys][width] (n_keys <= PRODUCT_PANEL). [any] */
void product_pack(const float *k, size_t n_keys, size_t width, float *panel);

/* Where the products come from: "libxsmm" or "openblas". */
const char *product_library(void);

/* The processor that libxsmm makes kernels for, in its words: "skx"; "" without the library. */
const char *product_target(void);

#endif
