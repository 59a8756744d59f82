#include "bias_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *zeroed(size_t n, size_t size) {
  void *memory = calloc(n ? n : 1, size);
  if (!memory) {
    fail_msg("no memory for %zu elements", n);
  }
  return memory;
}

double *bias_positions(double first, double step, size_t n) {
  double *pos = zeroed(n, sizeof *pos);
  for (size_t i = 0; i < n; i++) {
    pos[i] = first + step * (double)i;
  }
  return pos;
}

float *bias_matrix(plugin_fixture *fixture, double seq_len, size_t nq, const double *pos_q, size_t nk,
                   const double *pos_k) {
  const uint32_t heads = fixture->shape.n_heads;
  float *s = zeroed(heads * nq * nk, sizeof *s);
  for (uint32_t head = 0; head < heads; head++) {
    if (plugin_fixture_bias(fixture, head, seq_len, nq, pos_q, nk, pos_k, NULL, NULL, s + head * nq * nk) != PE_OK) {
      fail_msg("%s: head %u: %s", fixture->scheme->id, head, fixture->error.msg);
    }
  }
  return s;
}

static const pe_ext_vjp *gradients_of(const plugin_fixture *fixture) {
  const pe_ext_vjp *vjp = fixture->scheme->extension ? fixture->scheme->extension(PE_EXT_VJP) : NULL;
  if (!vjp || !PE_HAS(vjp, pe_ext_vjp, bias_vjp)) {
    fail_msg("%s offers no gradients", fixture->scheme->id);
  }
  return vjp;
}

void bias_gradient(plugin_fixture *fixture, size_t nq, const double *pos_q, size_t nk, const double *pos_k,
                   const float *ds, float *const *dw) {
  const pe_ext_vjp *vjp = gradients_of(fixture);
  void *scratch = plugin_fixture_scratch(fixture, nq, nk);
  for (uint32_t head = 0; head < fixture->shape.n_heads; head++) {
    float *gradient = zeroed(nq * nk, sizeof *gradient);
    memcpy(gradient, ds + head * nq * nk, nq * nk * sizeof *gradient);
    const pe_tile tile = {.struct_size = sizeof tile,
                          .head = head,
                          .seq_len = plugin_fixture_length(pos_k, nk),
                          .nq = nq,
                          .nk = nk,
                          .pos_q = pos_q,
                          .pos_k = pos_k,
                          .s = gradient,
                          .s_stride = nk};
    const pe_status status = vjp->bias_vjp(fixture->instance, &tile, NULL, 0, NULL, 0, dw, scratch, &fixture->error);
    assert_int_equal(status, PE_OK);
    assert_memory_equal(gradient, ds + head * nq * nk, nq * nk * sizeof *gradient);
    free(gradient);
  }
  free(scratch);
}

void bias_golden_vjp(golden_tally *tally, const golden_file *file, const char *name, plugin_fixture *fixture,
                     float *const *dw, golden_tolerance bias_tolerance) {
  golden_array pos_q = golden_read(file, name, "in_positions_q");
  golden_array pos_k = golden_read(file, name, "in_positions_k");
  golden_array bias = golden_read(file, name, "out_bias");
  golden_array gradient = golden_read(file, name, "in_gradient");
  float *ds = golden_floats(&gradient);
  float *got = bias_matrix(fixture, 0, pos_q.n, pos_q.data, pos_k.n, pos_k.data);
  golden_check_floats(tally, "out_bias", &bias, got, bias_tolerance);
  bias_gradient(fixture, pos_q.n, pos_q.data, pos_k.n, pos_k.data, ds, dw);
  free(got);
  free(ds);
  golden_array_free(&gradient);
  golden_array_free(&bias);
  golden_array_free(&pos_k);
  golden_array_free(&pos_q);
}

golden_tolerance bias_of_largest(const golden_array *array, double relative) {
  double largest = 0;
  for (size_t i = 0; i < array->n; i++) {
    largest = fmax(largest, fabs(array->data[i]));
  }
  return (golden_tolerance){.absolute = relative * largest};
}

/* ---- tiles ---- */

static size_t draw(uint64_t *state, size_t below) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)((*state >> 33) % below);
}

/* What stands in the scores before: exact in float32, different at every element. */
static float background(size_t row, size_t col) {
  return (float)row * 0.25f - (float)col * 0.125f;
}

/* One tile [row, row + nq) x [col, col + nk) of a head, in the middle of a marked block. */
static void check_tile(plugin_fixture *fixture, uint32_t head, const float *whole, const double *pos, size_t length,
                       size_t row, size_t nq, size_t col, size_t nk) {
  const float mark = -12345.5f;
  const size_t stride = nk + 3;
  float *block = zeroed((nq + 2) * stride, sizeof *block);
  for (size_t i = 0; i < (nq + 2) * stride; i++) {
    block[i] = mark;
  }
  float *s = block + stride;
  for (size_t r = 0; r < nq; r++) {
    for (size_t c = 0; c < nk; c++) {
      s[r * stride + c] = background(row + r, col + c);
    }
  }
  const pe_tile tile = {.struct_size = sizeof tile,
                        .head = head,
                        .seq_len = (double)length,
                        .nq = nq,
                        .nk = nk,
                        .pos_q = pos + row,
                        .pos_k = pos + col,
                        .s = s,
                        .s_stride = stride};
  void *scratch = plugin_fixture_scratch(fixture, nq, nk);
  assert_int_equal(fixture->scheme->bias_add(fixture->instance, &tile, scratch, &fixture->error), PE_OK);
  free(scratch);
  for (size_t i = 0; i < (nq + 2) * stride; i++) {
    const size_t r = i / stride;
    const size_t c = i % stride;
    float expected = mark;
    if (r >= 1 && r <= nq && c < nk) {
      expected = background(row + r - 1, col + c) + whole[(row + r - 1) * length + col + c];
    }
    if (memcmp(&block[i], &expected, sizeof expected) != 0) {
      fail_msg("%s: head %u, tile [%zu,%zu) x [%zu,%zu): element %zu is %.9g, not %.9g", fixture->scheme->id, head, row,
               row + nq, col, col + nk, i, (double)block[i], (double)expected);
    }
  }
  free(block);
}

void bias_check_tiles(plugin_fixture *fixture, size_t length, uint64_t seed) {
  double *pos = bias_positions(0.0, 1.0, length);
  float *whole = bias_matrix(fixture, 0, length, pos, length, pos);
  for (int round = 0; round < 40; round++) {
    const size_t row = draw(&seed, length);
    const size_t col = draw(&seed, length);
    const uint32_t head = (uint32_t)draw(&seed, fixture->shape.n_heads);
    check_tile(fixture, head, whole + head * length * length, pos, length, row, draw(&seed, length - row) + 1, col,
               draw(&seed, length - col) + 1);
  }
  check_tile(fixture, 0, whole, pos, length, 0, 0, 0, length);
  check_tile(fixture, 0, whole, pos, length, 0, length, 0, 0);
  free(whole);
  free(pos);
}

/* ---- cache and shifts ---- */

static void check_same_bits(const plugin_fixture *fixture, const char *what, const float *got, const float *expected,
                            size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (memcmp(&got[i], &expected[i], sizeof *got) != 0) {
      fail_msg("%s: %s: element %zu is %.9g, not %.9g", fixture->scheme->id, what, i, (double)got[i],
               (double)expected[i]);
    }
  }
}

void bias_check_cache(plugin_fixture *fixture, size_t length) {
  double *pos = bias_positions(0.0, 1.0, length);
  float *full = bias_matrix(fixture, (double)length, length, pos, length, pos);
  float *last = bias_matrix(fixture, (double)length, 1, pos + length - 1, length, pos);
  for (uint32_t head = 0; head < fixture->shape.n_heads; head++) {
    check_same_bits(fixture, "one query against a cache", last + head * length,
                    full + head * length * length + (length - 1) * length, length);
  }
  free(last);
  free(full);
  free(pos);
}

static void check_shift(plugin_fixture *fixture, size_t length, double step, double shift) {
  double *pos = bias_positions(0.0, step, length);
  double *moved = bias_positions(shift, step, length);
  float *at_zero = bias_matrix(fixture, 0, length, pos, length, pos);
  float *at_shift = bias_matrix(fixture, 0, length, moved, length, moved);
  check_same_bits(fixture, "moved positions", at_shift, at_zero, fixture->shape.n_heads * length * length);
  free(at_shift);
  free(at_zero);
  free(moved);
  free(pos);
}

void bias_check_relative(plugin_fixture *fixture, size_t length) {
  check_shift(fixture, length, 1.0, 1.0);
  check_shift(fixture, length, 1.0, 131071.0);
  check_shift(fixture, length, 1.0, -77.0);
  check_shift(fixture, length, 1.0, 4503599627370496.0); /* 2^52 */
  if (!fixture->domain.integer_only) {
    check_shift(fixture, length, 0.25, 1000.25);
    check_shift(fixture, length, 0.25, -0.75);
  }
}

/* ---- refusals ---- */

/* pos_q [2] or pos_k [3] holds `bad` at its last place. */
static void check_refusal(plugin_fixture *fixture, bool query, double bad, pe_status expected) {
  const pe_ext_vjp *vjp = gradients_of(fixture);
  double pos_q[2] = {2.0, 1.0};
  double pos_k[3] = {0.0, 1.0, 2.0};
  *(query ? &pos_q[1] : &pos_k[2]) = bad;
  float s[6] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
  float before[6];
  memcpy(before, s, sizeof s);
  const pe_tile tile = {.struct_size = sizeof tile,
                        .seq_len = 3,
                        .nq = 2,
                        .nk = 3,
                        .pos_q = pos_q,
                        .pos_k = pos_k,
                        .s = s,
                        .s_stride = 3};
  void *scratch = plugin_fixture_scratch(fixture, 2, 3);
  for (int gradient = 0; gradient < 2; gradient++) {
    pe_error error = {.struct_size = sizeof error, .where = -7};
    const pe_status status = gradient ? vjp->bias_vjp(fixture->instance, &tile, NULL, 0, NULL, 0, NULL, scratch, &error)
                                      : fixture->scheme->bias_add(fixture->instance, &tile, scratch, &error);
    if (status != expected || error.where != (query ? 1 : 2) || !strstr(error.msg, query ? "query" : "key")) {
      fail_msg("%s: %s position %g gives status %d at %lld: %s", fixture->scheme->id, query ? "query" : "key", bad,
               status, (long long)error.where, error.msg);
    }
    assert_memory_equal(s, before, sizeof s);
    /* A message is not needed. */
    assert_int_equal(gradient ? vjp->bias_vjp(fixture->instance, &tile, NULL, 0, NULL, 0, NULL, scratch, NULL)
                              : fixture->scheme->bias_add(fixture->instance, &tile, scratch, NULL),
                     expected);
  }
  free(scratch);
}

void bias_check_refusals(plugin_fixture *fixture) {
  const double bad[] = {NAN,
                        INFINITY,
                        -INFINITY,
                        1e300,
                        nextafter(fixture->domain.max, INFINITY),
                        nextafter(fixture->domain.min, -INFINITY)};
  for (int query = 0; query < 2; query++) {
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
      check_refusal(fixture, query == 1, bad[i], PE_ERR_POS_RANGE);
    }
    if (fixture->domain.integer_only) {
      check_refusal(fixture, query == 1, 1.5, PE_ERR_POS_KIND);
    }
  }
}
