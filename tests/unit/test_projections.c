/* What is kept of a model's tokens changes no bit of any record: jobs with it, in either order, against jobs without.
 */
#include "base/memory.h"
#include "experiments/projections.h"
#include "jobs/job_run.h"
#include "real_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SCHEMES = 4 };

static const char schemes[] =
    "schemes: [sinusoidal, rope, alibi, none]\n"
    "experiments:\n  - extrapolation: {train_length: 16, lengths: [8, 16, 40], window: 8, offsets: [4, 16], spans: 4, "
    "queries: 4}\n";

static void run(const struct real_plan *real, size_t job, struct projections *kept, struct record *record) {
  struct error err = {0};
  struct job_setting setting = {.plan = real->plan, .host = real->host, .projections = kept};
  assert_int_equal(job_run(&setting, &real->plan->jobs[job], real->model, record, &err), 0);
  assert_int_equal(record->status, RECORD_MEASURED);
}

static size_t element_size(const struct tensor *tensor) {
  return tensor->element == ELEMENT_U8 ? 1 : tensor->element == ELEMENT_F32 || tensor->element == ELEMENT_I32 ? 4 : 8;
}

static void check_equal(const struct record *a, const struct record *b) {
  assert_int_equal(a->count, b->count);
  for (size_t i = 0; i < a->count; i++) {
    assert_string_equal(a->tensors[i].name, b->tensors[i].name);
    assert_int_equal(a->tensors[i].count, b->tensors[i].count);
    assert_memory_equal(a->tensors[i].data, b->tensors[i].data, a->tensors[i].count * element_size(&a->tensors[i]));
  }
}

static void check_model(const char *model) {
  char text[1024];
  struct real_plan real;
  snprintf(text, sizeof text, "%s%s", model, schemes);
  real_plan_open(&real, text, NULL, 0);
  struct projections kept = {.model = real.model};
  struct record alone[SCHEMES];
  for (size_t job = 0; job < SCHEMES; job++) {
    run(&real, job, NULL, &alone[job]);
  }
  for (size_t i = 0; i < 2 * SCHEMES; i++) {
    struct record record;
    size_t job = i < SCHEMES ? i : 2 * SCHEMES - 1 - i;
    if (i == SCHEMES) {
      assert_true(projections_bytes(&kept) > 0);
      projections_free(&kept);
    }
    run(&real, job, &kept, &record);
    check_equal(&alone[job], &record);
    record_free(&record);
  }
  for (size_t job = 0; job < SCHEMES; job++) {
    record_free(&alone[job]);
  }
  projections_free(&kept);
  real_plan_close(&real);
}

static void test_endless(void **state) {
  (void)state;
  check_model("model: {random: {heads: 4, kv_heads: 2, head_dim: 8, d_model: 32}}\nseeds: 1\n");
}

static void test_text(void **state) {
  (void)state;
  check_model("model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 50}}\nseeds: 1\n");
}

/* Tokens past what 64 MiB hold are made when they are asked for. */
static void test_longer_than_is_kept(void **state) {
  (void)state;
  struct real_plan real;
  struct error err = {0};
  char text[1024];
  snprintf(text, sizeof text, "%s%s", "model: {random: {heads: 1, head_dim: 8, d_model: 2048}}\nseeds: 1\n", schemes);
  real_plan_open(&real, text, NULL, 0);
  struct projections kept = {.model = real.model};
  size_t fit = ((size_t)64 << 20) / ((2048 + 2 * 8) * sizeof(float));
  assert_int_equal(projections_prepare(&kept, fit + 1, NULL, &err), 0);
  size_t index[] = {0, fit - 1, fit};
  const struct kept_text *there = projections_of(&kept, 0, index, 2);
  assert_non_null(there);
  assert_null(projections_of(&kept, 0, index, 3));
  float *x = memory_new(2048, sizeof *x, "content", &err);
  assert_non_null(x);
  assert_int_equal(model_content(real.model, 0, &index[1], 1, x, &err), 0);
  assert_memory_equal(x, there->x + (fit - 1) * 2048, 2048 * sizeof *x);
  free(x);
  projections_free(&kept);
  real_plan_close(&real);
}

/* A worker that only trains has no model. */
static void test_without_a_model(void **state) {
  (void)state;
  struct projections kept = {0};
  assert_int_equal(projections_bytes(&kept), 0);
  projections_free(&kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_endless),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_without_a_model),
      cmocka_unit_test(test_longer_than_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
