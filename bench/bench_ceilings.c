/* What one thread of the machine gives at most: the rate of the tile product that the attention kernel uses, of its
 * exponential, and of copying memory. The bound of a scan is made of them. */
#include "bench.h"

#include "attention/product.h"
#include "attention/rows.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = PRODUCT_PANEL, LARGEST_ROWS = 128, EXPONENTIALS = 4096, COPIED = 64 << 20 };

struct product_work {
  struct product product;
  const void *panel, *q; /* packed */
  float *c;
};

static void multiply(void *context) {
  const struct product_work *work = context;
  product_run(&work->product, work->panel, work->q, work->c);
}

/* Best rate over the numbers of rows of a panel's product, in operations per second, under keys that begin with `key`.
 */
static int best_product(const struct product_method *method, const char *key, size_t width, size_t repeats,
                        json_t *result, struct error *err) {
  static const size_t rows[] = {16, 24, 32, 48, 64, 96, LARGEST_ROWS};
  float *k = memory_new(KEYS, width * sizeof(float), "keys", err);
  float *q = memory_new(LARGEST_ROWS, width * sizeof(float), "queries", err);
  void *panel = memory_new(method->panel_bytes(width), 1, "a panel", err);
  void *packed = memory_new(method->query_bytes(LARGEST_ROWS, width), 1, "packed queries", err);
  float *c = memory_new(LARGEST_ROWS, KEYS * sizeof(float), "scores", err);
  int status = k && q && panel && packed && c ? 0 : ERROR_MEMORY;
  if (!status) {
    bench_fill(k, KEYS * width, "panel");
    bench_fill(q, LARGEST_ROWS * width, "q");
    method->pack_keys(k, KEYS, width, panel);
    method->pack_queries(q, LARGEST_ROWS, width, 1.0f, packed);
    double best = 0.0;
    size_t best_rows = 0;
    method->begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      struct product_work work = {method->of_shape(width, rows[i], KEYS, KEYS), panel, packed, c};
      double seconds = bench_best(repeats, multiply, &work);
      double rate = 2.0 * (double)rows[i] * (double)KEYS * (double)width / seconds;
      if (rate > best) {
        best = rate;
        best_rows = rows[i];
      }
    }
    method->end();
    char name[64];
    snprintf(name, sizeof name, "%s_gflops", key);
    bench_put(result, name, best * 1e-9);
    snprintf(name, sizeof name, "%s_rows", key);
    bench_put(result, name, (double)best_rows);
    snprintf(name, sizeof name, "%s_library", key);
    bench_put_text(result, name, method->name);
  }
  free(k);
  free(q);
  free(panel);
  free(packed);
  free(c);
  return status;
}

struct exponential_work {
  const struct rows_kernels *kernels;
  float x[EXPONENTIALS], y[EXPONENTIALS];
};

static void exponentiate(void *context) {
  struct exponential_work *work = context;
  work->kernels->exponential(work->x, work->y, EXPONENTIALS);
}

static int best_exponential(size_t repeats, json_t *result, struct error *err) {
  struct exponential_work *work = memory_new(1, sizeof *work, "exponentials", err);
  if (!work) {
    return ERROR_MEMORY;
  }
  work->kernels = rows_best();
  bench_fill(work->x, EXPONENTIALS, "x");
  double seconds = bench_best(repeats, exponentiate, work);
  bench_put(result, "exponential_ns", seconds / EXPONENTIALS * 1e9);
  bench_put_text(result, "exponential_kernel", work->kernels->name);
  free(work);
  return 0;
}

struct copy_work {
  char *from, *to;
};

static void copy(void *context) {
  const struct copy_work *work = context;
  memcpy(work->to, work->from, COPIED);
}

static int best_copy(json_t *result, struct error *err) {
  struct copy_work work = {memory_new(COPIED, 1, "a copy", err), memory_new(COPIED, 1, "a copy", err)};
  int status = work.from && work.to ? 0 : ERROR_MEMORY;
  if (!status) {
    bench_put(result, "copy_gb_per_s", (double)COPIED / bench_best(5, copy, &work) * 1e-9);
  }
  free(work.from);
  free(work.to);
  return status;
}

int bench_ceilings(const struct bench *bench, json_t *result, struct error *err) {
  size_t width, repeats;
  int status = bench_number(bench, "head_dim", 1, 4096, &width, err);
  status = status ? status : bench_number(bench, "repeats", 1, 1000, &repeats, err);
  double begin = bench_now();
  status = status ? status : best_product(product_best(), "product", width, repeats, result, err);
  status = status ? status : best_product(product_float32(), "float32", width, repeats, result, err);
  bench_put(result, "product_keys", (double)KEYS);
  status = status ? status : best_exponential(repeats, result, err);
  status = status ? status : best_copy(result, err);
  bench_put(result, "seconds", bench_now() - begin);
  bench_put_peak(result);
  return status;
}
