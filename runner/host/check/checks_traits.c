/* Checks that a scheme keeps what its traits promise. */
#include "host/check/compute.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trait.relative ---- */

/* The largest of a few shifts that keeps the sequence inside the domain. */
static bool can_shift(const struct subject *subject, double shift) {
  double least = INFINITY, most = -INFINITY;
  for (size_t i = 0; i < subject->n * subject->axes; i++) {
    least = fmin(least, subject->pos[i]);
    most = fmax(most, subject->pos[i]);
  }
  return least + shift >= subject->domain.min && most + shift <= subject->domain.max;
}

static double dot(const float *a, const float *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += (double)a[i] * (double)b[i];
  }
  return sum;
}

/* Scores before and after a shift: equal up to the rounding of float rows. */
static void compare_scores(struct subject *subject, const struct outputs *a, const struct outputs *b, double shift) {
  size_t n = a->n, width = a->width, group = a->n_heads / a->n_kv_heads;
  for (size_t h = 0; a->query && h < a->n_heads; h++) {
    for (size_t i = 0; i < n * n; i++) {
      size_t m = i / n, k = i % n;
      const float *qa = a->query + (h * n + m) * width, *ka = a->key + (h / group * n + k) * width;
      const float *qb = b->query + (h * n + m) * width, *kb = b->key + (h / group * n + k) * width;
      double first = dot(qa, ka, width), second = dot(qb, kb, width);
      double size = sqrt(dot(qa, qa, width) * dot(ka, ka, width)) + sqrt(dot(qb, qb, width) * dot(kb, kb, width));
      if (!(fabs(first - second) <= 4e-6 * size)) {
        check_fail(subject->run,
                   "head %zu, query position %.17g, key position %.17g: the score is %.9g, shifted by %g it is %.9g; "
                   "rounding explains %.2g",
                   h, subject->pos[m * subject->axes], subject->pos[k * subject->axes], first, shift, second,
                   4e-6 * size);
        return;
      }
    }
  }
}

static void compare_bias(struct subject *subject, const struct outputs *a, const struct outputs *b, double shift) {
  size_t n = a->n;
  for (size_t i = 0; a->bias && i < a->n_heads * n * n; i++) {
    if (memcmp(&a->bias[i], &b->bias[i], sizeof *a->bias) != 0) {
      check_fail(
          subject->run,
          "bias, head %zu, query position %.17g, key position %.17g: %.9g, shifted by %g it is %.9g; the same bits "
          "are promised",
          i / n / n, subject->pos[i / n % n * subject->axes], subject->pos[i % n * subject->axes], (double)a->bias[i],
          shift, (double)b->bias[i]);
      return;
    }
  }
}

/* Positions are evenly spaced, so all elements of a diagonal have one distance: what the host relies on when it asks
 * once per distance. */
static void compare_diagonals(struct subject *subject, const struct outputs *a) {
  size_t n = a->n;
  if (subject->axes > 1) {
    return;
  }
  for (size_t i = 0; a->bias && i < a->n_heads * n * n; i++) {
    size_t m = i / n % n, k = i % n, first = m > k ? (m - k) * n : k - m;
    const float *corner = &a->bias[i / n / n * n * n + first];
    if (memcmp(corner, &a->bias[i], sizeof *corner) != 0) {
      check_fail(
          subject->run,
          "bias, head %zu: %.9g at query position %.17g and key position %.17g, %.9g at the same distance earlier; "
          "the same bits are promised",
          i / n / n, (double)a->bias[i], subject->pos[m], subject->pos[k], (double)*corner);
      return;
    }
  }
}

static void relative_each(struct subject *subject) {
  struct check_run *run = subject->run;
  if (!(subject->traits & PE_TRAIT_RELATIVE)) {
    check_skip(run, "it does not promise to be relative");
    return;
  }
  struct outputs first = {0};
  struct error err;
  double *pos = memory_new_3d(subject->n, subject->axes, 1, sizeof *pos, "positions", &err);
  if (pos && compute_or_skip(subject, &(struct method){.tile_q = 1}, &first, PROBLEM_HOST)) {
    compare_diagonals(subject, &first);
    static const double SHIFTS[] = {1, 64, 1000, -5};
    for (size_t s = 0; s < sizeof SHIFTS / sizeof SHIFTS[0] && !check_failed(run); s++) {
      struct outputs shifted = {0};
      for (size_t i = 0; i < subject->n * subject->axes; i++) {
        pos[i] = subject->pos[i] + SHIFTS[s];
      }
      /* The length is the call's, not the shift's: it stays. */
      if (can_shift(subject, SHIFTS[s]) &&
          compute_or_skip(subject, &(struct method){.pos = pos}, &shifted, PROBLEM_HOST)) {
        compare_bias(subject, &first, &shifted, SHIFTS[s]);
        compare_scores(subject, &first, &shifted, SHIFTS[s]);
      }
      outputs_free(&shifted);
    }
  }
  outputs_free(&first);
  free(pos);
}

void check_relative(struct check_run *run) {
  subject_each(run, relative_each);
}

/* ---- trait.length ---- */

static void length_each(struct subject *subject) {
  if (subject->traits & PE_TRAIT_LENGTH_DEPENDENT) {
    check_skip(subject->run, "it says that it looks at the sequence length");
    return;
  }
  struct outputs first = {0};
  bool going = compute_or_skip(subject, &(struct method){0}, &first, PROBLEM_HOST);
  static const double FACTORS[] = {2, 16, 1024};
  for (size_t i = 0; going && i < sizeof FACTORS / sizeof FACTORS[0]; i++) {
    struct outputs longer = {0};
    struct method method = {.seq_len = subject->seq_len * FACTORS[i]};
    char text[400];
    going = compute_or_skip(subject, &method, &longer, PROBLEM_HOST);
    if (going && !outputs_equal(subject, &first, &longer, text, sizeof text)) {
      check_fail(subject->run, "%s: with seq_len %g against %g, without PE_TRAIT_LENGTH_DEPENDENT", text,
                 subject->seq_len, method.seq_len);
      going = false;
    }
    outputs_free(&longer);
  }
  outputs_free(&first);
}

void check_length(struct check_run *run) {
  subject_each(run, length_each);
}
