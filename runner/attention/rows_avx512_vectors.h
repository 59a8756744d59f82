/* The vector operations that rows_body.h asks for, of AVX-512. The including file says ROWS_TARGET. No header guard,
 * like rows_body.h. */
#include <immintrin.h>

enum { LANES = 16, VEC_MASKS = 1 };
typedef __m512 vec;
typedef __mmask16 lanes;

static ROWS_TARGET inline vec vec_load(const float *p) {
  return _mm512_loadu_ps(p);
}
static ROWS_TARGET inline void vec_store(float *p, vec v) {
  _mm512_storeu_ps(p, v);
}
static ROWS_TARGET inline vec vec_set(float x) {
  return _mm512_set1_ps(x);
}
static ROWS_TARGET inline vec vec_iota(void) {
  return _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
static ROWS_TARGET inline vec vec_add(vec a, vec b) {
  return _mm512_add_ps(a, b);
}
static ROWS_TARGET inline vec vec_sub(vec a, vec b) {
  return _mm512_sub_ps(a, b);
}
static ROWS_TARGET inline vec vec_mul(vec a, vec b) {
  return _mm512_mul_ps(a, b);
}
static ROWS_TARGET inline vec vec_fma(vec a, vec b, vec c) {
  return _mm512_fmadd_ps(a, b, c);
}
static ROWS_TARGET inline vec vec_max(vec a, vec b) {
  return _mm512_max_ps(a, b);
}
static ROWS_TARGET inline vec vec_min(vec a, vec b) {
  return _mm512_min_ps(a, b);
}
static ROWS_TARGET inline vec vec_absolute(vec v) {
  return _mm512_abs_ps(v);
}
static ROWS_TARGET inline bool vec_any_above(vec a, vec b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
}
static ROWS_TARGET inline vec vec_load_reversed(const float *p) {
  const __m512i backwards = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_permutexvar_ps(backwards, _mm512_loadu_ps(p));
}
static ROWS_TARGET inline lanes vec_not_below(vec a, vec b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ);
}
static ROWS_TARGET inline vec vec_keep(lanes which, vec v) {
  return _mm512_maskz_mov_ps(which, v);
}
static ROWS_TARGET inline vec vec_scale_by_power_of_2(lanes which, vec v, vec n) {
  return _mm512_maskz_scalef_ps(which, v, n);
}
static ROWS_TARGET inline vec vec_fma_in(lanes which, vec a, vec b, vec c) {
  return _mm512_mask3_fmadd_ps(a, b, c, which);
}
static ROWS_TARGET inline __m128 in_four(vec v) {
  __m256 in_eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  return _mm_add_ps(_mm256_castps256_ps128(in_eight), _mm256_extractf128_ps(in_eight, 1));
}
static ROWS_TARGET inline void vec_add_sums(double *sums, vec v) {
  _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), _mm256_cvtps_pd(in_four(v))));
}
static ROWS_TARGET inline void vec_add_two_sums(double *sums, vec v, vec w) {
  __m512d both = _mm512_cvtps_pd(_mm256_insertf128_ps(_mm256_castps128_ps256(in_four(v)), in_four(w), 1));
  _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), both));
}
static ROWS_TARGET inline void vec_add_to_each(double *sum, vec v) {
  __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v)), high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
  _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), low));
  _mm512_storeu_pd(sum + 8, _mm512_add_pd(_mm512_loadu_pd(sum + 8), high));
}
