/* What the results say of where they come from: the kernels that the libraries were told to choose. */
#include "jobs/provenance.h"

#include "base/blas.h"

#include <cblas.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* OPENBLAS_CORETYPE and LIBXSMM_TARGET are how users choose a processor for these libraries; `main` sets them. */
static void chosen_kernels_are_named(void **state) {
  (void)state;
  struct error err = {0};
  char *text = provenance_environment(&err);
  assert_non_null(text);
  json_t *json = json_loads(text, 0, NULL);
#ifdef __x86_64__
  assert_non_null(strstr(json_string_value(json_object_get(json, "openblas")), "Nehalem"));
  const char *target = json_string_value(json_object_get(json, "libxsmm"));
  assert_true(!*target || !strcmp(target, "snb")); /* "": built without it */
#endif
  assert_non_null(strchr(json_string_value(json_object_get(json, "kernel")), ','));
  json_decref(json);
  free(text);
}

/* The functions under their own names are the library's: small whole numbers come out exactly. */
static void products_are_passed_on(void **state) {
  (void)state;
  struct error err = {0};
  assert_int_equal(blas_open(&err), 0);
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12};
  float c[] = {1, 1, 1, 1}, turned[6];
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 3, 2.0f, a, 3, b, 2, -1.0f, c, 2);
  const float expected[] = {2 * 58 - 1, 2 * 64 - 1, 2 * 139 - 1, 2 * 154 - 1};
  assert_memory_equal(c, expected, sizeof expected);
  cblas_somatcopy(CblasRowMajor, CblasTrans, 2, 3, 1.0f, a, 3, turned, 2);
  const float columns[] = {1, 4, 2, 5, 3, 6};
  assert_memory_equal(turned, columns, sizeof columns);
}

int main(void) {
  setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
  setenv("LIBXSMM_TARGET", "snb", 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(chosen_kernels_are_named),
                                     cmocka_unit_test(products_are_passed_on)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
