#if defined(__x86_64__)
/* Without fma: contraction would change bits. */
#define TARGET __attribute__((target("avx2")))
#define TABLE train_kernels_avx2
#include "train/kernels_body.h"
#else
typedef int kernels_avx2_has_nothing_here;
#endif
