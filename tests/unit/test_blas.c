/* The libraries for products under every limit of memory: they are refused, or they work. */
#include "base/blas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>

enum {
  STEP = 2 << 20,
  STEPS = 64,
  ROOM = 1 << 20, /* for a kernel; the list takes ten times that */
  CHILD_SECONDS = 20,
  WRONG = 255
};

static size_t mapped(void) {
  size_t pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%zu", &pages), 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* 0, the code of the error, or WRONG. */
static int open_and_multiply(void) {
  static const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, product[4] = {19, 22, 43, 50};
  float c[4];
  struct error err;
  if (blas_open(&err)) {
    return (int)err.code;
  }
  const struct small_shape shape = {.m = 2, .n = 2, .k = 2, .a_stride = 2, .b_stride = 2, .c_stride = 2};
  small_kernel kernel = small_kernel_for(&shape);
  if (kernel) {
    small_kernel_run(kernel, a, b, c);
    return memcmp(c, product, sizeof c) ? WRONG : 0;
  }
  return 0;
}

static void limit_to(size_t bytes) {
  struct rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

/* Open under a limit, or, with bytes = 0, open whole and then leave no more than ROOM. */
static int with_memory(size_t bytes) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    struct error err;
    alarm(CHILD_SECONDS);
    if (bytes == 0 && blas_open_whole(&err)) {
      _exit(WRONG);
    }
    limit_to(bytes ? bytes : mapped() + ROOM);
    _exit(open_and_multiply());
  }
  int status;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status)); /* neither a crash nor the alarm */
  return WEXITSTATUS(status);
}

static void refused_or_right(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* these map more memory than any limit */
#endif
  size_t before = mapped();
  unsigned without_openblas = 0, without_kernels = 0, right = 0;
  for (size_t step = 0; step < STEPS; step++) {
    int code = with_memory(before + step * STEP);
    assert_true(code == ERROR_INTERNAL || code == ERROR_MEMORY || code == 0);
    without_openblas += code == ERROR_INTERNAL;
    without_kernels += code == ERROR_MEMORY;
    right += code == 0;
  }
  assert_true(without_openblas > 0 && right > 0);
  bool has_kernels = small_kernel_target()[0] != '\0';
  assert_true((without_kernels > 0) == has_kernels);
}

static void whole_before_a_limit(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* these map more memory than any limit */
#endif
  assert_int_equal(with_memory(0), 0);
}

static void a_kernel_for_every_kind(void **state) {
  (void)state;
  /* a [m][k] = [1 2 3; 4 5 6], b [k][n] = [1 2; 3 4; 5 6], exact. */
  static const float a[6] = {1, 2, 3, 4, 5, 6}, turned[6] = {1, 4, 2, 5, 3, 6}, b[6] = {1, 2, 3, 4, 5, 6};
  struct error err;
  assert_int_equal(blas_open(&err), 0);
  assert_int_equal(strncmp(blas_build(), "OpenBLAS", 8), 0);
  for (int kind = 0; kind < 4; kind++) {
    float c[4] = {100, 100, 100, 100};
    const bool transposed = kind & 1, accumulate = kind & 2;
    float before = accumulate ? 100.0f : 0.0f;
    const struct small_shape shape = {.m = 2,
                                      .n = 2,
                                      .k = 3,
                                      .a_stride = transposed ? 2 : 3,
                                      .b_stride = 2,
                                      .c_stride = 2,
                                      .a_transposed = transposed,
                                      .accumulate = accumulate};
    small_kernel kernel = small_kernel_for(&shape);
    if (!kernel) {
      skip();
    }
    small_kernel_run(kernel, transposed ? turned : a, b, c);
    const float expected[4] = {22 + before, 28 + before, 49 + before, 64 + before};
    assert_memory_equal(c, expected, sizeof c);
  }
}

int main(void) {
  setenv("OPENBLAS_NUM_THREADS", "1", 1); /* as the runner does for its workers */
  const struct CMUnitTest tests[] = {
      /* Before this process has opened them itself. */
      cmocka_unit_test(whole_before_a_limit),
      cmocka_unit_test(refused_or_right),
      cmocka_unit_test(a_kernel_for_every_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
