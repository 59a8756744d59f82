#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,avx512f,avx512dq,avx512vl,avx512bw")))
#define TABLE train_kernels_avx512
#include "train/kernels_body.h"
#else
typedef int kernels_avx512_has_nothing_here;
#endif
