#include "test_random.h"

#include <math.h>
#include <stdlib.h>

double test_random(uint64_t *state, double low, double high) {
  *state = *state * 48271u % 2147483647u;
  return low + (high - low) * ((double)*state / 2147483647.0);
}

size_t test_random_count(uint64_t *state, size_t low, size_t high) {
  return low + (size_t)floor(test_random(state, 0, (double)(high - low + 1)));
}

float *test_random_floats(uint64_t *state, size_t n) {
  float *values = malloc((n ? n : 1) * sizeof *values);
  for (size_t i = 0; values && i < n; i++) {
    values[i] = (float)(rint(test_random(state, -2048, 2048)) / 1024);
  }
  return values;
}
