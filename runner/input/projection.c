#include "input/projection.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums in single precision lose bits with their length; short sums added up lose fewer. */
enum { SUM_BLOCK = 64, PANEL = PROJECTION_PANEL };

/* Sixteen lanes: one AVX-512 register, two of AVX, four of SSE. Lanes never mix, so the width does not change bits. */
typedef float lanes __attribute__((vector_size(PANEL * sizeof(float)), aligned(4), may_alias));

int projection_init(struct projection *projection, const float *w, const float *bias, size_t d_in, size_t d_out,
                    struct error *err) {
  size_t n_panels = (d_out + PANEL - 1) / PANEL;
  *projection = (struct projection){.d_in = d_in, .d_out = d_out};
  projection->panels = memory_new_3d(n_panels, d_in, PANEL, sizeof(float), "projection", err);
  projection->bias = memory_new(n_panels * PANEL, sizeof(float), "bias of a projection", err);
  if (!projection->panels || !projection->bias) {
    projection_destroy(projection);
    return err->code;
  }
  for (size_t column = 0; column < d_out; column++) {
    float *panel = projection->panels + column / PANEL * d_in * PANEL + column % PANEL;
    for (size_t row = 0; row < d_in; row++) {
      panel[row * PANEL] = w[row * d_out + column];
    }
    projection->bias[column] = bias ? bias[column] : 0;
  }
  return 0;
}

void projection_destroy(struct projection *projection) {
  free(projection->panels);
  free(projection->bias);
  *projection = (struct projection){0};
}

/* out [rows][16] = y [rows][d] panel [d][16] + bias [16]. `rows` is a constant where this is inlined. */
__attribute__((always_inline)) static inline void multiply(const float *y, const float *panel, const float *bias,
                                                           size_t d, size_t rows, float *out) {
  lanes total[8], part[8];
  for (size_t row = 0; row < rows; row++) {
    total[row] = (lanes){0};
  }
  for (size_t block = 0; block < d; block += SUM_BLOCK) {
    size_t end = d - block < SUM_BLOCK ? d : block + SUM_BLOCK;
    for (size_t row = 0; row < rows; row++) {
      part[row] = (lanes){0};
    }
    for (size_t j = block; j < end; j++) {
      lanes w = *(const lanes *)(panel + j * PANEL);
      for (size_t row = 0; row < rows; row++) {
        part[row] += y[row * d + j] * w;
      }
    }
    for (size_t row = 0; row < rows; row++) {
      total[row] += part[row];
    }
  }
  for (size_t row = 0; row < rows; row++) {
    *(lanes *)(out + row * PANEL) = total[row] + *(const lanes *)bias;
  }
}

/* What takes `rows` rows at once. */
struct kernel {
  size_t rows;
  void (*multiply)(const float *y, const float *panel, const float *bias, size_t d, float *out);
};

#define KERNEL(name, count, attribute)                                                                                 \
  attribute static void name(const float *y, const float *panel, const float *bias, size_t d, float *out) {            \
    multiply(y, panel, bias, d, count, out);                                                                           \
  }

KERNEL(one_row, 1, )
KERNEL(two_rows, 2, )
#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f")))
KERNEL(one_row_avx2, 1, AVX2)
KERNEL(two_rows_avx2, 2, AVX2)
KERNEL(four_rows_avx2, 4, AVX2)
KERNEL(one_row_avx512, 1, AVX512)
KERNEL(two_rows_avx512, 2, AVX512)
KERNEL(four_rows_avx512, 4, AVX512)
KERNEL(eight_rows_avx512, 8, AVX512)
#endif

/* The kernels of this processor's widest registers, those of most rows first; the last takes one. */
static const struct kernel *choose_kernels(void) {
  static const struct kernel portable[] = {{2, two_rows}, {1, one_row}};
#if defined(__x86_64__)
  static const struct kernel avx2[] = {{4, four_rows_avx2}, {2, two_rows_avx2}, {1, one_row_avx2}};
  static const struct kernel avx512[] = {
      {8, eight_rows_avx512}, {4, four_rows_avx512}, {2, two_rows_avx512}, {1, one_row_avx512}};
  if (__builtin_cpu_supports("avx512f")) {
    return avx512;
  }
  if (__builtin_cpu_supports("avx2")) {
    return avx2;
  }
#endif
  return portable;
}

/* The columns of a tile lie in one head after the other: each head's share of a row is one piece. */
static void scatter(const float *tile, size_t rows, size_t first_row, size_t first_column, size_t columns,
                    size_t head_dim, size_t head_stride, float *out) {
  for (size_t c = 0; c < columns;) {
    size_t column = first_column + c, in_head = column % head_dim, piece = head_dim - in_head;
    piece = piece < columns - c ? piece : columns - c;
    float *to = out + column / head_dim * head_stride + first_row * head_dim + in_head;
    for (size_t row = 0; row < rows; row++) {
      memcpy(to + row * head_dim, tile + row * PANEL + c, piece * sizeof *to);
    }
    c += piece;
  }
}

void projection_rows(const struct projection *projection, const float *y, size_t n, size_t head_dim, size_t head_stride,
                     float *out) {
  size_t d = projection->d_in, d_out = projection->d_out;
  float tile[8 * PANEL];
  for (size_t column = 0; column < d_out; column += PANEL) {
    const float *panel = projection->panels + column * d, *bias = projection->bias + column;
    size_t columns = d_out - column < PANEL ? d_out - column : PANEL;
    const struct kernel *kernel = choose_kernels();
    for (size_t row = 0; row < n; row += kernel->rows) {
      while (kernel->rows > n - row) {
        kernel++;
      }
      kernel->multiply(y + row * d, panel, bias, d, tile);
      scatter(tile, kernel->rows, row, column, columns, head_dim, head_stride, out);
    }
  }
}

/* Rows of a layer norm that are worked on side by side: their sums, each a chain of additions, overlap. */
enum { NORM_ROWS = 4 };

/* Mean and inverse deviation of NORM_ROWS rows [d]. */
__attribute__((always_inline)) static inline void row_moments(const float *const rows[NORM_ROWS], size_t d,
                                                              double epsilon, double mean[NORM_ROWS],
                                                              double inverse[NORM_ROWS]) {
  double sum[NORM_ROWS] = {0}, squares[NORM_ROWS] = {0};
  for (size_t i = 0; i < d; i++) {
    for (size_t row = 0; row < NORM_ROWS; row++) {
      sum[row] += (double)rows[row][i];
    }
  }
  for (size_t row = 0; row < NORM_ROWS; row++) {
    mean[row] = sum[row] / (double)d;
  }
  for (size_t i = 0; i < d; i++) {
    for (size_t row = 0; row < NORM_ROWS; row++) {
      double deviation = (double)rows[row][i] - mean[row];
      squares[row] += deviation * deviation;
    }
  }
  for (size_t row = 0; row < NORM_ROWS; row++) {
    inverse[row] = 1 / sqrt(squares[row] / (double)d + epsilon);
  }
}

/* What layer_norm_rows is asked for. */
struct norm {
  const float *x;
  size_t n, d;
  const float *scale, *bias;
  double epsilon;
  float *out;
};

__attribute__((always_inline)) static inline void normalise(const struct norm *norm) {
  size_t d = norm->d;
  const float *scale = norm->scale, *bias = norm->bias;
  for (size_t first = 0; first < norm->n; first += NORM_ROWS) {
    size_t count = norm->n - first < NORM_ROWS ? norm->n - first : NORM_ROWS;
    const float *rows[NORM_ROWS];
    double means[NORM_ROWS], inverses[NORM_ROWS];
    for (size_t row = 0; row < NORM_ROWS; row++) {
      rows[row] = norm->x + (first + (row < count ? row : 0)) * d; /* places that are left over repeat the first row */
    }
    row_moments(rows, d, norm->epsilon, means, inverses);
    for (size_t row = 0; row < count; row++) {
      const float *from = rows[row];
      float *to = norm->out + (first + row) * d;
      double mean = means[row], inverse = inverses[row];
      for (size_t i = 0; i < d; i++) {
        to[i] = (float)(((double)from[i] - mean) * inverse * (double)scale[i] + (double)bias[i]);
      }
    }
  }
}

static void normalise_portable(const struct norm *norm) {
  normalise(norm);
}

#if defined(__x86_64__)
AVX2 static void normalise_avx2(const struct norm *norm) {
  normalise(norm);
}

AVX512 static void normalise_avx512(const struct norm *norm) {
  normalise(norm);
}
#endif

void layer_norm_rows(const float *x, size_t n, size_t d, const float *scale, const float *bias, double epsilon,
                     float *out) {
  const struct norm norm = {x, n, d, scale, bias, epsilon, out};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    normalise_avx512(&norm);
    return;
  }
  if (__builtin_cpu_supports("avx2")) {
    normalise_avx2(&norm);
    return;
  }
#endif
  normalise_portable(&norm);
}
