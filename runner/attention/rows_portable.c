/* Four lanes in the compilers' own vector types: SSE2 on x86-64, NEON on ARM, plain code elsewhere. */
#include "attention/rows.h"

#include <stdint.h>
#include <string.h>

#define ROWS_TARGET
enum { LANES = 4, VEC_MASKS = 0 };
typedef float vec __attribute__((vector_size(16)));
typedef int32_t lanes __attribute__((vector_size(16)));
typedef uint32_t word __attribute__((vector_size(16)));

static inline vec vec_load(const float *p) {
  vec v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void vec_store(float *p, vec v) {
  memcpy(p, &v, sizeof v);
}
static inline vec vec_set(float x) {
  return (vec){x, x, x, x};
}
static inline vec vec_iota(void) {
  return (vec){0, 1, 2, 3};
}
static inline vec vec_add(vec a, vec b) {
  return a + b;
}
static inline vec vec_sub(vec a, vec b) {
  return a - b;
}
static inline vec vec_mul(vec a, vec b) {
  return a * b;
}
static inline vec vec_fma(vec a, vec b, vec c) {
  return a * b + c;
}
static inline vec choose(lanes which, vec yes, vec no) {
  return (vec)((which & (lanes)yes) | (~which & (lanes)no));
}
static inline vec vec_max(vec a, vec b) {
  return choose(a > b, a, b);
}
static inline vec vec_min(vec a, vec b) {
  return choose(a < b, a, b);
}
static inline vec vec_absolute(vec v) {
  return (vec)((lanes)v & (lanes){INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX});
}
static inline bool vec_any_above(vec a, vec b) {
  lanes above = a > b;
  return (above[0] | above[1] | above[2] | above[3]) != 0;
}
static inline vec vec_load_reversed(const float *p) {
  return (vec){p[3], p[2], p[1], p[0]};
}
static inline lanes vec_not_below(vec a, vec b) {
  return ~(a < b);
}
static inline vec vec_keep(lanes which, vec v) {
  return (vec)(which & (lanes)v);
}
/* In two factors, since 2^n alone may overflow where v * 2^n does not. n + 1.5 * 2^23 holds n in its lowest bits;
 * halves are taken of n + 256, which is positive. */
static inline vec vec_scale_by_power_of_2(lanes which, vec v, vec n) {
  const word bias = {127, 127, 127, 127}, offset = {256, 256, 256, 256};
  word whole = (word)(n + vec_set(12582912.0f)) - (word)vec_set(12582912.0f);
  word half = ((whole + offset) >> 1) - (offset >> 1);
  return vec_keep(which, v * (vec)((half + bias) << 23) * (vec)((whole - half + bias) << 23));
}
static inline vec vec_fma_in(lanes which, vec a, vec b, vec c) {
  (void)which; /* a is 0 in the other lanes, and b finite */
  return vec_fma(a, b, c);
}
static inline void vec_add_to_each(double *sum, vec v) {
  for (int lane = 0; lane < LANES; lane++) {
    sum[lane] += (double)v[lane];
  }
}
static inline void vec_add_sums(double *sums, vec v) {
  vec_add_to_each(sums, v);
}
static inline void vec_add_two_sums(double *sums, vec v, vec w) {
  vec_add_to_each(sums, v);
  vec_add_to_each(sums + ROWS_SUMS, w);
}

#include "attention/rows_alone.h"
#include "attention/rows_body.h"

const struct rows_kernels *rows_portable(void) {
  static const struct rows_kernels kernels = {.name = "portable",
                                              .lanes = LANES,
                                              .run = RUN,
                                              .softmax = softmax,
                                              .flush = flush,
                                              .scale = scale,
                                              .add_diagonals = add_diagonals,
                                              .exponential = exponential};
  return &kernels;
}
