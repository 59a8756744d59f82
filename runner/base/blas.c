#include "base/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#ifdef PE_HAVE_LIBXSMM
#include <libxsmm.h>
#endif

/* Written once, under `loaded`, and of libxsmm's list under `listed`. */
static struct {
  __typeof__(&cblas_sgemm) sgemm;
  __typeof__(&cblas_somatcopy) somatcopy;
  __typeof__(&openblas_set_num_threads) set_num_threads;
  __typeof__(&openblas_get_config) get_config;
  bool addresses_are_limited;
  struct error failure;
  struct error list_failure;
} blas;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static pthread_once_t listed = PTHREAD_ONCE_INIT;

/* A function of the library: POSIX says that dlsym's pointer is one. */
static bool find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static void load(void) {
  struct rlimit addresses;
  blas.addresses_are_limited = getrlimit(RLIMIT_AS, &addresses) || addresses.rlim_cur != RLIM_INFINITY;
  /* Local: what it has beside these functions is nobody's. It stays until the process ends. */
  void *library = dlopen(PE_RUN_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
  if (library && find(library, "cblas_sgemm", &blas.sgemm) && find(library, "cblas_somatcopy", &blas.somatcopy) &&
      find(library, "openblas_set_num_threads", &blas.set_num_threads) &&
      find(library, "openblas_get_config", &blas.get_config)) {
    blas.set_num_threads(1);
    return;
  }
  const char *reason = dlerror();
  error_set(&blas.failure, ERROR_INTERNAL, "OpenBLAS cannot be loaded: %s", reason ? reason : "it lacks a function");
}

static void make_list(void) {
#ifdef PE_HAVE_LIBXSMM
  libxsmm_registry_info info;
  if (libxsmm_get_registry_info(&info)) {
    error_set(&blas.list_failure, ERROR_MEMORY, "libxsmm gets no memory for its list of kernels");
  }
#endif
}

static int failed(const struct error *failure, struct error *err) {
  if (failure->code) {
    *err = *failure;
  }
  return (int)failure->code;
}

int blas_open_whole(struct error *err) {
  pthread_once(&loaded, load);
  if (blas.failure.code) {
    return failed(&blas.failure, err);
  }
  pthread_once(&listed, make_list);
  return failed(&blas.list_failure, err);
}

/* The list takes 10 MiB and a millisecond, so it is made when the first kernel is asked for; but where addresses are
 * limited, because there it can fail. */
int blas_open(struct error *err) {
  pthread_once(&loaded, load);
  return blas.addresses_are_limited ? blas_open_whole(err) : failed(&blas.failure, err);
}

const char *blas_build(void) {
  return blas.get_config ? blas.get_config() : "";
}

/* ---- libxsmm ---- */

small_kernel small_kernel_for(const struct small_shape *shape) {
#ifdef PE_HAVE_LIBXSMM
  /* In the library's columns: c' [n x m] = b' [n x k] a' [k x m]. */
  libxsmm_blasint m = (libxsmm_blasint)shape->n, n = (libxsmm_blasint)shape->m, k = (libxsmm_blasint)shape->k;
  libxsmm_blasint ld_b = (libxsmm_blasint)shape->b_stride, ld_a = (libxsmm_blasint)shape->a_stride;
  libxsmm_blasint ld_c = (libxsmm_blasint)shape->c_stride;
  float alpha = 1.0f, beta = shape->accumulate ? 1.0f : 0.0f;
  int flags = shape->a_transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  return libxsmm_smmdispatch(m, n, k, &ld_b, &ld_a, &ld_c, &alpha, &beta, &flags, &prefetch);
#else
  (void)shape;
  return NULL;
#endif
}

const char *small_kernel_target(void) {
#ifdef PE_HAVE_LIBXSMM
  return libxsmm_get_target_arch();
#else
  return "";
#endif
}

/* ---- OpenBLAS's functions under their own names ---- */

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
