#include "attention/rows.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ROWS_TARGET __attribute__((target("avx2,fma")))
enum { LANES = 8, VEC_MASKS = 0 };
typedef __m256 vec;
typedef __m256 lanes;

static ROWS_TARGET inline vec vec_load(const float *p) {
  return _mm256_loadu_ps(p);
}
static ROWS_TARGET inline void vec_store(float *p, vec v) {
  _mm256_storeu_ps(p, v);
}
static ROWS_TARGET inline vec vec_set(float x) {
  return _mm256_set1_ps(x);
}
static ROWS_TARGET inline vec vec_iota(void) {
  return _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
}
static ROWS_TARGET inline vec vec_add(vec a, vec b) {
  return _mm256_add_ps(a, b);
}
static ROWS_TARGET inline vec vec_sub(vec a, vec b) {
  return _mm256_sub_ps(a, b);
}
static ROWS_TARGET inline vec vec_mul(vec a, vec b) {
  return _mm256_mul_ps(a, b);
}
static ROWS_TARGET inline vec vec_fma(vec a, vec b, vec c) {
  return _mm256_fmadd_ps(a, b, c);
}
static ROWS_TARGET inline vec vec_max(vec a, vec b) {
  return _mm256_max_ps(a, b);
}
static ROWS_TARGET inline vec vec_min(vec a, vec b) {
  return _mm256_min_ps(a, b);
}
static ROWS_TARGET inline vec vec_absolute(vec v) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
}
static ROWS_TARGET inline bool vec_any_above(vec a, vec b) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
}
static ROWS_TARGET inline vec vec_load_reversed(const float *p) {
  return _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}
static ROWS_TARGET inline lanes vec_not_below(vec a, vec b) {
  return _mm256_cmp_ps(a, b, _CMP_NLT_UQ);
}
static ROWS_TARGET inline vec vec_keep(lanes which, vec v) {
  return _mm256_and_ps(which, v);
}
/* In two factors, since 2^n alone may overflow where v * 2^n does not. */
static ROWS_TARGET inline vec vec_scale_by_power_of_2(lanes which, vec v, vec n) {
  __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), rest = _mm256_sub_epi32(whole, half);
  const __m256i one = _mm256_set1_epi32(127);
  vec first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, one), 23));
  vec second = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, one), 23));
  return vec_keep(which, _mm256_mul_ps(_mm256_mul_ps(v, first), second));
}
static ROWS_TARGET inline vec vec_fma_in(lanes which, vec a, vec b, vec c) {
  (void)which; /* a is 0 in the other lanes, and b finite */
  return vec_fma(a, b, c);
}
static ROWS_TARGET inline void vec_add_to_each(double *sum, vec v) {
  __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v)), high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
  _mm256_storeu_pd(sum, _mm256_add_pd(_mm256_loadu_pd(sum), low));
  _mm256_storeu_pd(sum + 4, _mm256_add_pd(_mm256_loadu_pd(sum + 4), high));
}
static ROWS_TARGET inline void vec_add_sums(double *sums, vec v) {
  __m128 in_four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), _mm256_cvtps_pd(in_four)));
}
static ROWS_TARGET inline void vec_add_two_sums(double *sums, vec v, vec w) {
  vec_add_sums(sums, v);
  vec_add_sums(sums + ROWS_SUMS, w);
}

#include "attention/rows_alone.h"
#include "attention/rows_body.h"

const struct rows_kernels *rows_avx2(void) {
  static const struct rows_kernels kernels = {.name = "avx2",
                                              .lanes = LANES,
                                              .run = RUN,
                                              .softmax = softmax,
                                              .flush = flush,
                                              .scale = scale,
                                              .add_diagonals = add_diagonals,
                                              .exponential = exponential};
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kernels : NULL;
}

#else

const struct rows_kernels *rows_avx2(void) {
  return NULL;
}

#endif
