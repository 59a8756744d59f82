/* Checks of the values that a scheme derives from its parameters: that they are numbers, and those that it runs. */
#include "host/check/compute.h"

#include "base/memory.h"
#include "host/plugin_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- derived ---- */

struct derived {
  pe_derived value;
  double *data; /* [dim[0]][dim[1]], owned; NULL: there is none */
};

/* The size alone, then the data into memory of just that size. */
static bool ask(struct subject *subject, double seq_len, uint32_t which, struct derived *out) {
  struct check_run *run = subject->run;
  size_t need = 0, again = 0, count;
  pe_derived value = {0};
  check_stage(run, "derived %u at length %g", which, seq_len);
  pe_status status = subject->table->derived(subject->self, seq_len, which, &value, NULL, 0, &need);
  if (status != PE_OK || !value.name || !plugin_name_is_key(value.name, false)) {
    check_fail(run, "derived value %u at length %g: status %d, name %s", which, seq_len, status,
               value.name ? "that does not match [A-Za-z][A-Za-z0-9_]*" : "NULL");
    return false;
  }
  if ((value.rank != 1 && value.rank != 2) || (value.rank == 1 && value.dim[1] != 1) ||
      __builtin_mul_overflow(value.dim[0], value.dim[1], &count) || count != need || need > SIZE_MAX / 16) {
    check_fail(run, "derived value %s: rank %u, %zu x %zu elements, and it needs %zu", value.name, value.rank,
               value.dim[0], value.dim[1], need);
    return false;
  }
  struct guarded buffer;
  struct error err;
  if (guard_new(run->guards, value.name, need * sizeof(double), sizeof(double), GUARD_AFTER, &buffer, &err)) {
    check_fail(run, "%s", err.text);
    return false;
  }
  status = subject->table->derived(subject->self, seq_len, which, &value, buffer.data, need, &again);
  char text[200] = "";
  if (status != PE_OK || again != need || value.data != buffer.data) {
    check_fail(run,
               "derived value %s: asked again with a buffer of %zu elements: status %d, it needs %zu, and data is %s",
               value.name, need, status, again, value.data == buffer.data ? "the buffer" : "not the buffer");
  } else if (!guard_intact(&buffer, text, sizeof text)) {
    check_fail(run, "derived value %s: %s", value.name, text);
  } else {
    out->value = value;
    out->data = memory_new(need, sizeof *out->data, value.name, &err);
    if (out->data) {
      memcpy(out->data, buffer.data, need * sizeof *out->data);
    }
  }
  guard_free(run->guards, &buffer);
  return out->data != NULL;
}

static void derived_at(struct subject *subject, double seq_len) {
  struct check_run *run = subject->run;
  uint32_t count = subject->table->derived_count(subject->self, seq_len);
  for (uint32_t which = 0; which < count && !check_failed(run); which++) {
    struct derived one = {0}, twice = {0};
    if (ask(subject, seq_len, which, &one) && ask(subject, seq_len, which, &twice)) {
      size_t elements = one.value.dim[0] * one.value.dim[1];
      for (size_t i = 0; i < elements && !check_failed(run); i++) {
        if (!isfinite(one.data[i])) {
          check_fail(run, "derived value %s: element %zu is %g at length %g", one.value.name, i, one.data[i], seq_len);
        } else if (one.data[i] != twice.data[i]) {
          check_fail(run, "derived value %s: element %zu is %.17g, then %.17g", one.value.name, i, one.data[i],
                     twice.data[i]);
        }
      }
    }
    free(one.data);
    free(twice.data);
  }
}

static void derived_each(struct subject *subject) {
  if (!subject->table->derived_count) {
    check_skip(subject->run, "it derives no values");
    return;
  }
  static const double LENGTHS[] = {1, 13, 512, 8192, 1e6};
  for (size_t i = 0; i < sizeof LENGTHS / sizeof LENGTHS[0] && !check_failed(subject->run); i++) {
    derived_at(subject, LENGTHS[i]);
  }
}

void check_derived(struct check_run *run) {
  subject_each(run, derived_each);
}

/* ---- derived.pinned ---- */

static struct derived find(struct subject *subject, const char *name) {
  struct derived found = {0};
  uint32_t count = subject->table->derived_count(subject->self, subject->seq_len);
  for (uint32_t which = 0; which < count && !found.data; which++) {
    struct derived one = {0};
    if (ask(subject, subject->seq_len, which, &one) && !strcmp(one.value.name, name)) {
      found = one;
    } else {
      free(one.data);
    }
  }
  return found;
}

/* One pair of channels of a row: is (after) the pair (before), turned by `angle`? */
static bool turned(const double before[2], const double after[2], double angle, double factor, bool has_factor) {
  double expected[2] = {before[0] * cos(angle) - before[1] * sin(angle),
                        before[1] * cos(angle) + before[0] * sin(angle)};
  double length = hypot(before[0], before[1]), got = hypot(after[0], after[1]);
  if (has_factor) {
    return hypot(after[0] - factor * expected[0], after[1] - factor * expected[1]) <= 1e-5 * (fabs(factor) * length);
  }
  /* Without a factor the length is the scheme's business: the direction counts. */
  double cross = expected[0] * after[1] - expected[1] * after[0],
         along = expected[0] * after[0] + expected[1] * after[1];
  return fabs(cross) <= 1e-5 * length * got && along >= 0;
}

static void check_pairs(struct subject *subject, const struct outputs *out, const double *pos,
                        const struct derived *inv_freq, const struct derived *pairs, const struct derived *factor) {
  size_t width = out->width, head_dim = subject->shape.head_dim;
  for (size_t r = 0; r < out->n_heads * out->n; r++) {
    for (size_t i = 0; i < inv_freq->value.dim[0]; i++) {
      double a = pairs->data[2 * i], b = pairs->data[2 * i + 1];
      if (!(a >= 0 && b >= 0 && a < (double)head_dim && b < (double)head_dim)) {
        check_fail(subject->run, "pairs: pair %zu is channels %g and %g, head_dim is %zu", i, a, b, head_dim);
        return;
      }
      size_t first = (size_t)a, second = (size_t)b;
      const float *in = subject->query + r * head_dim, *row = out->query + r * width;
      const double before[2] = {(double)in[first], (double)in[second]},
                   after[2] = {(double)row[first], (double)row[second]};
      double position = pos[r % out->n * subject->axes], angle = position * inv_freq->data[i];
      if (!turned(before, after, angle, factor->data ? factor->data[0] : 1, factor->data != NULL)) {
        check_fail(
            subject->run,
            "inv_freq: pair %zu (channels %zu and %zu) at position %.17g should turn by %.9g%s; (%.9g, %.9g) became "
            "(%.9g, %.9g)",
            i, first, second, position, angle, factor->data ? ", times attention_factor" : "", before[0], before[1],
            after[0], after[1]);
        return;
      }
    }
  }
}

static void pinned_rotation(struct subject *subject) {
  struct derived inv_freq = find(subject, "inv_freq"), pairs = find(subject, "pairs"),
                 factor = find(subject, "attention_factor");
  struct outputs out = {0};
  struct error err;
  double *pos = memory_new_3d(subject->n, subject->axes, 1, sizeof *pos, "positions", &err);
  if (inv_freq.data && pairs.data && pos) {
    /* On every axis the same, so that it does not matter which of them a pair turns by. */
    for (size_t i = 0; i < subject->n * subject->axes; i++) {
      pos[i] = subject->pos[i / subject->axes * subject->axes];
    }
    if (inv_freq.value.dim[0] != pairs.value.dim[0] || pairs.value.dim[1] != 2) {
      check_fail(subject->run, "inv_freq has %zu elements, pairs is %zu x %zu", inv_freq.value.dim[0],
                 pairs.value.dim[0], pairs.value.dim[1]);
    } else if (compute_or_skip(subject, &(struct method){.pos = pos}, &out, PROBLEM_HOST)) {
      check_pairs(subject, &out, pos, &inv_freq, &pairs, &factor);
    }
  }
  outputs_free(&out);
  free(pos);
  free(inv_freq.data);
  free(pairs.data);
  free(factor.data);
}

/* slopes: what one unit of distance costs, for a key before the query. */
static void pinned_slopes(struct subject *subject, const struct outputs *out, const struct derived *slopes) {
  size_t n = out->n;
  double step = n > 1 ? subject->pos[subject->axes] - subject->pos[0] : 0;
  if (slopes->value.dim[0] != out->n_heads) {
    check_fail(subject->run, "slopes has %zu elements for %zu heads", slopes->value.dim[0], out->n_heads);
    return;
  }
  for (size_t h = 0; h < out->n_heads && step > 0; h++) {
    double got = (double)out->bias[(h * n + 1) * n] - (double)out->bias[h * n * n], slope = slopes->data[h];
    if (!(fabs(got + slope * step) <= 1e-5 * (fabs(slope * step) + 1e-3))) {
      check_fail(subject->run, "slopes: head %zu has %.9g per unit, but a distance of %g changes the bias by %.9g", h,
                 slope, step, got);
      return;
    }
  }
}

static size_t bucket_of(const struct derived *edges, double distance) {
  size_t bucket = 0;
  for (size_t i = 0; i < edges->value.dim[0]; i++) {
    bucket = edges->data[i] <= distance ? i : bucket;
  }
  return bucket;
}

/* bucket_edges: distances of one bucket have one bias. */
static void pinned_buckets(struct subject *subject, const struct outputs *out, const struct derived *edges) {
  size_t n = out->n;
  for (size_t h = 0; h < out->n_heads; h++) {
    for (size_t m = 1; m < n; m++) {
      double distance = subject->pos[m * subject->axes] - subject->pos[0],
             before = subject->pos[(m - 1) * subject->axes] - subject->pos[0];
      float a = out->bias[(h * n + m) * n], b = out->bias[(h * n + m - 1) * n];
      if (bucket_of(edges, distance) == bucket_of(edges, before) && memcmp(&a, &b, sizeof a) != 0) {
        check_fail(subject->run, "bucket_edges: distances %g and %g are in bucket %zu, their biases are %.9g and %.9g",
                   before, distance, bucket_of(edges, distance), (double)b, (double)a);
        return;
      }
    }
  }
}

static void pinned_each(struct subject *subject) {
  uint32_t sites = subject_sites(subject);
  if (!subject->table->derived_count || !(sites & (PE_SITE_QK | PE_SITE_BIAS))) {
    check_skip(subject->run, "it derives no values that a call could be held against");
    return;
  }
  if (sites & PE_SITE_QK) {
    pinned_rotation(subject);
  }
  struct outputs out = {0};
  struct derived slopes = {0}, edges = {0};
  if ((sites & PE_SITE_BIAS) && !check_failed(subject->run) &&
      compute_or_skip(subject, &(struct method){0}, &out, PROBLEM_HOST)) {
    slopes = find(subject, "slopes");
    edges = find(subject, "bucket_edges");
    if (slopes.data) {
      pinned_slopes(subject, &out, &slopes);
    }
    if (edges.data) {
      pinned_buckets(subject, &out, &edges);
    }
  }
  free(slopes.data);
  free(edges.data);
  outputs_free(&out);
}

void check_derived_pinned(struct check_run *run) {
  subject_each(run, pinned_each);
}
