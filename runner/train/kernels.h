/* The element-wise work of the decoder, forward and backward, and of its optimiser: plain loops, compiled once per
 * instruction set and chosen at run time. Sums run in 16 fixed lanes, so every set gives the same bits (but for the
 * exponential behind GELU and softmax, which is attention/rows.h's). All are [any].
 */
#ifndef PE_TRAIN_KERNELS_H
#define PE_TRAIN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* One step of AdamW on a range of a block (Loshchilov and Hutter 2019, as torch.optim.AdamW has it). */
struct adamw_step {
  float gradient_factor; /* clipping */
  float decay_factor;    /* 1 - learning rate * weight decay; 1 where nothing decays */
  float beta1, beta2;
  float step_size;         /* learning rate / (1 - beta1^t) */
  float inverse_root_bias; /* 1 / sqrt(1 - beta2^t) */
  float epsilon;
};

struct train_kernels {
  /* x, y, normal [rows][d], inverse [rows]: normal = (x - mean) * inverse, inverse = 1 / sqrt(variance + epsilon),
   * variance divides by d; y = normal * scale + bias. normal and inverse may be NULL. */
  void (*norm)(size_t rows, size_t d, float epsilon, const float *x, const float *scale, const float *bias, float *y,
               float *normal, float *inverse);
  /* dx [rows][d] += d loss / d x for dy = d loss / d y. */
  void (*norm_backward)(size_t rows, size_t d, const float *scale, const float *normal, const float *inverse,
                        const float *dy, float *dx);
  /* gelu: x [n] -> y [n] = gelu(x), slope [n] = gelu'(x); slope may be NULL, y may be x. */
  void (*gelu_tanh)(size_t n, const float *x, float *y, float *slope);
  /* y [n] *= x */
  void (*multiply)(size_t n, const float *x, float *y);
  /* y [n] += x */
  void (*add)(size_t n, const float *x, float *y);
  /* y [n] += factor * x */
  void (*add_scaled)(size_t n, float factor, const float *x, float *y);
  /* s [n] = softmax(s + bias); bias may be NULL. n >= 1. */
  void (*softmax)(size_t n, const float *bias, float *s);
  /* ds [n] = a * (ds - sum(ds * a)): what comes in is d loss / d a. */
  void (*softmax_backward)(size_t n, const float *a, float *ds);
  /* logits [n] -> d loss / d logits = factor * (softmax(logits) - [target]); returns -ln softmax(logits)[target]. */
  double (*cross_entropy)(size_t n, size_t target, float factor, float *logits);
  /* sum [d] = column sums of x [rows][stride]; with `by`, of x * by. */
  void (*column_sums)(size_t rows, size_t d, size_t stride, const float *x, const float *by, float *sum);
  /* to [columns][to_stride] = factor * the transposed from [rows][from_stride]. */
  void (*transpose)(size_t rows, size_t columns, float factor, const float *from, size_t from_stride, float *to,
                    size_t to_stride);
  /* y [n] = own * x + other * x[partner]; and the transposed map. */
  void (*turn)(size_t n, const float *own, const float *other, const uint32_t *partner, const float *x, float *y);
  void (*turn_back)(size_t n, const float *own, const float *other, const uint32_t *partner, const float *x, float *y);
  /* Sum of squares in double. */
  double (*square_sum)(size_t n, const float *x);
  void (*adamw)(size_t n, const struct adamw_step *step, const float *gradient, float *first, float *second,
                float *parameters);
};

/* The best of those compiled in that this machine can run. */
const struct train_kernels *train_kernels(void);

extern const struct train_kernels train_kernels_portable;
#if defined(__x86_64__)
extern const struct train_kernels train_kernels_avx2, train_kernels_avx512;
#endif

/* y [n] = gelu(x) with the error function, slope as above: libm's erf, never fast. */
void gelu_erf(size_t n, const float *x, float *y, float *slope);

#endif
