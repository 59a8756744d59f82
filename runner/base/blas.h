/* The libraries for products of matrices, made ready when they are first needed.
 *
 * OpenBLAS fills in 14,000 addresses when it is loaded, which takes longer than everything else that a process of
 * pe-run does before its first job; planning, probing and joining do without it. Its functions that the runner uses
 * (cblas.h) have their own names and may be called as usual, on any thread: they pass the call on.
 *
 * libxsmm makes kernels for small shapes at run time. It need not be there. */
#ifndef PE_BASE_BLAS_H
#define PE_BASE_BLAS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Load OpenBLAS, once, and leave it no threads of its own: products are shared out by the caller's. 0, ERROR_INTERNAL
 * where OpenBLAS is not there, or, where addresses are limited already (RLIMIT_AS), ERROR_MEMORY if libxsmm gets none
 * for its list of kernels: it would crash when asked for one. A product without it is a programmer's error and ends the
 * process. Thread-safe. */
int blas_open(struct error *err);

/* The same, and libxsmm's list is made now: for a caller that will limit addresses afterwards. Thread-safe. */
int blas_open_whole(struct error *err);

/* OpenBLAS's version, and the processor that its kernels are for, in its own words: "OpenBLAS 0.3.21 DYNAMIC_ARCH ...
 * SkylakeX ..."; "" before blas_open. */
const char *blas_build(void);

/* A product of row-major matrices: c [m][n] = a [m][k] b [k][n], or, with a_transposed, of a that is stored as [k][m];
 * accumulate: += instead. Strides in elements, from one row to the next. */
struct small_shape {
  size_t m, n, k;
  size_t a_stride, b_stride, c_stride;
  bool a_transposed, accumulate;
};

/* The library's own type; what follows c only matters to kernels that prefetch. */
typedef void (*small_kernel)(const float *b, const float *a, float *c, ...);

/* A kernel for a shape; NULL where libxsmm is not built in or has none for this machine. After blas_open. A look-up;
 * making a kernel for a shape that is new takes 0.1 ms. Thread-safe. */
small_kernel small_kernel_for(const struct small_shape *shape);

/* The processor that libxsmm makes kernels for, in its words: "skx"; "" without the library. */
const char *small_kernel_target(void);

/* Kernels leave values in the upper halves of the vector registers. Until these are cleared, instructions of the older
 * kind, which compilers use for ordinary code, wait for them: that was a tenth of the time of attention. Compilers
 * clear them at the end of their own vector code. */
#if defined(__x86_64__)
static inline __attribute__((target("avx"))) void clear_upper_halves(void) {
  __builtin_ia32_vzeroupper();
}
#endif

static inline void small_kernel_run(small_kernel kernel, const float *a, const float *b, float *c) {
  kernel(b, a, c);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx")) {
    clear_upper_halves();
  }
#endif
}

#endif
