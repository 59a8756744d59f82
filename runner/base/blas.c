#include "base/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Written once, under `once`. */
static struct {
  __typeof__(&cblas_sgemm) sgemm;
  __typeof__(&cblas_somatcopy) somatcopy;
  __typeof__(&openblas_set_num_threads) set_num_threads;
  __typeof__(&openblas_get_config) get_config;
  char failure[300];
} blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A function of the library: POSIX says that dlsym's pointer is one. */
static bool find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static void load(void) {
  /* Local: what it has beside these functions is nobody's. It stays until the process ends. */
  void *library = dlopen(PE_RUN_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
  if (library && find(library, "cblas_sgemm", &blas.sgemm) && find(library, "cblas_somatcopy", &blas.somatcopy) &&
      find(library, "openblas_set_num_threads", &blas.set_num_threads) &&
      find(library, "openblas_get_config", &blas.get_config)) {
    blas.set_num_threads(1);
    return;
  }
  const char *reason = dlerror();
  snprintf(blas.failure, sizeof blas.failure, "%s", reason ? reason : "it lacks a function");
}

int blas_open(struct error *err) {
  pthread_once(&once, load);
  return blas.failure[0] ? error_set(err, ERROR_INTERNAL, "OpenBLAS cannot be loaded: %s", blas.failure) : 0;
}

const char *blas_build(void) {
  return blas.get_config ? blas.get_config() : "";
}

/* ---- under their own names ---- */

static void need(void) {
  struct error err;
  if (blas_open(&err)) {
    fprintf(stderr, "pe-run: error[%s]: %s\n", error_id(err.code), err.text);
    abort();
  }
}

void cblas_sgemm(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE turned_a, enum CBLAS_TRANSPOSE turned_b, blasint m,
                 blasint n, blasint k, float alpha, const float *a, blasint a_stride, const float *b, blasint b_stride,
                 float beta, float *c, blasint c_stride) {
  need();
  blas.sgemm(order, turned_a, turned_b, m, n, k, alpha, a, a_stride, b, b_stride, beta, c, c_stride);
}

void cblas_somatcopy(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE turned, blasint rows, blasint columns, float alpha,
                     const float *a, blasint a_stride, float *b, blasint b_stride) {
  need();
  blas.somatcopy(order, turned, rows, columns, alpha, a, a_stride, b, b_stride);
}
