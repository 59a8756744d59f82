#define TARGET
#define TABLE train_kernels_portable
#include "train/kernels_body.h"

const struct train_kernels *train_kernels(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return &train_kernels_avx512;
  }
  if (__builtin_cpu_supports("avx2")) {
    return &train_kernels_avx2;
  }
#endif
  return &train_kernels_portable;
}

void gelu_erf(size_t n, const float *x, float *y, float *slope) {
  for (size_t i = 0; i < n; i++) {
    double v = (double)x[i], half = 0.5 * (1 + erf(v * 0.70710678118654752440)); /* 1 / sqrt 2 */
    if (slope) {
      slope[i] = (float)(half + v * 0.39894228040143267794 * exp(-0.5 * v * v)); /* 1 / sqrt(2 pi) */
    }
    y[i] = (float)(v * half);
  }
}
