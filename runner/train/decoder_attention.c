/* Attention of one sequence in one layer, forward and backward, head by head.
 *
 *     s [T][T] = scale q k' + bias      a = softmax over j <= i      c = a v
 *     da = dc v'      dv = a' dc      ds = a (da - sum_j a da)      dq = scale ds k      dk = scale ds' q
 *
 * Rows are cut into blocks, so that what lies wholly above the diagonal is not computed.
 */
#include "train/decoder_parts.h"

#include "base/matrix.h"

#include <assert.h>
#include <string.h>

enum { BLOCK = 64 };

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* One head of one sequence: where its rows lie, and T. */
struct head {
  size_t n, width, head_dim;
  struct matrix q, k, v; /* [n][width], [n][width], [n][head_dim] */
  const float *bias;     /* [n][n] or NULL */
  float *weights;        /* [n][n] */
  float *dscores;        /* [n][n] or NULL */
  double scale;
};

static struct head head_of(const struct pass *pass, size_t layer, size_t sequence, size_t head) {
  const struct decoder *decoder = pass->decoder;
  const struct decoder_shape *shape = &decoder->layout->shape;
  const struct layer_rows *rows = &decoder->layers[layer];
  size_t n = pass->batch->length, d = shape->d_model, head_dim = d / shape->heads;
  size_t width = instance_qk_width(stack_layer(decoder->stack, layer));
  size_t at = sequence * n * d + head * head_dim, square = (sequence * shape->heads + head) * n * n;
  struct head out = {.n = n,
                     .width = rows->moved_q ? width : head_dim,
                     .head_dim = head_dim,
                     .q = {rows->q + at, d},
                     .k = {rows->k + at, d},
                     .v = {rows->v + at, d},
                     .weights = rows->weights + square,
                     .dscores = rows->dscores ? rows->dscores + square : NULL,
                     .scale = shape->score_scale};
  if (rows->moved_q) {
    size_t moved = (sequence * shape->heads + head) * n * width;
    out.q = (struct matrix){rows->moved_q + moved, width};
    out.k = (struct matrix){rows->moved_k + moved, width};
  }
  if (decoder->encoding.has_bias) {
    out.bias = decoder->encoding.bias + (layer * shape->heads + head) * n * n;
  }
  return out;
}

/* to [heads][n][head_dim] from rows [n][heads][head_dim], and back. */
static void gather_heads(size_t n, size_t heads, size_t head_dim, const float *rows, float *to) {
  for (size_t head = 0; head < heads; head++) {
    for (size_t t = 0; t < n; t++) {
      memcpy(to + (head * n + t) * head_dim, rows + (t * heads + head) * head_dim, head_dim * sizeof *to);
    }
  }
}

static void scatter_heads(size_t n, size_t heads, size_t head_dim, const float *from, float *rows) {
  for (size_t head = 0; head < heads; head++) {
    for (size_t t = 0; t < n; t++) {
      memcpy(rows + (t * heads + head) * head_dim, from + (head * n + t) * head_dim, head_dim * sizeof *rows);
    }
  }
}

/* Bias tile of a scheme that looks at content. */
static struct bias_tile content_tile(const struct pass *pass, size_t layer, size_t head, const struct head *h,
                                     float *s) {
  double seq_len;
  const double *mapped = encoding_positions(&pass->decoder->encoding, pass->decoder->stack, layer, &seq_len);
  return (struct bias_tile){.layer = (unsigned)layer,
                            .head = (unsigned)head,
                            .seq_len = seq_len,
                            .nq = h->n,
                            .nk = h->n,
                            .mapped_q = mapped,
                            .mapped_k = mapped,
                            .q = h->q.data,
                            .k = h->k.data,
                            .q_stride = h->q.stride,
                            .k_stride = h->k.stride,
                            .s = s,
                            .s_stride = h->n};
}

static bool looks_at_content(const struct instance *scheme) {
  return (instance_sites(scheme) & PE_SITE_BIAS) && (instance_traits(scheme) & PE_TRAIT_CONTENT);
}

static struct matrix rows_from(struct matrix m, size_t row) {
  return (struct matrix){m.data + row * m.stride, m.stride};
}

int decoder_attend(const struct pass *pass, size_t layer, size_t sequence, struct decoder_space *space,
                   struct error *err) {
  struct decoder *decoder = pass->decoder;
  const struct decoder_shape *shape = &decoder->layout->shape;
  const struct instance *scheme = stack_layer(decoder->stack, layer);
  struct layer_rows *rows = &decoder->layers[layer];
  size_t n = pass->batch->length, d = shape->d_model, heads = shape->heads, head_dim = d / heads;
  const struct turns *turns = &decoder->encoding.turns[layer];
  if (turns->table) {
    for (size_t head = 0; head < heads; head++) {
      size_t at = sequence * n * d + head * head_dim, moved = (sequence * heads + head) * n * head_dim;
      turns_apply(turns, PE_ROLE_QUERY, head, rows->q + at, d, rows->moved_q + moved);
      turns_apply(turns, PE_ROLE_KEY, head, rows->k + at, d, rows->moved_k + moved);
    }
  } else if (rows->moved_q) {
    double seq_len;
    const double *mapped = encoding_positions(&decoder->encoding, decoder->stack, layer, &seq_len);
    size_t moved = sequence * heads * n * instance_qk_width(scheme);
    gather_heads(n, heads, head_dim, rows->q + sequence * n * d, space->by_head);
    int status = instance_rotate(scheme, PE_ROLE_QUERY, (unsigned)layer, 0, (unsigned)heads, n, mapped, NULL, seq_len,
                                 space->by_head, rows->moved_q + moved, err);
    gather_heads(n, heads, head_dim, rows->k + sequence * n * d, space->by_head);
    status = status ? status
                    : instance_rotate(scheme, PE_ROLE_KEY, (unsigned)layer, 0, (unsigned)heads, n, mapped, NULL,
                                      seq_len, space->by_head, rows->moved_k + moved, err);
    if (status) {
      return status;
    }
  }
  for (size_t head = 0; head < heads; head++) {
    struct head h = head_of(pass, layer, sequence, head);
    struct matrix keys = {space->turned, n};
    train_kernels()->transpose(n, h.width, (float)h.scale, h.k.data, h.k.stride, space->turned, n);
    for (size_t first = 0; first < n; first += BLOCK) {
      size_t count = smaller(BLOCK, n - first), seen = first + count;
      matrix_product(count, seen, h.width, rows_from(h.q, first), keys, false, h.weights + first * n, n);
    }
    if (looks_at_content(scheme)) {
      /* Above the diagonal of the last block nothing was written yet; a bias is added there, too, and then dropped. */
      for (size_t i = 0; i < n; i++) {
        memset(h.weights + i * n + i + 1, 0, (n - 1 - i) * sizeof *h.weights);
      }
      struct bias_tile tile = content_tile(pass, layer, head, &h, h.weights);
      int status = instance_bias(scheme, &tile, err);
      if (status) {
        return status;
      }
    }
    for (size_t i = 0; i < n; i++) {
      float *row = h.weights + i * n;
      train_kernels()->softmax(i + 1, h.bias ? h.bias + i * n : NULL, row);
      memset(row + i + 1, 0, (n - 1 - i) * sizeof *row);
    }
    for (size_t first = 0; first < n; first += BLOCK) {
      size_t count = smaller(BLOCK, n - first), seen = first + count;
      matrix_product(count, head_dim, seen, (struct matrix){h.weights + first * n, n}, h.v, false,
                     rows->context + (sequence * n + first) * d + head * head_dim, d);
    }
  }
  return 0;
}

/* dq, dk [n][width] (stride) of one head from dcontext [n][d]; dv rows of the layer. */
static int head_backward(const struct pass *pass, size_t layer, size_t sequence, size_t head, const float *dcontext,
                         const struct decoder_space *space, float *dscores, float *dq, float *dk, size_t stride,
                         struct error *err) {
  struct decoder *decoder = pass->decoder;
  const struct decoder_shape *shape = &decoder->layout->shape;
  struct head h = head_of(pass, layer, sequence, head);
  size_t n = h.n, d = shape->d_model;
  const struct instance *scheme = stack_layer(decoder->stack, layer);
  struct matrix dc = {dcontext + head * h.head_dim, d}, weights = {h.weights, n}, ds = {dscores, n};
  float *dv = decoder->back.dv + sequence * n * d + head * h.head_dim;
  struct matrix values = {space->turned, n};
  train_kernels()->transpose(n, h.head_dim, 1.0f, h.v.data, h.v.stride, space->turned, n);
  for (size_t first = 0; first < n; first += BLOCK) {
    size_t count = smaller(BLOCK, n - first), seen = first + count;
    matrix_product(count, seen, h.head_dim, rows_from(dc, first), values, false, dscores + first * n, n);
    /* Keys of this block are seen by its own rows and all later ones. */
    matrix_product_a_transposed(count, h.head_dim, n - first, (struct matrix){h.weights + first * n + first, n},
                                rows_from(dc, first), false, dv + first * d, d);
  }
  for (size_t i = 0; i < n; i++) {
    train_kernels()->softmax_backward(i + 1, weights.data + i * n, dscores + i * n);
    memset(dscores + i * n + i + 1, 0, (n - 1 - i) * sizeof *dscores);
  }
  for (size_t first = 0; first < n; first += BLOCK) {
    size_t count = smaller(BLOCK, n - first), seen = first + count;
    matrix_product(count, h.width, seen, rows_from(ds, first), h.k, false, dq + first * stride, stride);
    matrix_product_a_transposed(count, h.width, n - first, (struct matrix){dscores + first * n + first, n},
                                rows_from(h.q, first), false, dk + first * stride, stride);
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t c = 0; c < h.width; c++) {
      dq[i * stride + c] *= (float)h.scale;
      dk[i * stride + c] *= (float)h.scale;
    }
  }
  if (!looks_at_content(scheme)) {
    return 0;
  }
  struct bias_tile tile = content_tile(pass, layer, head, &h, dscores);
  float *const *slots = scheme == decoder->stack->scheme ? scheme_slots(decoder, sequence) : NULL;
  return instance_bias_vjp(scheme, &tile, dq, stride, dk, stride, slots, err);
}

int decoder_attend_backward(const struct pass *pass, size_t layer, size_t sequence, const float *dcontext,
                            struct decoder_space *space, struct error *err) {
  struct decoder *decoder = pass->decoder;
  const struct decoder_shape *shape = &decoder->layout->shape;
  const struct instance *scheme = stack_layer(decoder->stack, layer);
  struct layer_rows *rows = &decoder->layers[layer];
  size_t n = pass->batch->length, d = shape->d_model, heads = shape->heads, head_dim = d / heads;
  size_t width = instance_qk_width(scheme), at = sequence * n * d;
  float *dq = decoder->back.dq + at, *dk = decoder->back.dk + at;
  float *moved_dq = space->by_head, *moved_dk = moved_dq + heads * n * width;
  for (size_t head = 0; head < heads; head++) {
    float *dscores = rows->dscores ? rows->dscores + (sequence * heads + head) * n * n : space->scores;
    int status = rows->moved_q ? head_backward(pass, layer, sequence, head, dcontext, space, dscores,
                                               moved_dq + head * n * width, moved_dk + head * n * width, width, err)
                               : head_backward(pass, layer, sequence, head, dcontext, space, dscores,
                                               dq + head * head_dim, dk + head * head_dim, d, err);
    if (status) {
      return status;
    }
  }
  if (!rows->moved_q) {
    return 0;
  }
  const struct turns *turns = &decoder->encoding.turns[layer];
  for (size_t head = 0; turns->table && head < heads; head++) {
    turns_back(turns, PE_ROLE_QUERY, head, moved_dq + head * n * width, dq + head * head_dim, d);
    turns_back(turns, PE_ROLE_KEY, head, moved_dk + head * n * width, dk + head * head_dim, d);
  }
  if (turns->table) {
    return 0;
  }
  double seq_len;
  const double *mapped = encoding_positions(&decoder->encoding, decoder->stack, layer, &seq_len);
  float *const *slots = scheme == decoder->stack->scheme ? scheme_slots(decoder, sequence) : NULL;
  float *in = moved_dk + heads * n * width, *out = in + heads * n * width;
  gather_heads(n, heads, head_dim, rows->q + at, in);
  int status = instance_rotate_vjp(scheme, PE_ROLE_QUERY, (unsigned)layer, 0, (unsigned)heads, n, mapped, seq_len, in,
                                   moved_dq, out, slots, err);
  if (status) {
    return status;
  }
  scatter_heads(n, heads, head_dim, out, dq);
  gather_heads(n, heads, head_dim, rows->k + at, in);
  status = instance_rotate_vjp(scheme, PE_ROLE_KEY, (unsigned)layer, 0, (unsigned)heads, n, mapped, seq_len, in,
                               moved_dk, out, slots, err);
  if (status) {
    return status;
  }
  scatter_heads(n, heads, head_dim, out, dk);
  return 0;
}
