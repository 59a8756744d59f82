/* Checks of single calls: that they succeed, and write what is theirs, all of it, and nothing else. */
#include "host/check/compute.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

static void calls_each(struct subject *subject) {
  struct outputs out;
  compute_or_skip(subject, &(struct method){0}, &out, PROBLEM_STATUS);
  outputs_free(&out);
}

void check_calls(struct check_run *run) {
  subject_each(run, calls_each);
}

/* ---- values ---- */

static void judge_values(struct check_run *run, const char *site, const float *values, size_t count, size_t row_width) {
  for (size_t i = 0; values && i < count; i++) {
    if (!isfinite(values[i])) {
      check_fail(run, "%s: element %zu of row %zu is %g", site, i % row_width, i / row_width, (double)values[i]);
      return;
    }
    if (values[i] != 0 && !isnormal(values[i])) {
      check_warn(run, "%s: element %zu of row %zu is subnormal, %g: slow on many machines", site, i % row_width,
                 i / row_width, (double)values[i]);
    }
  }
}

static void values_each(struct subject *subject) {
  struct outputs out;
  if (compute_or_skip(subject, &(struct method){0}, &out, PROBLEM_HOST)) {
    struct check_run *run = subject->run;
    judge_values(run, "embedding", out.embed, out.n * out.d_model, out.d_model);
    judge_values(run, "query", out.query, out.n_heads * out.n * out.width, out.width);
    judge_values(run, "key", out.key, out.n_kv_heads * out.n * out.width, out.width);
    judge_values(run, "bias", out.bias, out.n_heads * out.n * out.n, out.n);
  }
  outputs_free(&out);
}

void check_values(struct check_run *run) {
  subject_each(run, values_each);
}

/* ---- write.all, write.bounds ---- */

static void written_each(struct subject *subject) {
  struct outputs out;
  compute_or_skip(subject, &(struct method){.rows = 3, .heads = 1}, &out, PROBLEM_UNWRITTEN);
  outputs_free(&out);
}

void check_written(struct check_run *run) {
  subject_each(run, written_each);
}

static void bounds_each(struct subject *subject) {
  static const struct method METHODS[] = {
      {.side = GUARD_AFTER},
      {.side = GUARD_BEFORE},
      {.side = GUARD_AFTER, .gap = 3, .rows = 5, .tile_q = 4, .tile_k = 5},
      {.side = GUARD_BEFORE, .gap = 16, .offset = 7, .rows = 1, .heads = 1, .tile_q = 1, .tile_k = 3},
      {.side = GUARD_AFTER, .gap = 5, .in_place = true}};
  for (size_t i = 0; i < sizeof METHODS / sizeof METHODS[0] && !check_failed(subject->run); i++) {
    struct outputs out;
    compute_or_skip(subject, &METHODS[i], &out, PROBLEM_BOUNDS);
    outputs_free(&out);
  }
}

void check_bounds(struct check_run *run) {
  subject_each(run, bounds_each);
}

/* ---- additive ---- */

/* b + x against x + b where x is what is added to zeros: equal but for the order of roundings. */
static void compare_sums(struct check_run *run, const char *site, const float *zero, const float *sum, size_t count,
                         const struct method *method) {
  for (size_t i = 0; zero && i < count; i++) {
    float background = background_at(method, i);
    double expected = (double)background + (double)zero[i];
    double scale = fabs((double)background) + fabs((double)zero[i]);
    if (isfinite(zero[i]) && !(fabs((double)sum[i] - expected) <= 4e-7 * scale)) {
      check_fail(run, "%s: element %zu: %.9g is added to 0, but %.9g becomes %.9g", site, i, (double)zero[i],
                 (double)background, (double)sum[i]);
      return;
    }
  }
}

static void additive_each(struct subject *subject) {
  struct check_run *run = subject->run;
  if (!(subject_sites(subject) & (PE_SITE_EMBED | PE_SITE_BIAS))) {
    check_skip(run, "it adds nothing: it acts on q and k alone");
    return;
  }
  struct outputs zero = {0}, sum = {0};
  const struct method on_zeros = {0}, on_numbers = {.background = 1};
  if (compute_or_skip(subject, &on_zeros, &zero, PROBLEM_HOST) &&
      compute_or_skip(subject, &on_numbers, &sum, PROBLEM_HOST)) {
    compare_sums(run, "embedding", zero.embed, sum.embed, zero.n * zero.d_model, &on_numbers);
    compare_sums(run, "bias", zero.bias, sum.bias, zero.n_heads * zero.n * zero.n, &on_numbers);
  }
  outputs_free(&zero);
  outputs_free(&sum);
}

void check_additive(struct check_run *run) {
  subject_each(run, additive_each);
}

/* ---- empty ---- */

/* Memory that ends where it begins: whatever a call without rows touches, on that side of it, is caught. */
static void empty_rows(struct subject *subject, int role, enum guard_side side) {
  struct check_run *run = subject->run;
  struct guarded nothing = {0};
  struct error err;
  if (guard_new(run->guards, "an empty row", 0, 4, side, &nothing, &err)) {
    check_fail(run, "%s", err.text);
    return;
  }
  pe_rows rows = {.struct_size = sizeof rows,
                  .role = role,
                  .n_heads = role == PE_ROLE_EMBED ? 1 : (uint32_t)subject_heads(subject, role),
                  .seq_len = subject->seq_len,
                  .pos = nothing.data,
                  .in = role == PE_ROLE_EMBED ? NULL : nothing.data,
                  .out = nothing.data};
  pe_error why = {.struct_size = sizeof why, .where = -1};
  check_stage(run, "%s with n = 0", role == PE_ROLE_EMBED ? "embed_add" : "qk_apply");
  pe_status status = role == PE_ROLE_EMBED ? subject->table->embed_add(subject->self, &rows, NULL, &why)
                                           : subject->table->qk_apply(subject->self, &rows, NULL, &why);
  if (status != PE_OK) {
    check_fail(run, "%s with n = 0 gives status %d instead of PE_OK", role == PE_ROLE_EMBED ? "embed_add" : "qk_apply",
               status);
  }
  guard_free(run->guards, &nothing);
}

static void empty_tile(struct subject *subject, size_t nq, size_t nk, enum guard_side side) {
  struct check_run *run = subject->run;
  struct guarded nothing = {0};
  struct error err;
  if (guard_new(run->guards, "an empty tile", 0, 8, side, &nothing, &err)) {
    check_fail(run, "%s", err.text);
    return;
  }
  bool content = (subject->traits & PE_TRAIT_CONTENT) != 0;
  pe_tile tile = {.struct_size = sizeof tile,
                  .seq_len = subject->seq_len,
                  .nq = nq,
                  .nk = nk,
                  .pos_q = nq ? subject->pos : nothing.data,
                  .pos_k = nk ? subject->pos : nothing.data,
                  .q = content ? subject->content_q : NULL,
                  .k = content ? subject->content_k : NULL,
                  .q_stride = subject->width,
                  .k_stride = subject->width,
                  .s = nothing.data,
                  .s_stride = nk};
  pe_error why = {.struct_size = sizeof why, .where = -1};
  check_stage(run, "bias_add with nq = %zu, nk = %zu", nq, nk);
  pe_status status = subject->table->bias_add(subject->self, &tile, NULL, &why);
  if (status != PE_OK) {
    check_fail(run, "bias_add with nq = %zu, nk = %zu gives status %d instead of PE_OK", nq, nk, status);
  }
  guard_free(run->guards, &nothing);
}

static void empty_beside(struct subject *subject, enum guard_side side) {
  uint32_t sites = subject_sites(subject);
  if (sites & PE_SITE_EMBED) {
    empty_rows(subject, PE_ROLE_EMBED, side);
  }
  if (sites & PE_SITE_QK) {
    empty_rows(subject, PE_ROLE_QUERY, side);
    empty_rows(subject, PE_ROLE_KEY, side);
  }
  if (sites & PE_SITE_BIAS) {
    empty_tile(subject, 0, 0, side);
    empty_tile(subject, 0, subject->n, side);
    empty_tile(subject, subject->n, 0, side);
  }
}

static void empty_each(struct subject *subject) {
  empty_beside(subject, GUARD_BEFORE);
  empty_beside(subject, GUARD_AFTER);
}

void check_empty(struct check_run *run) {
  subject_each(run, empty_each);
}

/* ---- the same bits, whatever surrounds the rows ---- */

/* Two ways that must not differ; `claim` ends the sentence. */
static void compare_methods(struct subject *subject, const struct method *first, const struct method *second,
                            const char *claim) {
  struct outputs a = {0}, b = {0};
  char text[400];
  if (compute_or_skip(subject, first, &a, PROBLEM_HOST) && compute_or_skip(subject, second, &b, PROBLEM_HOST) &&
      !outputs_equal(subject, &a, &b, text, sizeof text)) {
    check_fail(subject->run, "%s: %s", text, claim);
  }
  outputs_free(&a);
  outputs_free(&b);
}

static void scratch_each(struct subject *subject) {
  if (subject_scratch_bytes(subject, subject->n, subject->n) == 0) {
    check_skip(subject->run, "it needs no scratch");
    return;
  }
  const struct method zero = {0}, pattern = {.scratch = SCRATCH_PATTERN}, ones = {.scratch = SCRATCH_ONES};
  compare_methods(subject, &zero, &pattern, "with scratch of zeros against scratch of anything");
  compare_methods(subject, &zero, &ones, "with scratch of zeros against scratch of anything");
}

void check_scratch(struct check_run *run) {
  subject_each(run, scratch_each);
}

static void in_place_each(struct subject *subject) {
  if (!(subject_sites(subject) & PE_SITE_QK) || subject->width != subject->shape.head_dim) {
    check_skip(subject->run, "it never works in place");
    return;
  }
  compare_methods(subject, &(struct method){0}, &(struct method){.in_place = true},
                  "out of place against in place (out = in)");
}

void check_in_place(struct check_run *run) {
  subject_each(run, in_place_each);
}

static void strides_each(struct subject *subject) {
  compare_methods(subject, &(struct method){0}, &(struct method){.gap = 1, .offset = 1},
                  "contiguous rows against rows with a gap of 1 element, that start 4 bytes later");
  compare_methods(subject, &(struct method){0}, &(struct method){.gap = 24},
                  "contiguous rows against rows with a gap of 24 elements");
}

void check_strides(struct check_run *run) {
  subject_each(run, strides_each);
}
