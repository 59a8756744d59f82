/* The calls that compute: each cut into runs without padding, checked before and after. */
#include "base/memory.h"
#include "host/instance_parts.h"
#include "host/plugin_names.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- scratch, lent for one call ---- */

int scratch_lend(const struct instance *instance, size_t max_q, size_t max_k, struct scratch *scratch, void **memory,
                 struct error *err) {
  const pe_scheme *table = instance->scheme->table;
  scratch->large = NULL;
  *memory = NULL;
  if (!table->scratch_bytes) {
    return 0;
  }
  struct fp_environment before = call_begin();
  size_t bytes = table->scratch_bytes(instance->plugin, max_q, max_k);
  call_end(instance, &before);
  if (bytes == 0) {
    return 0;
  }
  if (bytes <= sizeof scratch->small) {
    memset(scratch->small, 0, bytes); /* what was there before must not show in a result */
    *memory = scratch->small;
    return 0;
  }
  scratch->large = memory_new(bytes, 1, instance->scheme->info.id, err);
  *memory = scratch->large;
  return scratch->large ? 0 : ERROR_MEMORY;
}

/* ---- what comes back ---- */

/* By bits: a compiler may not reason it away, and both vectorise it. One more than the largest exponent carries into
 * the sign's place. */
static inline __attribute__((always_inline)) bool all_finite(const float *values, size_t n) {
  uint32_t any = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    any |= (bits & 0x7fffffffu) + 0x00800000u;
  }
  return any < 0x80000000u;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static bool all_finite_avx2(const float *values, size_t n) {
  return all_finite(values, n);
}

static bool piece_finite(const float *values, size_t n) {
  return __builtin_cpu_supports("avx2") ? all_finite_avx2(values, n) : all_finite(values, n);
}
#else
static bool piece_finite(const float *values, size_t n) {
  return all_finite(values, n);
}
#endif

size_t first_not_finite(const float *values, size_t n) {
  enum { PIECE = 1024 };
  for (size_t start = 0; start < n; start += PIECE) {
    size_t end = n - start < PIECE ? n : start + PIECE;
    for (size_t i = piece_finite(values + start, end - start) ? end : start; i < end; i++) {
      if (!isfinite(values[i])) {
        return i;
      }
    }
  }
  return n;
}

int rows_undefined(const struct instance *instance, const pe_rows *rows, pe_error *why, struct error *err) {
  const char *id = instance->scheme->info.id;
  size_t axes = instance->domain.pos_axes;
  why->msg[sizeof why->msg - 1] = '\0';
  plugin_text_clean(why->msg);
  if (why->where < 0 || (uint64_t)why->where >= rows->n) {
    return error_set(err, ERROR_UNDEFINED, "%s: not defined at some of the positions %.17g to %.17g: %s", id,
                     rows->pos[0], rows->pos[(rows->n - 1) * axes], why->msg);
  }
  return error_set(err, ERROR_UNDEFINED, "%s: not defined at position %.17g: %s", id,
                   rows->pos[(size_t)why->where * axes], why->msg);
}

static int run_rows(const struct instance *instance, const char *name,
                    pe_status (*call)(const pe_instance *, const pe_rows *, void *, pe_error *), const pe_rows *rows,
                    void *scratch, struct error *err) {
  pe_error why = call_error();
  struct fp_environment before = call_begin();
  pe_status status = call(instance->plugin, rows, scratch, &why);
  call_end(instance, &before);
  if (status == PE_ERR_POS_RANGE || status == PE_ERR_POS_KIND) {
    return rows_undefined(instance, rows, &why, err);
  }
  return status == PE_OK ? 0 : call_failed(instance, name, status, &why, err);
}

/* ---- EMBED ---- */

/* Whether the encoding itself is not a number at this row, or what it was added to. */
static int embed_judge_row(const struct instance *instance, const pe_rows *rows, size_t row, void *scratch,
                           struct error *err) {
  size_t width = instance->shape.d_model;
  float *alone = memory_new(width, sizeof *alone, "an encoding", err);
  if (!alone) {
    return ERROR_MEMORY;
  }
  pe_rows one = *rows;
  one.n = 1;
  one.pos = rows->pos + row * instance->domain.pos_axes;
  one.out = alone;
  one.out_stride = width;
  int status = run_rows(instance, "embed_add", instance->scheme->table->embed_add, &one, scratch, err);
  size_t bad = first_not_finite(alone, width);
  if (!status && bad < width) {
    status = error_set(err, ERROR_SCHEME_VALUE, "%s: embed_add gave %g at position %.17g (channel %zu)",
                       instance->scheme->info.id, (double)alone[bad], one.pos[0], bad);
  }
  free(alone);
  return status;
}

static int embed_run(const struct instance *instance, const pe_rows *rows, size_t first, void *scratch,
                     struct error *err) {
  int status = domain_check_rows(instance, "position", rows->n, rows->pos, first, err);
  if (!status) {
    status = run_rows(instance, "embed_add", instance->scheme->table->embed_add, rows, scratch, err);
  }
  for (size_t r = 0; r < rows->n && !status; r++) {
    if (first_not_finite(rows->out + r * rows->out_stride, instance->shape.d_model) < instance->shape.d_model) {
      return embed_judge_row(instance, rows, r, scratch, err);
    }
  }
  return status;
}

int instance_embed(const struct instance *instance, size_t n, const double *mapped, const uint8_t *padding,
                   double seq_len, float *x, size_t stride, struct error *err) {
  if (!(instance_sites(instance) & PE_SITE_EMBED)) {
    return 0;
  }
  struct scratch scratch;
  void *memory;
  int status = scratch_lend(instance, n, 0, &scratch, &memory, err);
  for (size_t start = 0, end; !status && next_run(padding, n, &start, &end); start = end) {
    pe_rows rows = {.struct_size = sizeof rows,
                    .role = PE_ROLE_EMBED,
                    .n_heads = 1,
                    .seq_len = seq_len,
                    .n = end - start,
                    .pos = mapped + start * instance->domain.pos_axes,
                    .out = x + start * stride,
                    .out_stride = stride};
    status = embed_run(instance, &rows, start, memory, err);
  }
  free(scratch.large);
  return status;
}

/* ---- QK ---- */

static const char *role_name(const pe_rows *rows) {
  return rows->role == PE_ROLE_QUERY ? "query" : "key";
}

/* What an output holds before the call: a NaN whose bits no arithmetic makes. */
static const uint32_t UNWRITTEN = 0x7fa5a5a5u;

static void mark_unwritten(const struct instance *instance, const pe_rows *rows) {
  for (size_t h = 0; rows->in != rows->out && h < rows->n_heads; h++) {
    float *out = rows->out + h * rows->out_head_stride;
    for (size_t i = 0; i < rows->n * instance->qk_width; i++) {
      memcpy(&out[i], &UNWRITTEN, sizeof *out);
    }
  }
}

static bool is_unwritten(const float *value) {
  return memcmp(value, &UNWRITTEN, sizeof *value) == 0;
}

/* Called where element `bad` of head h, row r is not finite: the plugin's fault unless its input was not finite. Where
 * the input was overwritten, a row of ones stands in for it. */
static int rotate_judge_row(const struct instance *instance, const pe_rows *rows, size_t h, size_t r, size_t bad,
                            void *scratch, struct error *err) {
  size_t width = instance->qk_width, head_dim = instance->shape.head_dim;
  const double *position = rows->pos + r * instance->domain.pos_axes;
  double value = (double)rows->out[h * rows->out_head_stride + r * rows->out_stride + bad];
  int status = 0;
  if (rows->in != rows->out) {
    const float *in = rows->in + h * rows->in_head_stride + r * rows->in_stride;
    if (is_unwritten(&rows->out[h * rows->out_head_stride + r * rows->out_stride + bad])) {
      return error_set(err, ERROR_SCHEME_VALUE,
                       "%s: qk_apply left channel %zu of %s head %zu at position %.17g unwritten",
                       instance->scheme->info.id, bad, role_name(rows), rows->head + h, position[0]);
    }
    if (first_not_finite(in, head_dim) < head_dim) {
      return 0;
    }
  } else {
    float *ones = memory_new(width, sizeof *ones, "a row", err);
    if (!ones) {
      return ERROR_MEMORY;
    }
    for (size_t i = 0; i < width; i++) {
      ones[i] = 1;
    }
    pe_rows one = *rows;
    one.n = one.n_heads = 1;
    one.head = rows->head + (uint32_t)h;
    one.pos = position;
    one.in = one.out = ones;
    status = run_rows(instance, "qk_apply", instance->scheme->table->qk_apply, &one, scratch, err);
    bool sound = first_not_finite(ones, width) == width;
    free(ones);
    if (status || sound) {
      return status;
    }
  }
  return error_set(err, ERROR_SCHEME_VALUE, "%s: qk_apply gave %g for %s head %zu at position %.17g (channel %zu)",
                   instance->scheme->info.id, value, role_name(rows), rows->head + h, position[0], bad);
}

static int rotate_run(const struct instance *instance, const pe_rows *rows, size_t first, void *scratch,
                      struct error *err) {
  int status = domain_check_rows(instance, "position", rows->n, rows->pos, first, err);
  if (!status) {
    mark_unwritten(instance, rows);
    status = run_rows(instance, "qk_apply", instance->scheme->table->qk_apply, rows, scratch, err);
  }
  size_t width = instance->qk_width, count = rows->n * width;
  for (size_t h = 0; h < rows->n_heads && !status; h++) {
    size_t bad = first_not_finite(rows->out + h * rows->out_head_stride, count);
    if (bad < count) {
      return rotate_judge_row(instance, rows, h, bad / width, bad % width, scratch, err);
    }
  }
  return status;
}

/* Rows that the scheme does not move: copied, widened with zeros. */
static void copy_rows(size_t n, size_t from, size_t to, const float *in, float *out) {
  for (size_t row = 0; row < n && in != out; row++) {
    memcpy(out + row * to, in + row * from, from * sizeof *out);
    memset(out + row * to + from, 0, (to - from) * sizeof *out);
  }
}

int instance_rotate_rows(const struct instance *instance, int role, unsigned layer, unsigned head, unsigned n_heads,
                         size_t n, size_t first, size_t count, const double *mapped, const uint8_t *padding,
                         double seq_len, const float *in, float *out, struct error *err) {
  size_t head_dim = instance->shape.head_dim, width = instance->qk_width;
  assert(role == PE_ROLE_QUERY || role == PE_ROLE_KEY);
  assert(in != out || width == head_dim);
  assert(first <= n && count <= n - first);
  bool moves = instance_sites(instance) & PE_SITE_QK;
  for (size_t h = 0; h < n_heads; h++) {
    for (size_t row = first; row < first + count; row++) {
      if (!moves || (padding && padding[row])) {
        size_t at = h * n + row;
        copy_rows(1, head_dim, width, in + at * head_dim, out + at * width);
      }
    }
  }
  if (!moves) {
    return 0;
  }
  struct scratch scratch;
  void *memory;
  int status = scratch_lend(instance, count, 0, &scratch, &memory, err);
  const uint8_t *padding_here = padding ? padding + first : NULL;
  for (size_t start = 0, end; !status && next_run(padding_here, count, &start, &end); start = end) {
    size_t row = first + start;
    pe_rows rows = {.struct_size = sizeof rows,
                    .role = role,
                    .layer = layer,
                    .head = head,
                    .n_heads = n_heads,
                    .seq_len = seq_len,
                    .n = end - start,
                    .pos = mapped + row * instance->domain.pos_axes,
                    .in = in + row * head_dim,
                    .in_stride = head_dim,
                    .in_head_stride = n * head_dim,
                    .out = out + row * width,
                    .out_stride = width,
                    .out_head_stride = n * width};
    status = rotate_run(instance, &rows, row, memory, err);
  }
  free(scratch.large);
  return status;
}

int instance_rotate(const struct instance *instance, int role, unsigned layer, unsigned head, unsigned n_heads,
                    size_t n, const double *mapped, const uint8_t *padding, double seq_len, const float *in, float *out,
                    struct error *err) {
  return instance_rotate_rows(instance, role, layer, head, n_heads, n, 0, n, mapped, padding, seq_len, in, out, err);
}

/* ---- BIAS ---- */

int tile_undefined(const struct instance *instance, const pe_tile *tile, pe_error *why, struct error *err) {
  size_t axes = instance->domain.pos_axes;
  why->msg[sizeof why->msg - 1] = '\0';
  plugin_text_clean(why->msg);
  return error_set(err, ERROR_UNDEFINED,
                   "%s: not defined at some of the query positions %.17g to %.17g and key positions %.17g to %.17g: %s",
                   instance->scheme->info.id, tile->pos_q[0], tile->pos_q[(tile->nq - 1) * axes], tile->pos_k[0],
                   tile->pos_k[(tile->nk - 1) * axes], why->msg);
}

static int run_tile(const struct instance *instance, const pe_tile *tile, void *scratch, struct error *err) {
  pe_error why = call_error();
  struct fp_environment before = call_begin();
  pe_status status = instance->scheme->table->bias_add(instance->plugin, tile, scratch, &why);
  call_end(instance, &before);
  if (status == PE_ERR_POS_RANGE || status == PE_ERR_POS_KIND) {
    return tile_undefined(instance, tile, &why, err);
  }
  return status == PE_OK ? 0 : call_failed(instance, "bias_add", status, &why, err);
}

/* Whether the bias itself is not a number somewhere, or the scores it was added to. */
static int bias_judge(const struct instance *instance, const pe_tile *tile, void *scratch, struct error *err) {
  pe_tile alone = *tile;
  alone.s = memory_new_3d(1, tile->nq, tile->nk, sizeof *alone.s, "a tile of bias", err);
  if (!alone.s) {
    return ERROR_MEMORY;
  }
  alone.s_stride = tile->nk;
  int status = run_tile(instance, &alone, scratch, err);
  size_t count = tile->nq * tile->nk, bad = first_not_finite(alone.s, count), axes = instance->domain.pos_axes;
  if (!status && bad < count) {
    status = error_set(err, ERROR_SCHEME_VALUE,
                       "%s: bias_add gave %g for head %u at query position %.17g, key position %.17g",
                       instance->scheme->info.id, (double)alone.s[bad], tile->head, tile->pos_q[bad / tile->nk * axes],
                       tile->pos_k[bad % tile->nk * axes]);
  }
  free(alone.s);
  return status;
}

static int bias_run(const struct instance *instance, const pe_tile *tile, size_t first_q, size_t first_k, void *scratch,
                    struct error *err) {
  int status = domain_check_rows(instance, "query position", tile->nq, tile->pos_q, first_q, err);
  if (!status) {
    status = domain_check_rows(instance, "key position", tile->nk, tile->pos_k, first_k, err);
  }
  if (!status) {
    status = domain_check_distances(instance, tile->nq, tile->pos_q, tile->nk, tile->pos_k, err);
  }
  if (!status) {
    status = run_tile(instance, tile, scratch, err);
  }
  for (size_t r = 0; r < tile->nq && !status; r++) {
    if (first_not_finite(tile->s + r * tile->s_stride, tile->nk) < tile->nk) {
      return bias_judge(instance, tile, scratch, err);
    }
  }
  return status;
}

int instance_bias(const struct instance *instance, const struct bias_tile *tile, struct error *err) {
  if (!(instance_sites(instance) & PE_SITE_BIAS)) {
    return 0;
  }
  bool content = (instance->traits & PE_TRAIT_CONTENT) != 0;
  assert(!content || (tile->q && tile->k));
  size_t axes = instance->domain.pos_axes;
  struct scratch scratch;
  void *memory;
  int status = scratch_lend(instance, tile->nq, tile->nk, &scratch, &memory, err);
  for (size_t q = 0, q_end; !status && next_run(tile->padding_q, tile->nq, &q, &q_end); q = q_end) {
    for (size_t k = 0, k_end; !status && next_run(tile->padding_k, tile->nk, &k, &k_end); k = k_end) {
      pe_tile part = {.struct_size = sizeof part,
                      .layer = tile->layer,
                      .head = tile->head,
                      .seq_len = tile->seq_len,
                      .nq = q_end - q,
                      .nk = k_end - k,
                      .pos_q = tile->mapped_q + q * axes,
                      .pos_k = tile->mapped_k + k * axes,
                      .q = content ? tile->q + q * tile->q_stride : NULL,
                      .k = content ? tile->k + k * tile->k_stride : NULL,
                      .q_stride = tile->q_stride,
                      .k_stride = tile->k_stride,
                      .s = tile->s + q * tile->s_stride + k,
                      .s_stride = tile->s_stride};
      status = bias_run(instance, &part, q, k, memory, err);
    }
  }
  free(scratch.large);
  return status;
}
