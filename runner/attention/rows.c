#include "attention/rows.h"

#include <math.h>
#include <string.h>

/* By halves, which compilers turn into vectors. */
float rows_largest(const float lanes[ROWS_VECTOR]) {
  float largest[ROWS_VECTOR];
  memcpy(largest, lanes, sizeof largest);
  for (size_t half = ROWS_VECTOR / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; lane++) {
      largest[lane] = largest[lane] > largest[lane + half] ? largest[lane] : largest[lane + half];
    }
  }
  return largest[0];
}

void rows_state_reset(const struct rows_state *state, size_t n_rows) {
  memset(state->recent, 0, n_rows * sizeof *state->recent);
  memset(state->sums, 0, n_rows * sizeof *state->sums);
  memset(state->distances, 0, n_rows * sizeof *state->distances);
  for (size_t r = 0; r < n_rows; r++) {
    for (size_t lane = 0; lane < ROWS_VECTOR; lane++) {
      state->max[r][lane] = -INFINITY;
    }
    state->ref[r] = 0.0f;
    state->limit[r] = -INFINITY;
    state->moved[r] = false;
  }
}

const struct rows_kernels *rows_best(void) {
  const struct rows_kernels *kernels = rows_avx512();
  kernels = kernels ? kernels : rows_avx2();
  return kernels ? kernels : rows_portable();
}
