/* The algorithms of rows.h, written once on the vector operations of the including file:
 *
 *     LANES, ROWS_TARGET          lanes of `vec`; the attribute that allows its instructions
 *     VEC_MASKS                   1 where operations on some lanes leave the others uncomputed, else 0
 *     vec_load, vec_store, vec_set, vec_iota, vec_add, vec_sub, vec_mul, vec_fma (a * b + c, rounded once or twice),
 *     vec_max, vec_min            the second operand where one is not a number
 *     vec_absolute, vec_any_above (any lane of a > b), vec_load_reversed (p[0] in the last lane)
 *     vec_not_below (a, b)        the lanes, as a `lanes`, where a < b does not hold
 *     vec_keep (lanes, v)         v, and 0 in the other lanes
 *     vec_scale_by_power_of_2 (lanes, v, n)   v * 2^n, n whole, -126 .. 130, and 0 in the other lanes
 *     vec_fma_in (lanes, a, b, c) a * b + c, and c in the other lanes
 *     vec_add_sums (double[ROWS_SUMS], v), vec_add_two_sums (double[2 * ROWS_SUMS], v, w): lane i joins sum i %
 * ROWS_SUMS vec_add_to_each (double[LANES], v)
 *     struct beside, beside_start (call), beside_row (row, n_rows), beside_end: a product that is made beside a
 * softmax; rows_alone.h has those that do nothing
 *
 * No header guard: rows_portable.c and its brothers include it once each.
 */
#include "attention/rows.h"

#include <math.h>

#ifdef __clang__
#define ROWS_UNROLL _Pragma("unroll")
#else
#define ROWS_UNROLL _Pragma("GCC unroll 8")
#endif

/* ln 2^-126, rounded up: below it exp is no normal number, and the result is 0. Processors take a hundred times as long
 * for subnormal numbers. */
#define LOWEST_NORMAL (-87.33654f)
#define HIGHEST 90.0f

/* Where lanes cannot be left out of a computation, those below `lowest` get a value that does no harm. */
static ROWS_TARGET inline vec tamed(vec v, float lowest) {
  return VEC_MASKS ? v : vec_max(vec_set(lowest), v);
}

/* exp(x) = 2^n exp(r), |r| <= ln(2) / 2: n by adding and subtracting 1.5 * 2^23, r by Cody and Waite's two-step
 * reduction (n times the first part of ln 2 is exact), exp(r) by the polynomial of degree 6 with the smallest relative
 * error among those that begin 1 + r: 3.1e-9. x up to HIGHEST; 0 in the lanes that are not
 * `wanted`. */
static ROWS_TARGET inline vec exponential_of(vec x, lanes wanted) {
  const vec shift = vec_set(12582912.0f);
  vec shifted = vec_fma(x, vec_set(0x1.715476p+0f), shift);
  vec n = vec_sub(shifted, shift);
  vec r = vec_fma(n, vec_set(-0x1.62e4p-1f), x);
  r = vec_fma(n, vec_set(-0x1.7f7d1cp-20f), r);
  vec p = vec_set(0x1.6a244cp-10f);
  p = vec_fma(p, r, vec_set(0x1.1239d4p-7f));
  p = vec_fma(p, r, vec_set(0x1.5558f2p-5f));
  p = vec_fma(p, r, vec_set(0x1.555492p-3f));
  p = vec_fma(p, r, vec_set(0x1.fffffcp-2f));
  p = vec_fma(p, r, vec_set(1.0f));
  p = vec_fma(p, r, vec_set(1.0f));
  return vec_scale_by_power_of_2(wanted, p, n);
}

static ROWS_TARGET void exponential(const float *x, float *y, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    vec v = vec_min(vec_set(HIGHEST), vec_load(x + i));
    vec_store(y + i, exponential_of(tamed(v, LOWEST_NORMAL), vec_not_below(v, vec_set(LOWEST_NORMAL))));
  }
  if (i < n) {
    float rest[LANES] = {0.0f};
    for (size_t j = i; j < n; j++) {
      rest[j - i] = x[j];
    }
    exponential(rest, rest, LANES);
    for (size_t j = i; j < n; j++) {
      y[j] = rest[j - i];
    }
  }
}

enum { RUN = 32 * LANES / ROWS_TILE };

static ROWS_TARGET inline void flush_row(const struct rows_state *state, size_t r) {
  float *recent = state->recent[r];
  vec_add_two_sums(state->sums[r], vec_load(recent), vec_load(recent + ROWS_VECTOR));
  vec_store(recent, vec_set(0.0f));
  vec_store(recent + ROWS_VECTOR, vec_set(0.0f));
}

static ROWS_TARGET void flush(const struct rows_state *state, size_t n_rows) {
  for (size_t r = 0; r < n_rows; r++) {
    flush_row(state, r);
  }
}

/* The reference moves up to the largest logit; the sums follow: e' = f e, s - ref' = (s - ref) + (ref - ref'). */
static ROWS_TARGET __attribute__((noinline)) void raise_reference(const struct rows_state *state, size_t r) {
  flush_row(state, r);
  float largest = rows_largest(state->max[r]);
  double step = (double)state->ref[r] - (double)largest;
  bool first = state->limit[r] == -INFINITY;
  double factor = first ? 0.0 : exp(step);
  double *sum = state->sums[r], *below = sum + ROWS_SUMS;
  for (size_t lane = 0; lane < ROWS_SUMS; lane++) {
    below[lane] = factor > 0.0 ? factor * (below[lane] + step * sum[lane]) : 0.0;
    sum[lane] *= factor;
    state->distances[r][lane] *= factor;
  }
  state->ref[r] = largest;
  state->limit[r] = largest + ROWS_LEEWAY;
  state->moved[r] = !first;
}

static ROWS_TARGET inline vec logits_at(const float *s, const float *bias, size_t j) {
  return bias ? vec_add(vec_load(s + j), vec_load_reversed(bias - j - (LANES - 1))) : vec_load(s + j);
}

/* The reference of a row that has none yet, from its first tile. */
static ROWS_TARGET __attribute__((noinline)) void first_reference(const struct rows_state *state, size_t r,
                                                                  const float *s, size_t n, const float *bias) {
  vec top = vec_load(state->max[r]);
  for (size_t j = 0; j < n; j += LANES) {
    top = vec_max(top, logits_at(s, bias, j));
  }
  vec_store(state->max[r], top);
  if (vec_any_above(top, vec_set(-INFINITY))) {
    raise_reference(state, r);
  }
}

/* One row of a tile. What is constant in the caller (NULL or not, distance) makes its own copy. A tile with a logit far
 * above the reference, which is seldom, is begun again with a new one. */
static ROWS_TARGET inline __attribute__((always_inline)) void softmax_row(const struct rows_state *state, size_t r,
                                                                          const float *s, size_t n, const float *bias,
                                                                          float *e, bool distance, float first) {
  if (state->limit[r] == -INFINITY) {
    first_reference(state, r, s, n, bias);
  }
  float *recent = state->recent[r];
  vec top = vec_load(state->max[r]), sum, below, far;
  for (;;) {
    vec ref = vec_set(state->ref[r]), away = vec_sub(vec_set(first), vec_iota());
    sum = vec_load(recent);
    below = vec_load(recent + ROWS_VECTOR);
    far = vec_set(0.0f);
    ROWS_UNROLL
    for (size_t j = 0; j < n; j += LANES) {
      vec v = logits_at(s, bias, j);
      top = vec_max(top, v);
      vec t = vec_sub(v, ref);
      lanes heavy = vec_not_below(t, vec_set(ROWS_LOWEST));
      t = tamed(t, ROWS_LOWEST);
      vec x = exponential_of(t, heavy);
      if (e) {
        vec_store(e + j, x);
      }
      sum = vec_add(sum, x);
      below = vec_fma_in(heavy, x, t, below);
      if (distance) {
        far = vec_fma(x, vec_absolute(away), far);
        away = vec_sub(away, vec_set((float)LANES));
      }
    }
    if (__builtin_expect(!vec_any_above(top, vec_set(state->limit[r])), 1)) {
      break;
    }
    float before = state->limit[r];
    vec_store(state->max[r], top);
    raise_reference(state, r);
    if (!(state->limit[r] > before)) { /* a logit that is not a number hides the largest: no reference is high enough */
      break;
    }
  }
  vec_store(state->max[r], top);
  vec_store(recent, sum);
  vec_store(recent + ROWS_VECTOR, below);
  if (distance) {
    vec_add_sums(state->distances[r], far);
  }
}

static ROWS_TARGET inline __attribute__((always_inline)) void
softmax_rows(const struct rows_tile *tile, const struct rows_state *state, size_t first, size_t n, bool bias, bool keep,
             bool distance, const struct product_call *call) {
  struct beside beside = beside_start(call, tile->n_rows);
  for (size_t r = 0; r < tile->n_rows; r++) {
    softmax_row(state, first + r, tile->s + r * tile->s_stride, n, bias ? tile->bias + r : NULL,
                keep ? tile->e + r * tile->e_stride : NULL, distance, tile->distance_of_first + (float)r);
    if (keep) {
      tile->ref[r * tile->ref_stride] = state->ref[first + r];
    }
    beside_some(&beside);
  }
  beside_end(&beside);
}

/* Full tiles make up nearly all of the work: their loops are unrolled, for each combination of what is common. */
static ROWS_TARGET void softmax(const struct rows_tile *tile, const struct rows_state *state, size_t first,
                                const struct product_call *call) {
  bool bias = tile->bias, keep = tile->e;
  if (tile->n < ROWS_TILE || tile->distance) {
    softmax_rows(tile, state, first, tile->n, bias, keep, tile->distance, call);
  } else if (bias && keep) {
    softmax_rows(tile, state, first, ROWS_TILE, true, true, false, call);
  } else if (bias) {
    softmax_rows(tile, state, first, ROWS_TILE, true, false, false, call);
  } else if (keep) {
    softmax_rows(tile, state, first, ROWS_TILE, false, true, false, call);
  } else {
    softmax_rows(tile, state, first, ROWS_TILE, false, false, false, call);
  }
}

/* What would become lighter than exp(ROWS_LOWEST) becomes 0, as it would have been at once. */
static ROWS_TARGET void scale(float *e, size_t n, float factor) {
  const float lightest = 1.0811068e-30f; /* exp(ROWS_LOWEST) */
  vec least = vec_set(lightest / factor);
  for (size_t j = 0; j < n; j += LANES) {
    vec v = vec_load(e + j);
    vec_store(e + j, vec_keep(vec_not_below(v, least), vec_mul(vec_max(least, v), vec_set(factor))));
  }
}

/* Four vectors of distances at a time stay in registers while the rows go by. */
static ROWS_TARGET void add_diagonals(const float *e, size_t stride, size_t n_rows, const float *weight, double *sum,
                                      size_t n) {
  for (size_t x = 0; x < n; x += 4 * LANES) {
    vec a = vec_set(0.0f), b = a, c = a, d = a;
    const float *diagonal = e + x - (n_rows - 1);
    for (size_t r = 0; r < n_rows; r++) {
      vec w = vec_set(weight[r]);
      a = vec_fma(vec_load(diagonal), w, a);
      b = vec_fma(vec_load(diagonal + LANES), w, b);
      c = vec_fma(vec_load(diagonal + 2 * LANES), w, c);
      d = vec_fma(vec_load(diagonal + 3 * LANES), w, d);
      diagonal += stride + 1;
    }
    vec_add_to_each(sum + x, a);
    vec_add_to_each(sum + x + LANES, b);
    vec_add_to_each(sum + x + 2 * LANES, c);
    vec_add_to_each(sum + x + 3 * LANES, d);
  }
}
