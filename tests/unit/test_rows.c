/* The vector kernels of every instruction set that this machine runs: the exponential's error over the float range,
 * softmax and diagonal sums against plain float64 loops. `test_rows all` tries every float (minutes). */
#include "attention/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>

enum { VARIANTS = 4 };

static const struct rows_kernels *variant(size_t which) {
  return which == 0 ? rows_portable() : which == 1 ? rows_avx2() : which == 2 ? rows_avx512() : rows_tiles();
}

/* ---- exponential --------------------------------------------------------------------------------------------------
 */

/* Difference in units of the last place of the float32 nearest to the true value. Subnormal ones are to be 0. */
static double error_in_ulp(float got, double expected) {
  if (isnan(expected)) {
    return isnan(got) ? 0.0 : (double)INFINITY;
  }
  if (expected < 0x1p-126) {
    return got == 0.0f ? 0.0 : (double)INFINITY;
  }
  float nearest = (float)expected;
  if (nearest == got) {
    return isinf(got) ? 0.0 : fabs((double)got - expected) / (double)(nextafterf(nearest, INFINITY) - nearest);
  }
  if (isinf(nearest) || isinf(got)) {
    /* The largest float is one unit below the smallest value that rounds to infinity. */
    double finite = isinf(got) ? expected : (double)got;
    return finite < 0x1p128 * (1.0 - 0x1p-22) ? (double)INFINITY : (0x1p128 - finite) / 0x1p104;
  }
  double unit = ldexp(1.0, ilogbf(nearest) - 23);
  return fabs((double)got - expected) / unit;
}

enum { CHUNK = 4096 };

static void check_exponentials(const struct rows_kernels *kernels, uint64_t step) {
  double worst = 0.0;
  float x[CHUNK], y[CHUNK], worst_x = 0.0f;
  for (uint64_t word = 0; word <= UINT32_MAX;) {
    size_t n = 0;
    for (; n < CHUNK && word <= UINT32_MAX; n++, word += step) {
      uint32_t bits = (uint32_t)word;
      memcpy(&x[n], &bits, sizeof bits);
    }
    kernels->exponential(x, y, n);
    for (size_t i = 0; i < n; i++) {
      double error = error_in_ulp(y[i], exp((double)x[i]));
      if (error > worst) {
        worst = error;
        worst_x = x[i];
      }
    }
  }
  printf("%s: largest error of exp %.3f ulp at %a\n", kernels->name, worst, (double)worst_x);
  assert_true(worst <= 2.0);
}

/* State: the step through the floats' bit patterns; an odd one meets every exponent and both signs. */
static void exponential_over_the_float_range(void **state) {
  const uint64_t *step = *state;
  for (size_t which = 0; which < VARIANTS; which++) {
    if (variant(which)) {
      check_exponentials(variant(which), *step);
    }
  }
}

static void exponential_of_special_values(void **state) {
  (void)state;
  static const float x[] = {0.0f,      -0.0f, INFINITY, -INFINITY, NAN,    88.72283f,
                            88.72284f, 3e38f, -3e38f,   -103.9f,   -104.0f};
  for (size_t which = 0; which < VARIANTS; which++) {
    for (size_t n = 1; variant(which) && n <= sizeof x / sizeof x[0]; n++) {
      float y[sizeof x / sizeof x[0] + 1];
      y[n] = -7.0f;
      variant(which)->exponential(x, y, n);
      assert_true(y[n] == -7.0f);
      for (size_t i = 0; i < n; i++) {
        assert_true(error_in_ulp(y[i], exp((double)x[i])) <= 2.0);
      }
      assert_true(y[0] == 1.0f && (n < 2 || y[1] == 1.0f) && (n < 3 || isinf(y[2])) && (n < 4 || y[3] == 0.0f));
    }
  }
}

/* ---- softmax of rows in tiles -------------------------------------------------------------------------------------
 */

enum { ROWS = 5, TILES = 20, COLUMNS = TILES * ROWS_TILE, BIAS_MARGIN = COLUMNS };

struct softmax_case {
  _Alignas(64) float s[ROWS][COLUMNS], tile[ROWS][ROWS_TILE], e[ROWS][COLUMNS], ref[ROWS][TILES];
  _Alignas(64) float max[ROWS][ROWS_VECTOR], recent[ROWS][2 * ROWS_VECTOR];
  _Alignas(64) double sums[ROWS][2 * ROWS_SUMS], distances[ROWS][ROWS_SUMS];
  bool moved[ROWS];
  float now[ROWS], limit[ROWS], bias[BIAS_MARGIN + ROWS];
};

static struct rows_state state_of(struct softmax_case *c) {
  return (struct rows_state){.max = c->max,
                             .recent = c->recent,
                             .sums = c->sums,
                             .distances = c->distances,
                             .ref = c->now,
                             .limit = c->limit,
                             .moved = c->moved};
}

static double sum_of(const double lanes[ROWS_SUMS]) {
  double sum = 0.0;
  for (size_t lane = 0; lane < ROWS_SUMS; lane++) {
    sum += lanes[lane];
  }
  return sum;
}

/* e is off by the rounding of s - ref and by 2 ulp of exp; adding up the values of a run in float32 costs at
 * most 32 more roundings. */
static void check_row(const struct softmax_case *c, size_t r, size_t n_columns, bool bias) {
  const double unit = 0x1p-24;
  double max = -(double)INFINITY, sum = 0.0, below = 0.0, distance = 0.0, slack = 0.0, slack_below = 0.0;
  double ref = (double)c->now[r];
  for (size_t j = 0; j < n_columns; j++) {
    double s = (double)(c->s[r][j] + (bias ? c->bias[BIAS_MARGIN + r - j] : 0.0f));
    double ref_then = (double)c->ref[r][j / ROWS_TILE], e = exp(s - ref), far = fabs(100.0 + (double)r - (double)j);
    max = s > max ? s : max;
    if (e == 0.0) {
      continue;
    }
    double allowed = e * (fabs(s - ref_then) + 4.0) * unit;
    sum += e;
    below += e * (s - ref);
    distance += e * far;
    slack += allowed + 32.0 * e * unit;
    slack_below += (allowed + 32.0 * e * unit) * (1.0 + fabs(s - ref) + fabs(s - ref_then));
    double kept = (double)c->e[r][j] * exp(ref_then - ref);
    assert_true(fabs(kept - e) <= allowed + 1.1e-30); /* exp(ROWS_LOWEST) */
  }
  double got_max = -(double)INFINITY;
  for (size_t lane = 0; lane < ROWS_VECTOR; lane++) {
    got_max = (double)c->max[r][lane] > got_max ? (double)c->max[r][lane] : got_max;
  }
  assert_true(got_max == max);
  assert_true(max - ref <= (double)ROWS_LEEWAY && ref <= max);
  assert_true(fabs(sum_of(c->sums[r]) - sum) <= slack);
  assert_true(fabs(sum_of(c->sums[r] + ROWS_SUMS) - below) <= slack_below);
  assert_true(fabs(sum_of(c->distances[r]) - distance) <= slack * 1000.0);
}

/* Row 0: moderate logits. 1: rising by tens from tile to tile, so that the reference moves. 2: falling. 3: hidden keys
 * in between. 4: hidden at first, then far below zero. */
static float logit_of(size_t r, size_t j) {
  float wave = (float)((j * 37 + r * 11) % 101) * 0.05f - 2.5f, tile = (float)(j / ROWS_TILE);
  switch (r) {
  case 1:
    return wave + 30.0f * tile;
  case 2:
    return wave - 30.0f * tile;
  case 3:
    return j % 3 == 0 ? -INFINITY : wave * 8.0f;
  case 4:
    return tile < 2.0f ? -INFINITY : wave - 300.0f;
  default:
    return wave;
  }
}

static void softmax_of_tiles(void **state) {
  (void)state;
  static struct softmax_case c;
  for (size_t at = 0; at < BIAS_MARGIN + ROWS; at++) {
    c.bias[at] = (float)(at % 29) * 0.125f - 1.0f;
  }
  for (size_t round = 0; round < VARIANTS * 2 * 2; round++) {
    const struct rows_kernels *kernels = variant(round % VARIANTS);
    bool bias = round / VARIANTS % 2 == 1;
    struct rows_state rows = state_of(&c);
    rows_state_reset(&rows, ROWS);
    size_t n_columns = round < 2 * VARIANTS ? COLUMNS : COLUMNS - 48; /* the last tile may be narrower */
    for (size_t r = 0; kernels && r < ROWS; r++) {
      for (size_t j = 0; j < COLUMNS; j++) {
        c.s[r][j] = logit_of(r, j);
      }
    }
    for (size_t column = 0; kernels && column < n_columns; column += ROWS_TILE) {
      for (size_t r = 0; r < ROWS; r++) {
        memcpy(c.tile[r], &c.s[r][column], sizeof c.tile[r]);
      }
      struct rows_tile tile = {.s = c.tile[0],
                               .s_stride = ROWS_TILE,
                               .n_rows = ROWS,
                               .n = n_columns - column < ROWS_TILE ? n_columns - column : ROWS_TILE,
                               .bias = bias ? &c.bias[BIAS_MARGIN - column] : NULL,
                               .e = &c.e[0][column],
                               .e_stride = COLUMNS,
                               .ref = &c.ref[0][column / ROWS_TILE],
                               .ref_stride = TILES,
                               .distance = true,
                               .distance_of_first = 100.0f - (float)column};
      kernels->softmax(&tile, &rows, 0, NULL);
      if ((column / ROWS_TILE + 1) % kernels->run == 0 || column + ROWS_TILE >= n_columns) {
        kernels->flush(&rows, ROWS);
      }
    }
    for (size_t r = 0; kernels && r < ROWS; r++) {
      check_row(&c, r, n_columns, bias);
    }
  }
}

/* What is kept beside it, and where, does not change a sum; nor does it matter which row of the state a tile's first
 * is. */
static void softmax_variants_agree(void **state) {
  (void)state;
  static struct softmax_case all, few, by_row;
  for (size_t which = 0; which < VARIANTS; which++) {
    if (!variant(which)) {
      continue;
    }
    struct rows_state rows[] = {state_of(&all), state_of(&few), state_of(&by_row)};
    for (size_t i = 0; i < 3; i++) {
      rows_state_reset(&rows[i], ROWS);
    }
    for (size_t at = 0; at < ROWS * ROWS_TILE; at++) {
      size_t r = at / ROWS_TILE, j = at % ROWS_TILE;
      all.tile[r][j] = few.tile[r][j] = by_row.tile[r][j] = logit_of(r, j);
    }
    struct rows_tile tile = {.s = all.tile[0],
                             .s_stride = ROWS_TILE,
                             .n_rows = ROWS,
                             .n = ROWS_TILE,
                             .e = all.e[0],
                             .e_stride = COLUMNS,
                             .ref = all.ref[0],
                             .ref_stride = TILES,
                             .distance = true};
    variant(which)->softmax(&tile, &rows[0], 0, NULL);
    tile = (struct rows_tile){.s = few.tile[0], .s_stride = ROWS_TILE, .n_rows = ROWS, .n = ROWS_TILE};
    variant(which)->softmax(&tile, &rows[1], 0, NULL);
    tile = (struct rows_tile){.s_stride = ROWS_TILE, .n = ROWS_TILE, .e_stride = COLUMNS, .ref_stride = TILES};
    for (size_t r = 0; r < ROWS; r++) {
      tile.n_rows = 1;
      tile.s = by_row.tile[r];
      tile.e = by_row.e[r];
      tile.ref = by_row.ref[r];
      variant(which)->softmax(&tile, &rows[2], r, NULL);
    }
    for (size_t i = 0; i < 3; i++) {
      variant(which)->flush(&rows[i], ROWS);
    }
    assert_memory_equal(all.sums, few.sums, sizeof all.sums);
    assert_memory_equal(all.sums, by_row.sums, sizeof all.sums);
    assert_memory_equal(all.max, few.max, sizeof all.max);
    assert_memory_equal(all.max, by_row.max, sizeof all.max);
    assert_memory_equal(all.e, by_row.e, sizeof all.e);
  }
}

/* Small weights become 0 and not subnormal; the others are scaled and rounded once. */
static void weights_are_scaled(void **state) {
  (void)state;
  static const float factors[] = {1.0f, 0.5f, 0.3f, 1e-20f, 1e-38f, 1e-45f, 0.0f};
  for (size_t round = 0; round < VARIANTS * sizeof factors / sizeof factors[0]; round++) {
    const struct rows_kernels *kernels = variant(round % VARIANTS);
    float factor = factors[round / VARIANTS], e[ROWS_TILE], was[ROWS_TILE];
    for (size_t j = 0; j < ROWS_TILE; j++) {
      e[j] = was[j] = j % 7 == 0 ? 0.0f : expf(4.0f - 0.55f * (float)j);
    }
    if (kernels) {
      kernels->scale(e, ROWS_TILE, factor);
    }
    for (size_t j = 0; kernels && j < ROWS_TILE; j++) {
      double exact = (double)was[j] * (double)factor, least = exp((double)ROWS_LOWEST);
      bool right = e[j] == (float)exact && exact >= least * (1.0 - 1e-6);
      assert_true(right || (e[j] == 0.0f && exact <= least * (1.0 + 1e-6)));
    }
  }
}

/* ---- sums along diagonals -----------------------------------------------------------------------------------------
 */

static void diagonals_are_summed(void **state) {
  (void)state;
  enum { N = 176, STRIDE = N + ROWS_MARGIN, MANY = 7 };
  static float memory[(MANY + 1) * STRIDE];
  static double sum[N + MANY + ROWS_EXCESS];
  float *e = memory + ROWS_MARGIN;
  const float weight[MANY] = {1.0f, 0.5f, 0.25f, 0.0f, 2.0f, 1.0f, 4.0f};
  for (size_t r = 0; r < MANY; r++) {
    for (size_t j = 0; j < N; j++) {
      e[r * STRIDE + j] = (float)((r * 31 + j * 17) % 64); /* sums are exact */
    }
  }
  for (size_t which = 0; which < VARIANTS; which++) {
    for (size_t n = 1; variant(which) && n <= N + MANY - 1; n++) {
      memset(sum, 0, sizeof sum);
      variant(which)->add_diagonals(e, STRIDE, MANY, weight, sum, n);
      for (size_t x = 0; x < n; x++) {
        double expected = 0.0;
        for (size_t r = 0; r < MANY; r++) {
          size_t column = x + r; /* + MANY - 1 */
          bool inside = column >= MANY - 1 && column - (MANY - 1) < N;
          expected += inside ? (double)weight[r] * (double)e[r * STRIDE + column - (MANY - 1)] : 0.0;
        }
        assert_true(sum[x] == expected);
      }
    }
  }
}

/* A product that is made beside a softmax of more, as many or fewer rows is the one that is made by itself, and the
 * softmax is the same. */
static void product_beside_a_softmax(void **state) {
  (void)state;
  const struct rows_kernels *kernels = rows_tiles();
  const struct product_method *method = product_split();
  if (!kernels) {
    skip();
  }
  enum { WIDTH = 40, KEYS = 2 * PRODUCT_PANEL };
  static float x[KEYS * WIDTH];
  static _Alignas(64) unsigned char panels[1 << 16], q[1 << 14];
  static _Alignas(64) float alone[PRODUCT_ROWS][KEYS], beside[PRODUCT_ROWS][KEYS];
  for (size_t at = 0; at < KEYS * WIDTH; at++) {
    x[at] = logit_of(at / WIDTH, at % WIDTH + 1);
    x[at] = isinf(x[at]) ? 0.5f : x[at];
  }
  assert_true(2 * method->panel_bytes(WIDTH) <= sizeof panels && method->query_bytes(PRODUCT_ROWS, WIDTH) <= sizeof q);
  assert_true(method->pack_keys(x, PRODUCT_PANEL, WIDTH, panels));
  assert_true(method->pack_keys(x + PRODUCT_PANEL * WIDTH, PRODUCT_PANEL, WIDTH, panels + method->panel_bytes(WIDTH)));
  assert_true(method->pack_queries(x, PRODUCT_ROWS, WIDTH, 0.25f, q));
  const struct product product = method->of_shape(WIDTH, PRODUCT_ROWS, KEYS, KEYS);
  method->begin();
  product_run(&product, panels, q, alone[0]);
  static struct softmax_case with, without;
  for (size_t n_rows = 1; n_rows <= ROWS; n_rows++) {
    struct rows_state rows[] = {state_of(&with), state_of(&without)};
    memset(beside, 0, sizeof beside);
    for (size_t i = 0; i < 2; i++) {
      struct softmax_case *c = i ? &without : &with;
      rows_state_reset(&rows[i], ROWS);
      for (size_t at = 0; at < ROWS * ROWS_TILE; at++) {
        c->tile[at / ROWS_TILE][at % ROWS_TILE] = logit_of(at / ROWS_TILE, at % ROWS_TILE);
      }
      struct rows_tile tile = {.s = c->tile[0], .s_stride = ROWS_TILE, .n_rows = n_rows, .n = ROWS_TILE};
      const struct product_call call = {&product, panels, q, beside[0]};
      kernels->softmax(&tile, &rows[i], 0, i ? NULL : &call);
      kernels->flush(&rows[i], n_rows);
    }
    assert_memory_equal(with.sums, without.sums, n_rows * sizeof with.sums[0]);
    assert_memory_equal(alone, beside, sizeof alone);
  }
  method->end();
}

int main(int argc, char **argv) {
  uint64_t step = argc == 2 && strcmp(argv[1], "all") == 0 ? 1 : 61;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(exponential_over_the_float_range, &step),
      cmocka_unit_test(exponential_of_special_values),
      cmocka_unit_test(softmax_of_tiles),
      cmocka_unit_test(softmax_variants_agree),
      cmocka_unit_test(product_beside_a_softmax),
      cmocka_unit_test(weights_are_scaled),
      cmocka_unit_test(diagonals_are_summed),
  };
  return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
