#include "bench.h"

#include "base/memory.h"
#include "base/rng.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

const char *bench_text(const struct bench *bench, const char *key) {
  size_t i = 0;
  while (strcmp(bench->settings[i].key, key) != 0) {
    i++;
    assert(i < BENCH_SETTINGS && bench->settings[i].key);
  }
  return bench->settings[i].text;
}

int bench_number(const struct bench *bench, const char *key, size_t min, size_t max, size_t *out, struct error *err) {
  const char *text = bench_text(bench, key);
  char *end;
  unsigned long long value = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < min || value > max) {
    return error_set(err, ERROR_USAGE, "%s=%s: allowed is a whole number from %zu to %zu", key, text, min, max);
  }
  *out = (size_t)value;
  return 0;
}

double bench_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

double bench_median(double *seconds, size_t count) {
  qsort(seconds, count, sizeof *seconds, compare_doubles);
  return (seconds[(count - 1) / 2] + seconds[count / 2]) / 2.0;
}

void bench_put_spread(json_t *result, double *seconds, size_t count) {
  bench_put(result, "seconds", bench_median(seconds, count));
  bench_put(result, "seconds_min", seconds[0]);
  bench_put(result, "seconds_max", seconds[count - 1]);
  bench_put(result, "repeats", (double)count);
}

int bench_repeat(size_t repeats, int (*work)(void *context, struct error *err), void *context, json_t *result,
                 struct error *err) {
  double *seconds = memory_new(repeats, sizeof *seconds, "times", err);
  int status = seconds ? work(context, err) : ERROR_MEMORY;
  for (size_t i = 0; i < repeats && !status; i++) {
    double begin = bench_now();
    status = work(context, err);
    seconds[i] = bench_now() - begin;
  }
  if (!status) {
    bench_put_spread(result, seconds, repeats);
  }
  free(seconds);
  return status;
}

double bench_best(size_t repeats, void (*work)(void *context), void *context) {
  size_t calls = 1;
  double best = 0.0;
  for (double elapsed = 0.0; elapsed < 0.004; calls *= 2) {
    double begin = bench_now();
    for (size_t i = 0; i < calls; i++) {
      work(context);
    }
    elapsed = bench_now() - begin;
    best = elapsed / (double)calls;
  }
  for (size_t repeat = 0; repeat < repeats; repeat++) {
    double begin = bench_now();
    for (size_t i = 0; i < calls; i++) {
      work(context);
    }
    double seconds = (bench_now() - begin) / (double)calls;
    best = seconds < best ? seconds : best;
  }
  return best;
}

void bench_put(json_t *result, const char *key, double value) {
  json_object_set_new(result, key, json_real(value));
}

void bench_put_text(json_t *result, const char *key, const char *value) {
  json_object_set_new(result, key, json_string(value));
}

void bench_put_peak(json_t *result) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  bench_put(result, "peak_mib", (double)usage.ru_maxrss / 1024.0);
}

void bench_fill(float *x, size_t n, const char *name) {
  struct rng rng = rng_stream(0, name);
  for (size_t i = 0; i < n; i++) {
    x[i] = (float)rng_normal(&rng, i);
  }
}
