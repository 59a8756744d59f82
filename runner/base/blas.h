/* OpenBLAS, loaded when it is first needed. The library fills in 14,000 addresses when it is loaded, which takes longer
 * than everything else that a process of pe-run does before its first job; planning, probing and joining do without it.
 *
 * Its functions that the runner uses (cblas.h) have their own names and may be called as usual, on any thread: they
 * pass the call on. */
#ifndef PE_BASE_BLAS_H
#define PE_BASE_BLAS_H

#include "base/error.h"

/* Load it, once, and leave it no threads of its own: products are shared out by the caller's. 0, or ERROR_INTERNAL
 * where it is not there. A call without it is a programmer's error and ends the process. Thread-safe. */
int blas_open(struct error *err);

/* Its version, and the processor that its kernels are for, in its own words: "OpenBLAS 0.3.21 DYNAMIC_ARCH ... SkylakeX
 * ..."; "" before blas_open. */
const char *blas_build(void);

#endif
