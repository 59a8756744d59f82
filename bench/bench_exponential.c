/* Exponentials as attention takes them, by each of its kernels, beside those of the C library. */
#include "bench.h"

#include "attention/rows.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct exponential_work {
  void (*exponential)(const float *x, float *y, size_t n);
  float *x, *y;
  size_t count;
};

static void by_library(const float *x, float *y, size_t n) {
  for (size_t i = 0; i < n; i++) {
    y[i] = expf(x[i]);
  }
}

static void exponentiate(void *context) {
  const struct exponential_work *work = context;
  work->exponential(work->x, work->y, work->count);
}

static double measure(struct exponential_work *work, size_t repeats, const char *name, json_t *result) {
  char key[40];
  double seconds = bench_best(repeats, exponentiate, work);
  snprintf(key, sizeof key, "%s_ns", name);
  bench_put(result, key, seconds / (double)work->count * 1e9);
  return seconds;
}

static void measure_all(struct exponential_work *work, size_t repeats, json_t *result) {
  const struct rows_kernels *const kernels[] = {rows_portable(), rows_avx2(), rows_avx512()};
  work->exponential = by_library;
  measure(work, repeats, "library", result);
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
    if (kernels[i]) {
      work->exponential = kernels[i]->exponential;
      double seconds = measure(work, repeats, kernels[i]->name, result);
      if (kernels[i] == rows_best()) {
        bench_put(result, "seconds", seconds);
        bench_put_text(result, "kernel", kernels[i]->name);
      }
    }
  }
}

int bench_exponential(const struct bench *bench, json_t *result, struct error *err) {
  struct exponential_work work = {.x = NULL};
  size_t repeats;
  int status = bench_number(bench, "count", 1, (size_t)1 << 28, &work.count, err);
  status = status ? status : bench_number(bench, "repeats", 1, 1000, &repeats, err);
  if (status) {
    return status;
  }
  work.x = memory_new(work.count, sizeof *work.x, "exponentials", err);
  work.y = work.x ? memory_new(work.count, sizeof *work.y, "exponentials", err) : NULL;
  status = work.y ? 0 : (int)err->code;
  if (!status) {
    bench_fill(work.x, work.count, "x");
    measure_all(&work, repeats, result);
    bench_put_peak(result);
  }
  free(work.x);
  free(work.y);
  return status;
}
