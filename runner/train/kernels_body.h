/* The loops of kernels.h. No header guard: kernels_portable.c and its brothers include it once each, with
 *
 *     TARGET           the attribute that allows an instruction set
 *     TABLE            name of the table that is defined
 *
 * Nothing here is written for one instruction set; compilers make vectors of it. A reduction is written in LANES
 * partial sums, since no compiler may reorder one.
 */
#include "attention/rows.h"
#include "train/kernels.h"

#include <math.h>

enum { LANES = 16, CHUNK = 256 };

static TARGET float lanes_sum(const float *lane) {
  float half[LANES / 2];
  for (size_t i = 0; i < LANES / 2; i++) {
    half[i] = lane[i] + lane[i + LANES / 2];
  }
  return ((half[0] + half[4]) + (half[1] + half[5])) + ((half[2] + half[6]) + (half[3] + half[7]));
}

static TARGET float sum(size_t n, const float *x) {
  float lane[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (size_t l = 0; l < LANES; l++) {
      lane[l] += x[i + l];
    }
  }
  for (size_t l = 0; i + l < n; l++) {
    lane[l] += x[i + l];
  }
  return lanes_sum(lane);
}

static TARGET float dot(size_t n, const float *x, const float *y) {
  float lane[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (size_t l = 0; l < LANES; l++) {
      lane[l] += x[i + l] * y[i + l];
    }
  }
  for (size_t l = 0; i + l < n; l++) {
    lane[l] += x[i + l] * y[i + l];
  }
  return lanes_sum(lane);
}

static TARGET float largest(size_t n, const float *x) {
  float lane[LANES];
  for (size_t l = 0; l < LANES; l++) {
    lane[l] = -INFINITY;
  }
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (size_t l = 0; l < LANES; l++) {
      lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    }
  }
  for (size_t l = 0; i + l < n; l++) {
    lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
  }
  for (size_t l = 1; l < LANES; l++) {
    lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
  }
  return lane[0];
}

/* ---- layer norm ---- */

static TARGET void norm(size_t rows, size_t d, float epsilon, const float *x, const float *scale, const float *bias,
                        float *y, float *normal, float *inverse) {
  for (size_t r = 0; r < rows; r++) {
    const float *restrict in = x + r * d;
    float *restrict out = y + r * d;
    float mean = sum(d, in) / (float)d;
    for (size_t i = 0; i < d; i++) {
      out[i] = in[i] - mean;
    }
    float factor = 1.0f / sqrtf(dot(d, out, out) / (float)d + epsilon);
    if (normal) {
      float *restrict keep = normal + r * d;
      inverse[r] = factor;
      for (size_t i = 0; i < d; i++) {
        keep[i] = out[i] * factor;
        out[i] = keep[i] * scale[i] + bias[i];
      }
    } else {
      for (size_t i = 0; i < d; i++) {
        out[i] = out[i] * factor * scale[i] + bias[i];
      }
    }
  }
}

/* With g = dy * scale: dx = inverse * (g - mean(g) - normal * mean(g * normal)). */
static TARGET void norm_backward(size_t rows, size_t d, const float *scale, const float *normal, const float *inverse,
                                 const float *dy, float *dx) {
  for (size_t r = 0; r < rows; r++) {
    const float *restrict n = normal + r * d;
    const float *restrict in = dy + r * d;
    float *restrict out = dx + r * d;
    float mean = dot(d, in, scale) / (float)d;
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= d; i += LANES) {
      for (size_t l = 0; l < LANES; l++) {
        lane[l] += in[i + l] * scale[i + l] * n[i + l];
      }
    }
    for (size_t l = 0; i + l < d; l++) {
      lane[l] += in[i + l] * scale[i + l] * n[i + l];
    }
    float along = lanes_sum(lane) / (float)d;
    for (i = 0; i < d; i++) {
      out[i] += inverse[r] * (in[i] * scale[i] - mean - n[i] * along);
    }
  }
}

/* ---- GELU ---- */

/* tanh(u) = 1 - 2 / (1 + exp(2 u)). */
static TARGET void gelu_tanh(size_t n, const float *x, float *y, float *slope) {
  const float root = 0.7978845608028654f, cube = 0.044715f; /* sqrt(2 / pi) */
  const struct rows_kernels *rows = rows_best();
  float e[CHUNK];
  for (size_t start = 0; start < n; start += CHUNK) {
    size_t count = n - start < CHUNK ? n - start : CHUNK;
    const float *in = x + start;
    float *out = y + start;
    for (size_t i = 0; i < count; i++) {
      float v = in[i];
      e[i] = 2.0f * root * (v + cube * v * v * v);
    }
    rows->exponential(e, e, count);
    if (slope) {
      float *restrict g = slope + start;
      for (size_t i = 0; i < count; i++) {
        float v = in[i], t = 1.0f - 2.0f / (1.0f + e[i]);
        g[i] = 0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * root * (1.0f + 3.0f * cube * v * v);
        e[i] = 0.5f * v * (1.0f + t);
      }
      for (size_t i = 0; i < count; i++) {
        out[i] = e[i];
      }
    } else {
      for (size_t i = 0; i < count; i++) {
        out[i] = 0.5f * in[i] * (2.0f - 2.0f / (1.0f + e[i]));
      }
    }
  }
}

/* ---- small ones ---- */

static TARGET void multiply(size_t n, const float *restrict x, float *restrict y) {
  for (size_t i = 0; i < n; i++) {
    y[i] *= x[i];
  }
}

static TARGET void add(size_t n, const float *restrict x, float *restrict y) {
  for (size_t i = 0; i < n; i++) {
    y[i] += x[i];
  }
}

static TARGET void add_scaled(size_t n, float factor, const float *restrict x, float *restrict y) {
  for (size_t i = 0; i < n; i++) {
    y[i] += factor * x[i];
  }
}

/* Columns in groups whose sums fit the registers. */
static TARGET void column_sums(size_t rows, size_t d, size_t stride, const float *restrict x, const float *restrict by,
                               float *restrict out) {
  enum { GROUP = 4 * LANES };
  for (size_t column = 0; column < d; column += GROUP) {
    size_t count = d - column < GROUP ? d - column : GROUP;
    float lane[GROUP] = {0};
    for (size_t r = 0; r < rows; r++) {
      const float *in = x + r * stride + column, *factor = by ? by + r * stride + column : NULL;
      if (count < GROUP) {
        for (size_t l = 0; l < count; l++) {
          lane[l] += factor ? in[l] * factor[l] : in[l];
        }
      } else if (factor) {
        for (size_t l = 0; l < GROUP; l++) {
          lane[l] += in[l] * factor[l];
        }
      } else {
        for (size_t l = 0; l < GROUP; l++) {
          lane[l] += in[l];
        }
      }
    }
    for (size_t l = 0; l < count; l++) {
      out[column + l] = lane[l];
    }
  }
}

static TARGET void turn(size_t n, const float *restrict own, const float *restrict other,
                        const uint32_t *restrict partner, const float *restrict x, float *restrict y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = own[i] * x[i] + other[i] * x[partner[i]];
  }
}

static TARGET void turn_back(size_t n, const float *restrict own, const float *restrict other,
                             const uint32_t *restrict partner, const float *restrict x, float *restrict y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = own[i] * x[i] + other[partner[i]] * x[partner[i]];
  }
}

/* Square tiles, whose rows come and go as whole cache lines. */
static TARGET void transpose(size_t rows, size_t columns, float factor, const float *from, size_t from_stride,
                             float *to, size_t to_stride) {
  float tile[LANES][LANES];
  for (size_t row = 0; row < rows; row += LANES) {
    for (size_t column = 0; column < columns; column += LANES) {
      size_t height = rows - row < LANES ? rows - row : LANES,
             width = columns - column < LANES ? columns - column : LANES;
      const float *in = from + row * from_stride + column;
      float *out = to + column * to_stride + row;
      if (height < LANES || width < LANES) {
        for (size_t r = 0; r < height; r++) {
          for (size_t c = 0; c < width; c++) {
            out[c * to_stride + r] = factor * in[r * from_stride + c];
          }
        }
        continue;
      }
      for (size_t r = 0; r < LANES; r++) {
        for (size_t c = 0; c < LANES; c++) {
          tile[r][c] = factor * in[r * from_stride + c];
        }
      }
      for (size_t c = 0; c < LANES; c++) {
        for (size_t r = 0; r < LANES; r++) {
          out[c * to_stride + r] = tile[r][c];
        }
      }
    }
  }
}

/* ---- softmax ---- */

/* s = exp(s - max); returns the sum. */
static TARGET float exponentials(size_t n, float *s, float *max) {
  *max = largest(n, s);
  for (size_t i = 0; i < n; i++) {
    s[i] -= *max;
  }
  rows_best()->exponential(s, s, n);
  return sum(n, s);
}

static TARGET void softmax(size_t n, const float *bias, float *s) {
  if (bias) {
    add(n, bias, s);
  }
  float max, factor = 1.0f / exponentials(n, s, &max);
  for (size_t i = 0; i < n; i++) {
    s[i] *= factor;
  }
}

static TARGET void softmax_backward(size_t n, const float *restrict a, float *restrict ds) {
  float mean = dot(n, a, ds);
  for (size_t i = 0; i < n; i++) {
    ds[i] = a[i] * (ds[i] - mean);
  }
}

static TARGET double cross_entropy(size_t n, size_t target, float factor, float *logits) {
  double at_target = (double)logits[target];
  float max, total = exponentials(n, logits, &max), each = factor / total;
  for (size_t i = 0; i < n; i++) {
    logits[i] *= each;
  }
  logits[target] -= factor;
  return (double)max + log((double)total) - at_target;
}

/* ---- optimiser ---- */

static TARGET double square_sum(size_t n, const float *x) {
  double lane[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (size_t l = 0; l < LANES; l++) {
      lane[l] += (double)x[i + l] * (double)x[i + l];
    }
  }
  for (size_t l = 0; i + l < n; l++) {
    lane[l] += (double)x[i + l] * (double)x[i + l];
  }
  double total = 0;
  for (size_t l = 0; l < LANES; l++) {
    total += lane[l];
  }
  return total;
}

static TARGET void adamw(size_t n, const struct adamw_step *step, const float *restrict gradient, float *restrict first,
                         float *restrict second, float *restrict parameters) {
  const struct adamw_step s = *step;
  for (size_t i = 0; i < n; i++) {
    float g = gradient[i] * s.gradient_factor;
    first[i] = s.beta1 * first[i] + (1.0f - s.beta1) * g;
    second[i] = s.beta2 * second[i] + (1.0f - s.beta2) * g * g;
    parameters[i] = parameters[i] * s.decay_factor -
                    s.step_size * (first[i] / (sqrtf(second[i]) * s.inverse_root_bias + s.epsilon));
  }
}

const struct train_kernels TABLE = {.norm = norm,
                                    .norm_backward = norm_backward,
                                    .gelu_tanh = gelu_tanh,
                                    .multiply = multiply,
                                    .add = add,
                                    .add_scaled = add_scaled,
                                    .softmax = softmax,
                                    .softmax_backward = softmax_backward,
                                    .cross_entropy = cross_entropy,
                                    .column_sums = column_sums,
                                    .transpose = transpose,
                                    .turn = turn,
                                    .turn_back = turn_back,
                                    .square_sum = square_sum,
                                    .adamw = adamw};
