/* Gradients of the weights: sums over all rows of a batch, cut into fixed tiles of the weights, so that each sum is
 * made whole by one unit of work.
 *
 *     dw [in][out] = x' dy        db [out] = sum of rows of dy        norms: dscale = sum of dy normal, dbias = sum of
 * dy
 */
#include "train/decoder_parts.h"
#include "train/product.h"

#include "base/memory.h"

#include <string.h>

enum { TILE = 128 };

enum tile_kind { TILE_PRODUCT, TILE_SUM, TILE_NORM, TILE_EMBEDDINGS };

struct tile {
  enum tile_kind kind;
  size_t parameter;    /* index; TILE_NORM: of its scale, the bias follows */
  const float *x, *dy; /* [N][x_stride], [N][dy_stride] */
  size_t x_stride, dy_stride;
  size_t row, rows, column, columns; /* of the tensor as a matrix [in][out] */
  size_t out;
};

static void add(struct decoder *decoder, const struct tile *tile) {
  decoder->tiles[decoder->n_tiles++] = *tile;
}

/* A weight [in][out] and its bias, unless that is 0. */
static void add_linear(struct decoder *decoder, size_t weight, size_t bias, size_t in, size_t out, const float *x,
                       const float *dy) {
  for (size_t row = 0; row < in; row += TILE) {
    for (size_t column = 0; column < out; column += TILE) {
      add(decoder, &(struct tile){.kind = TILE_PRODUCT,
                                  .parameter = weight,
                                  .x = x,
                                  .dy = dy,
                                  .x_stride = in,
                                  .dy_stride = out,
                                  .row = row,
                                  .rows = in - row < TILE ? in - row : TILE,
                                  .column = column,
                                  .columns = out - column < TILE ? out - column : TILE,
                                  .out = out});
    }
  }
  add(decoder, &(struct tile){.kind = TILE_SUM, .parameter = bias, .dy = dy, .dy_stride = out, .columns = out});
}

static void add_norm(struct decoder *decoder, size_t scale, const struct norm_rows *rows) {
  size_t d = decoder->layout->shape.d_model;
  add(decoder,
      &(struct tile){
          .kind = TILE_NORM, .parameter = scale, .x = rows->normal, .dy = rows->dy, .dy_stride = d, .columns = d});
}

static size_t tiles_of(size_t in, size_t out) {
  return ((in + TILE - 1) / TILE) * ((out + TILE - 1) / TILE) + 1;
}

int decoder_plan_tiles(struct decoder *decoder, struct error *err) {
  const struct parameters *layout = decoder->layout;
  const struct decoder_shape *s = &layout->shape;
  size_t d = s->d_model;
  size_t most = s->layers * (4 * tiles_of(d, d) + 2 * tiles_of(d, s->d_ff) + 2) + tiles_of(d, s->vocab) +
                tiles_of(s->vocab, d) + 2;
  decoder->tiles = memory_new(most, sizeof *decoder->tiles, "tiles of gradients", err);
  if (!decoder->tiles) {
    return ERROR_MEMORY;
  }
  for (size_t layer = 0; layer < s->layers; layer++) {
    const struct layer_rows *rows = &decoder->layers[layer];
    size_t first = parameter_of_layer(layer, LN_SCALE);
    add_linear(decoder, first + W_1, first + B_1, d, s->d_ff, rows->ff_norm.y, rows->slope);
    add_linear(decoder, first + W_2, first + B_2, s->d_ff, d, rows->hidden, decoder->residual[2 * layer + 2]);
    add_linear(decoder, first + W_Q, first + B_Q, d, d, rows->norm.y, rows->dq);
    add_linear(decoder, first + W_K, first + B_K, d, d, rows->norm.y, rows->dk);
    add_linear(decoder, first + W_V, first + B_V, d, d, rows->norm.y, rows->dv);
    add_linear(decoder, first + W_O, first + B_O, d, d, rows->context, decoder->residual[2 * layer + 1]);
    add_norm(decoder, first + LN_SCALE, &rows->norm);
    add_norm(decoder, first + FF_LN_SCALE, &rows->ff_norm);
  }
  add_norm(decoder, layout->final_ln_scale, &decoder->final_norm);
  if (s->tied) {
    add(decoder, &(struct tile){.kind = TILE_SUM,
                                .parameter = layout->b_out,
                                .dy = decoder->logits,
                                .dy_stride = s->vocab,
                                .columns = s->vocab});
  } else {
    add_linear(decoder, layout->w_out, layout->b_out, d, s->vocab, decoder->final_norm.y, decoder->logits);
  }
  /* Cut by columns alone: a row of the table belongs to whichever token comes along. */
  for (size_t column = 0; column < d; column += TILE / 4) {
    add(decoder, &(struct tile){.kind = TILE_EMBEDDINGS,
                                .dy = decoder->residual[0],
                                .dy_stride = d,
                                .column = column,
                                .columns = d - column < TILE / 4 ? d - column : TILE / 4});
  }
  return 0;
}

/* dembeddings [vocab][columns]: what the input gives, and the output where the two are tied. */
static void embeddings_tile(const struct pass *pass, const struct tile *tile) {
  const struct decoder *decoder = pass->decoder;
  const struct decoder_shape *shape = &decoder->layout->shape;
  size_t d = shape->d_model, vocab = shape->vocab, n = pass->batch->sequences * pass->batch->length;
  float *table = pass->gradient + decoder->layout->items[0].offset;
  if (shape->tied) {
    product_a_transposed(vocab, tile->columns, n, 1.0f, (struct matrix){decoder->logits, vocab},
                         (struct matrix){decoder->final_norm.y + tile->column, d}, false, table + tile->column, d);
  } else {
    for (size_t id = 0; id < vocab; id++) {
      memset(table + id * d + tile->column, 0, tile->columns * sizeof *table);
    }
  }
  for (size_t row = 0; row < n; row++) {
    train_kernels()->add_scaled(tile->columns, (float)shape->embed_scale, tile->dy + row * d + tile->column,
                                table + (size_t)pass->batch->ids[row] * d + tile->column);
  }
}

static int run_tile(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  const struct pass *pass = context;
  const struct decoder *decoder = pass->decoder;
  const struct tile *tile = &decoder->tiles[unit];
  const struct train_kernels *kernels = train_kernels();
  size_t n = pass->batch->sequences * pass->batch->length;
  float *out = pass->gradient + decoder->layout->items[tile->parameter].offset;
  switch (tile->kind) {
  case TILE_PRODUCT:
    product_a_transposed(tile->rows, tile->columns, n, 1.0f, (struct matrix){tile->x + tile->row, tile->x_stride},
                         (struct matrix){tile->dy + tile->column, tile->dy_stride}, false,
                         out + tile->row * tile->out + tile->column, tile->out);
    break;
  case TILE_SUM:
    kernels->column_sums(n, tile->columns, tile->dy_stride, tile->dy, NULL, out);
    break;
  case TILE_NORM:
    kernels->column_sums(n, tile->columns, tile->dy_stride, tile->dy, tile->x, out);
    kernels->column_sums(n, tile->columns, tile->dy_stride, tile->dy, NULL,
                         pass->gradient + decoder->layout->items[tile->parameter + 1].offset);
    break;
  default:
    embeddings_tile(pass, tile);
  }
  return 0;
}

/* ---- the scheme's tensors ---- */

/* Gradient of the fixed bias of one layer and head: its scores' gradients summed over the sequences, then through the
 * scheme. */
static int bias_unit(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  const struct pass *pass = context;
  struct decoder *decoder = pass->decoder;
  size_t heads = decoder->layout->shape.heads, layer = unit / heads, head = unit % heads, n = pass->batch->length;
  const struct instance *scheme = stack_layer(decoder->stack, layer);
  float *dscores = decoder->layers[layer].dscores;
  if (scheme != decoder->stack->scheme || !dscores) {
    return 0;
  }
  float *sum = dscores + head * n * n; /* of sequence 0, to which the others are added */
  for (size_t sequence = 1; sequence < pass->batch->sequences; sequence++) {
    train_kernels()->add(n * n, dscores + (sequence * heads + head) * n * n, sum);
  }
  double seq_len;
  const double *mapped = encoding_positions(&decoder->encoding, decoder->stack, layer, &seq_len);
  struct bias_tile tile = {.layer = (unsigned)layer,
                           .head = (unsigned)head,
                           .seq_len = seq_len,
                           .nq = n,
                           .nk = n,
                           .mapped_q = mapped,
                           .mapped_k = mapped,
                           .s = sum,
                           .s_stride = n};
  return instance_bias_vjp(scheme, &tile, NULL, 0, NULL, 0, scheme_slots(decoder, decoder->most_sequences + unit), err);
}

/* Gradient of the rows added to the input: summed over the sequences, times pe_scale, through the scheme. */
static int rows_gradient(const struct pass *pass, struct error *err) {
  struct decoder *decoder = pass->decoder;
  const struct decoder_shape *shape = &decoder->layout->shape;
  size_t n = pass->batch->length, d = shape->d_model;
  float *sum = decoder->space[0].x;
  memset(sum, 0, n * d * sizeof *sum);
  for (size_t sequence = 0; sequence < pass->batch->sequences; sequence++) {
    train_kernels()->add_scaled(n * d, (float)shape->pe_scale, decoder->residual[0] + sequence * n * d, sum);
  }
  size_t block = decoder->most_sequences + shape->layers * shape->heads;
  return instance_embed_vjp(decoder->stack->scheme, n, decoder->encoding.mapped, decoder->encoding.seq_len, sum, d,
                            scheme_slots(decoder, block), err);
}

static int scheme_gradients(const struct pass *pass, struct pool *pool, struct error *err) {
  struct decoder *decoder = pass->decoder;
  const struct parameters *layout = decoder->layout;
  size_t biases = layout->shape.layers * layout->shape.heads;
  struct pass context = *pass;
  int status = pool_run(pool, biases, bias_unit, &context, err);
  if (!status && decoder->encoding.rows) {
    status = rows_gradient(pass, err);
  }
  if (status) {
    return status;
  }
  /* Blocks in order: the sum does not depend on who made them. */
  size_t blocks = decoder->most_sequences + biases + 1;
  float *out = pass->gradient + layout->items[layout->scheme].offset;
  memset(out, 0, decoder->scheme_floats * sizeof *out);
  for (size_t block = 0; block < blocks; block++) {
    train_kernels()->add(decoder->scheme_floats, decoder->scheme_blocks + block * decoder->scheme_floats, out);
  }
  return 0;
}

int decoder_weight_gradients(const struct pass *pass, struct pool *pool, struct error *err) {
  struct pass context = *pass;
  int status = pool_run(pool, pass->decoder->n_tiles, run_tile, &context, err);
  if (!status && pass->decoder->scheme_floats) {
    status = scheme_gradients(pass, pool, err);
  }
  return status;
}
