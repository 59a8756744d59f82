#include "attention/rows.h"

const struct rows_kernels *rows_best(void) {
  const struct rows_kernels *kernels = rows_avx512();
  kernels = kernels ? kernels : rows_avx2();
  return kernels ? kernels : rows_portable();
}
