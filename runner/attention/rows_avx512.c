#include "attention/rows.h"

#if defined(__x86_64__)
#define ROWS_TARGET __attribute__((target("avx512f,avx512dq")))
#include "attention/rows_alone.h"
#include "attention/rows_avx512_vectors.h"
#include "attention/rows_body.h"

const struct rows_kernels *rows_avx512(void) {
  static const struct rows_kernels kernels = {.name = "avx512",
                                              .lanes = LANES,
                                              .run = RUN,
                                              .softmax = softmax,
                                              .flush = flush,
                                              .scale = scale,
                                              .add_diagonals = add_diagonals,
                                              .exponential = exponential};
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? &kernels : NULL;
}

#else

const struct rows_kernels *rows_avx512(void) {
  return NULL;
}

#endif
