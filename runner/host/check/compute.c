#include "host/check/compute.h"

#include "base/memory.h"
#include "host/fp_environment.h"
#include "host/plugin_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One run of calls. */
struct work {
  const struct subject *subject;
  const struct method *method;
  const double *pos;
  double seq_len;
  char *fp_changed;
  struct problem problem;
};

static bool fail(struct work *work, enum problem_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(struct work *work, enum problem_kind kind, const char *format, ...) {
  if (work->problem.kind == PROBLEM_NONE) {
    work->problem.kind = kind;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(work->problem.text, sizeof work->problem.text, format, arguments);
    va_end(arguments);
  }
  return false;
}

float background_at(const struct method *method, size_t i) {
  /* Not 0 * x, which can be -0. */
  return method->background != 0 ? method->background * (float)((int)(i % 251) - 125) / 64 : 0;
}

/* ---- memory of a call ---- */

/* Rows in memory: offset elements, then heads of rows with gaps between them. */
struct layout {
  size_t heads, rows, width, stride, head_stride, offset, count;
};

static struct layout layout_of(const struct method *method, size_t heads, size_t rows, size_t width) {
  struct layout layout = {.heads = heads, .rows = rows, .width = width, .offset = method->offset};
  layout.stride = width + method->gap;
  layout.head_stride = rows * layout.stride + 3 * method->gap;
  /* Nothing stands behind the last row: its end is the end of the memory. */
  layout.count = heads && rows ? layout.offset + (heads - 1) * layout.head_stride + (rows - 1) * layout.stride + width
                               : layout.offset;
  return layout;
}

static float *row_at(const struct layout *layout, float *memory, size_t head, size_t row) {
  return memory + layout->offset + head * layout->head_stride + row * layout->stride;
}

static bool lend(struct work *work, const char *name, size_t bytes, size_t alignment, struct guarded *out) {
  struct error err;
  if (work->method->plain) {
    *out = (struct guarded){.name = name, .bytes = bytes, .data = memory_new(bytes, 1, name, &err)};
    for (size_t i = 0; out->data && i + sizeof(float) <= bytes; i += sizeof(float)) {
      memcpy((char *)out->data + i, &(const uint32_t){GUARD_PATTERN}, sizeof(float));
    }
    return out->data ? true : fail(work, PROBLEM_HOST, "%s", err.text);
  }
  return guard_new(work->subject->run->guards, name, bytes, alignment, work->method->side, out, &err) == 0
             ? true
             : fail(work, PROBLEM_HOST, "%s", err.text);
}

static void give_back(struct work *work, struct guarded *memory) {
  if (work->method->plain) {
    free(memory->data);
    *memory = (struct guarded){0};
  } else {
    guard_free(work->subject->run->guards, memory);
  }
}

static bool lend_scratch(struct work *work, size_t max_q, size_t max_k, struct guarded *out) {
  *out = (struct guarded){0};
  size_t bytes = subject_scratch_bytes(work->subject, max_q, max_k);
  if (bytes == 0) {
    return true;
  }
  if (!lend(work, "scratch", bytes, 64, out)) {
    return false;
  }
  if (work->method->scratch != SCRATCH_PATTERN) {
    memset(out->data, work->method->scratch == SCRATCH_ONES ? 0x3f : 0, bytes);
  }
  return true;
}

/* The gaps between rows still hold the pattern, and so does what surrounds the whole. */
static bool gaps_intact(struct work *work, const struct layout *layout, const struct guarded *memory,
                        const char *what) {
  char text[200];
  if (!work->method->plain && !guard_intact(memory, text, sizeof text)) {
    return fail(work, PROBLEM_BOUNDS, "%s: %s", what, text);
  }
  const float *elements = memory->data;
  for (size_t i = 0; i < layout->count; i++) {
    size_t inside = i - layout->offset, row = inside % layout->head_stride;
    bool is_data = i >= layout->offset && row < layout->rows * layout->stride && row % layout->stride < layout->width;
    if (!is_data && !guard_is_pattern(&elements[i])) {
      return fail(work, PROBLEM_BOUNDS,
                  "%s: wrote into the gap between rows of %s, %zu elements after its first row began", what,
                  memory->name, inside);
    }
  }
  return true;
}

static bool scratch_intact(struct work *work, const struct guarded *scratch, const char *what) {
  char text[200];
  if (scratch->data && !work->method->plain && !guard_intact(scratch, text, sizeof text)) {
    return fail(work, PROBLEM_BOUNDS, "%s: %s", what, text);
  }
  return true;
}

/* ---- after a call ---- */

static void note_environment(struct work *work, const struct fp_environment *before, const char *what) {
  struct fp_environment now = fp_environment_get();
  if (fp_environment_restore(before) && work->fp_changed && !work->fp_changed[0]) {
    snprintf(
        work->fp_changed, CHECK_TEXT,
        "%s changed the floating-point environment: control bits 0x%llx to 0x%llx, x87 0x%x to 0x%x, rounding mode %d "
        "to %d",
        what, (unsigned long long)before->control, (unsigned long long)now.control, before->x87, now.x87,
        before->rounding, now.rounding);
  }
}

static bool judge_status(struct work *work, pe_status status, pe_error *why, const char *what) {
  if (status == PE_OK) {
    return true;
  }
  why->msg[sizeof why->msg - 1] = '\0';
  plugin_text_clean(why->msg);
  /* A domain cannot tell what depends on the length or on where a parameter leads. */
  bool can_be_undefined =
      (work->subject->traits & PE_TRAIT_LENGTH_DEPENDENT) != 0 || work->subject->run->variant[0] != '\0';
  if (can_be_undefined && (status == PE_ERR_POS_RANGE || status == PE_ERR_POS_KIND)) {
    return fail(work, PROBLEM_UNDEFINED, "%s: %s", what, why->msg);
  }
  return fail(work, PROBLEM_STATUS, "%s returned status %d inside the domain: %s", what, status, why->msg);
}

static void stage(struct work *work, const char *what) {
  if (!work->method->plain) {
    check_stage(work->subject->run, "%s", what);
  }
}

/* ---- EMBED and QK ---- */

/* A block of rows of some heads: what goes in, what comes out. */
struct block {
  int role;
  size_t head, heads, row, rows, d_in, d_out;
  const float *in; /* [all heads][n][d_in]; NULL for EMBED */
  float *out;      /* [all heads][n][d_out] */
};

static bool call_rows(struct work *work, const struct block *block, struct guarded *in, struct guarded *out,
                      struct guarded *pos, struct guarded *scratch, const struct layout *in_layout,
                      const struct layout *out_layout, const char *what) {
  const struct subject *subject = work->subject;
  bool in_place = work->method->in_place && block->in && block->d_in == block->d_out;
  pe_rows rows = {.struct_size = sizeof rows,
                  .role = block->role,
                  .head = (uint32_t)block->head,
                  .n_heads = (uint32_t)block->heads,
                  .seq_len = work->seq_len,
                  .n = block->rows,
                  .pos = pos->data};
  float *out_memory = in_place ? in->data : out->data;
  rows.out = row_at(out_layout, out_memory, 0, 0);
  rows.out_stride = out_layout->stride;
  rows.out_head_stride = out_layout->head_stride;
  if (block->in) {
    rows.in = row_at(in_layout, in->data, 0, 0);
    rows.in_stride = in_layout->stride;
    rows.in_head_stride = in_layout->head_stride;
  }
  pe_error why = {.struct_size = sizeof why, .where = -1};
  stage(work, what);
  struct fp_environment before = fp_environment_get();
  pe_status status = block->role == PE_ROLE_EMBED ? subject->table->embed_add(subject->self, &rows, scratch->data, &why)
                                                  : subject->table->qk_apply(subject->self, &rows, scratch->data, &why);
  note_environment(work, &before, what);
  return judge_status(work, status, &why, what) && gaps_intact(work, out_layout, in_place ? in : out, what) &&
         scratch_intact(work, scratch, what);
}

static bool collect(struct work *work, const struct block *block, const struct layout *layout, float *memory,
                    const char *what) {
  size_t n = work->subject->n;
  for (size_t h = 0; h < block->heads; h++) {
    for (size_t r = 0; r < block->rows; r++) {
      const float *from = row_at(layout, memory, h, r);
      memcpy(block->out + ((block->head + h) * n + block->row + r) * block->d_out, from, block->d_out * sizeof *from);
      for (size_t c = 0; c < block->d_out && !work->method->in_place; c++) {
        if (guard_is_pattern(&from[c])) {
          return fail(work, PROBLEM_UNWRITTEN, "%s left element %zu of head %zu, row %zu unwritten", what, c,
                      block->head + h, block->row + r);
        }
      }
    }
  }
  return true;
}

static void prepare(struct work *work, const struct block *block, const struct layout *in_layout, struct guarded *in,
                    const struct layout *out_layout, struct guarded *out) {
  size_t n = work->subject->n;
  for (size_t h = 0; h < block->heads; h++) {
    for (size_t r = 0; r < block->rows; r++) {
      size_t at = (block->head + h) * n + block->row + r;
      if (block->in) {
        memcpy(row_at(in_layout, in->data, h, r), block->in + at * block->d_in, block->d_in * sizeof(float));
      } else {
        for (size_t c = 0; c < block->d_out; c++) {
          row_at(out_layout, out->data, h, r)[c] = background_at(work->method, at * block->d_out + c);
        }
      }
    }
  }
}

static bool run_block(struct work *work, const struct block *block) {
  const struct subject *subject = work->subject;
  static const char *const NAMES[] = {
      [PE_ROLE_EMBED] = "embed_add", [PE_ROLE_QUERY] = "qk_apply of queries", [PE_ROLE_KEY] = "qk_apply of keys"};
  char what[160];
  snprintf(what, sizeof what, "%s, heads %zu to %zu, rows %zu to %zu at positions %.17g to %.17g", NAMES[block->role],
           block->head, block->head + block->heads - 1, block->row, block->row + block->rows - 1,
           work->pos[block->row * subject->axes], work->pos[(block->row + block->rows - 1) * subject->axes]);
  struct layout in_layout = layout_of(work->method, block->heads, block->rows, block->d_in);
  struct layout out_layout = layout_of(work->method, block->heads, block->rows, block->d_out);
  struct guarded in = {0}, out = {0}, pos = {0}, scratch = {0};
  size_t pos_bytes = block->rows * subject->axes * sizeof(double);
  bool in_place = work->method->in_place && block->d_in == block->d_out;
  bool done = (!block->in || lend(work, "in", in_layout.count * sizeof(float), sizeof(float), &in)) &&
              lend(work, "out", out_layout.count * sizeof(float), sizeof(float), &out) &&
              lend(work, "pos", pos_bytes, sizeof(double), &pos) && lend_scratch(work, block->rows, 0, &scratch);
  if (done) {
    memcpy(pos.data, work->pos + block->row * subject->axes, pos_bytes);
    prepare(work, block, &in_layout, &in, &out_layout, &out);
    if (!work->method->plain) {
      guard_read_only(&pos);
      if (block->in && !in_place) {
        guard_read_only(&in);
      }
    }
    done = call_rows(work, block, &in, &out, &pos, &scratch, &in_layout, &out_layout, what);
  }
  if (done) {
    bool from_in = in_place && block->in;
    done = collect(work, block, from_in ? &in_layout : &out_layout, from_in ? in.data : out.data, what);
  }
  give_back(work, &scratch);
  give_back(work, &pos);
  give_back(work, &out);
  give_back(work, &in);
  return done;
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Start of the i-th of the blocks of `size` that cut `total`, counted from the end where that is asked for. */
static size_t block_start(const struct method *method, size_t i, size_t size, size_t total) {
  size_t blocks = (total + size - 1) / size;
  return (method->backwards ? blocks - 1 - i : i) * size;
}

static bool run_rows(struct work *work, struct block block, size_t all_heads) {
  size_t n = work->subject->n, rows = work->method->rows ? work->method->rows : n;
  size_t heads = work->method->heads && block.role != PE_ROLE_EMBED ? work->method->heads : all_heads;
  for (size_t h = 0; h * heads < all_heads; h++) {
    for (size_t r = 0; r * rows < n; r++) {
      block.head = block_start(work->method, h, heads, all_heads);
      block.heads = smaller(heads, all_heads - block.head);
      block.row = block_start(work->method, r, rows, n);
      block.rows = smaller(rows, n - block.row);
      if (!run_block(work, &block)) {
        return false;
      }
    }
  }
  return true;
}

/* ---- BIAS ---- */

struct tile {
  size_t head, q, nq, k, nk;
  float *out; /* [n_heads][n][n] */
};

static bool lend_copy(struct work *work, const char *name, const void *from, size_t bytes, size_t alignment,
                      struct guarded *out) {
  if (!lend(work, name, bytes, alignment, out)) {
    return false;
  }
  memcpy(out->data, from, bytes);
  if (!work->method->plain) {
    guard_read_only(out);
  }
  return true;
}

static bool call_tile(struct work *work, const struct tile *tile, const struct layout *layout, struct guarded *s,
                      const struct guarded *pos_q, const struct guarded *pos_k, const struct guarded *q,
                      const struct guarded *k, struct guarded *scratch, const char *what) {
  const struct subject *subject = work->subject;
  pe_tile call = {.struct_size = sizeof call,
                  .head = (uint32_t)tile->head,
                  .seq_len = work->seq_len,
                  .nq = tile->nq,
                  .nk = tile->nk,
                  .pos_q = pos_q->data,
                  .pos_k = pos_k->data,
                  .q = q->data,
                  .k = k->data,
                  .q_stride = subject->width,
                  .k_stride = subject->width,
                  .s = row_at(layout, s->data, 0, 0),
                  .s_stride = layout->stride};
  pe_error why = {.struct_size = sizeof why, .where = -1};
  stage(work, what);
  struct fp_environment before = fp_environment_get();
  pe_status status = subject->table->bias_add(subject->self, &call, scratch->data, &why);
  note_environment(work, &before, what);
  return judge_status(work, status, &why, what) && gaps_intact(work, layout, s, what) &&
         scratch_intact(work, scratch, what);
}

static bool lend_tile(struct work *work, const struct tile *tile, struct guarded *pos_q, struct guarded *pos_k,
                      struct guarded *q, struct guarded *k) {
  const struct subject *subject = work->subject;
  size_t axes = subject->axes, width = subject->width;
  size_t key_head = tile->head / (subject->shape.n_heads / subject->shape.n_kv_heads);
  if (!lend_copy(work, "pos_q", work->pos + tile->q * axes, tile->nq * axes * sizeof(double), sizeof(double), pos_q) ||
      !lend_copy(work, "pos_k", work->pos + tile->k * axes, tile->nk * axes * sizeof(double), sizeof(double), pos_k)) {
    return false;
  }
  if (!(subject->traits & PE_TRAIT_CONTENT)) {
    return true;
  }
  return lend_copy(work, "q", subject->content_q + (tile->head * subject->n + tile->q) * width,
                   tile->nq * width * sizeof(float), sizeof(float), q) &&
         lend_copy(work, "k", subject->content_k + (key_head * subject->n + tile->k) * width,
                   tile->nk * width * sizeof(float), sizeof(float), k);
}

static bool run_tile(struct work *work, const struct tile *tile) {
  size_t n = work->subject->n, axes = work->subject->axes;
  char what[200];
  snprintf(what, sizeof what, "bias_add, head %zu, query positions %.17g to %.17g, key positions %.17g to %.17g",
           tile->head, work->pos[tile->q * axes], work->pos[(tile->q + tile->nq - 1) * axes], work->pos[tile->k * axes],
           work->pos[(tile->k + tile->nk - 1) * axes]);
  struct layout layout = layout_of(work->method, 1, tile->nq, tile->nk);
  struct guarded s = {0}, pos_q = {0}, pos_k = {0}, q = {0}, k = {0}, scratch = {0};
  bool done = lend_tile(work, tile, &pos_q, &pos_k, &q, &k) &&
              lend(work, "s", layout.count * sizeof(float), sizeof(float), &s) &&
              lend_scratch(work, tile->nq, tile->nk, &scratch);
  for (size_t r = 0; done && r < tile->nq; r++) {
    for (size_t c = 0; c < tile->nk; c++) {
      row_at(&layout, s.data, 0, r)[c] = background_at(work->method, (tile->head * n + tile->q + r) * n + tile->k + c);
    }
  }
  done = done && call_tile(work, tile, &layout, &s, &pos_q, &pos_k, &q, &k, &scratch, what);
  for (size_t r = 0; done && r < tile->nq; r++) {
    memcpy(tile->out + (tile->head * n + tile->q + r) * n + tile->k, row_at(&layout, s.data, 0, r),
           tile->nk * sizeof(float));
  }
  give_back(work, &scratch);
  give_back(work, &s);
  give_back(work, &k);
  give_back(work, &q);
  give_back(work, &pos_k);
  give_back(work, &pos_q);
  return done;
}

static bool run_tiles(struct work *work, float *out) {
  const struct method *method = work->method;
  size_t n = work->subject->n, tile_q = method->tile_q ? method->tile_q : n,
         tile_k = method->tile_k ? method->tile_k : n;
  for (size_t head = 0; head < work->subject->shape.n_heads; head++) {
    for (size_t q = 0; q * tile_q < n; q++) {
      for (size_t k = 0; k * tile_k < n; k++) {
        struct tile tile = {
            .head = head, .q = block_start(method, q, tile_q, n), .k = block_start(method, k, tile_k, n), .out = out};
        tile.nq = smaller(tile_q, n - tile.q);
        tile.nk = smaller(tile_k, n - tile.k);
        if (!run_tile(work, &tile)) {
          return false;
        }
      }
    }
  }
  return true;
}

/* ---- all of it ---- */

static bool make_outputs(struct work *work, struct outputs *out) {
  const struct subject *subject = work->subject;
  uint32_t sites = subject_sites(subject);
  struct error err;
  size_t n = subject->n;
  if (sites & PE_SITE_EMBED) {
    out->embed = memory_new_3d(n, out->d_model, 1, sizeof(float), "embed", &err);
  }
  if (sites & PE_SITE_QK) {
    out->query = memory_new_3d(out->n_heads, n, out->width, sizeof(float), "query", &err);
    out->key = memory_new_3d(out->n_kv_heads, n, out->width, sizeof(float), "key", &err);
  }
  if (sites & PE_SITE_BIAS) {
    out->bias = memory_new_3d(out->n_heads, n, n, sizeof(float), "bias", &err);
  }
  bool made = (!(sites & PE_SITE_EMBED) || out->embed) && (!(sites & PE_SITE_QK) || (out->query && out->key)) &&
              (!(sites & PE_SITE_BIAS) || out->bias);
  return made ? true : fail(work, PROBLEM_HOST, "%s", err.text);
}

struct problem compute(const struct subject *subject, const struct method *method, struct outputs *out,
                       char *fp_changed) {
  *out = (struct outputs){.n = subject->n,
                          .d_model = subject->shape.d_model,
                          .width = subject->width,
                          .n_heads = subject->shape.n_heads,
                          .n_kv_heads = subject->shape.n_kv_heads};
  struct work work = {.subject = subject,
                      .method = method,
                      .pos = method->pos ? method->pos : subject->pos,
                      .seq_len = method->seq_len != 0 ? method->seq_len : subject->seq_len,
                      .fp_changed = fp_changed};
  size_t head_dim = subject->shape.head_dim;
  if (make_outputs(&work, out) && out->embed) {
    run_rows(&work, (struct block){.role = PE_ROLE_EMBED, .d_out = out->d_model, .out = out->embed}, 1);
  }
  struct block qk = {
      .role = PE_ROLE_QUERY, .d_in = head_dim, .d_out = out->width, .in = subject->query, .out = out->query};
  if (work.problem.kind == PROBLEM_NONE && out->query && run_rows(&work, qk, out->n_heads)) {
    qk.role = PE_ROLE_KEY;
    qk.in = subject->key;
    qk.out = out->key;
    run_rows(&work, qk, out->n_kv_heads);
  }
  if (work.problem.kind == PROBLEM_NONE && out->bias) {
    run_tiles(&work, out->bias);
  }
  return work.problem;
}

void outputs_free(struct outputs *outputs) {
  free(outputs->embed);
  free(outputs->query);
  free(outputs->key);
  free(outputs->bias);
  *outputs = (struct outputs){0};
}

bool compute_or_skip(const struct subject *subject, const struct method *method, struct outputs *out,
                     enum problem_kind owned) {
  struct problem problem = compute(subject, method, out, NULL);
  if (problem.kind == PROBLEM_NONE) {
    return true;
  }
  if (problem.kind == owned) {
    check_fail(subject->run, "%s", problem.text);
  } else {
    static const char *const OWNERS[] = {[PROBLEM_STATUS] = "calls",
                                         [PROBLEM_BOUNDS] = "write.bounds",
                                         [PROBLEM_UNWRITTEN] = "write.all",
                                         [PROBLEM_HOST] = "memory"};
    check_skip(subject->run, "not to be judged: see %s", OWNERS[problem.kind]);
  }
  return false;
}

/* ---- comparing ---- */

static bool rows_equal(const char *site, const float *a, const float *b, size_t heads, size_t n, size_t width,
                       const struct subject *subject, char *text, size_t size) {
  for (size_t i = 0; a && i < heads * n * width; i++) {
    if (memcmp(&a[i], &b[i], sizeof *a) != 0) {
      size_t row = i / width % n;
      snprintf(text, size, "%s: head %zu, row %zu (position %.17g), channel %zu: %.9g against %.9g", site,
               i / width / n, row, subject->pos[row * subject->axes], i % width, (double)a[i], (double)b[i]);
      return false;
    }
  }
  return true;
}

static bool bias_equal(const struct outputs *a, const struct outputs *b, const struct subject *subject, char *text,
                       size_t size) {
  size_t n = a->n, axes = subject->axes;
  for (size_t i = 0; a->bias && i < a->n_heads * n * n; i++) {
    if (memcmp(&a->bias[i], &b->bias[i], sizeof *a->bias) != 0) {
      snprintf(text, size, "bias: head %zu, query position %.17g, key position %.17g: %.9g against %.9g", i / n / n,
               subject->pos[i / n % n * axes], subject->pos[i % n * axes], (double)a->bias[i], (double)b->bias[i]);
      return false;
    }
  }
  return true;
}

bool outputs_equal(const struct subject *subject, const struct outputs *a, const struct outputs *b, char *text,
                   size_t size) {
  return rows_equal("embedding", a->embed, b->embed, 1, a->n, a->d_model, subject, text, size) &&
         rows_equal("query", a->query, b->query, a->n_heads, a->n, a->width, subject, text, size) &&
         rows_equal("key", a->key, b->key, a->n_kv_heads, a->n, a->width, subject, text, size) &&
         bias_equal(a, b, subject, text, size);
}

static void digest(uint64_t *hash, const float *values, size_t count) {
  const unsigned char *bytes = (const unsigned char *)values;
  for (size_t i = 0; values && i < count * sizeof *values; i++) {
    *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
  }
}

uint64_t outputs_digest(const struct outputs *outputs) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  digest(&hash, outputs->embed, outputs->n * outputs->d_model);
  digest(&hash, outputs->query, outputs->n_heads * outputs->n * outputs->width);
  digest(&hash, outputs->key, outputs->n_kv_heads * outputs->n * outputs->width);
  digest(&hash, outputs->bias, outputs->n_heads * outputs->n * outputs->n);
  return hash;
}
