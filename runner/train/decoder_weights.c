/* Gradients of the matrices: sums over all rows of a batch, cut into fixed tiles, so that each sum is made whole by one
 * unit of work:
 *
 *     dw [in][out] = x' dy
 *
 * and the sums of what the sequences left of the other gradients.
 */
#include "train/decoder_parts.h"

#include "base/matrix.h"
#include "base/memory.h"

#include <string.h>

enum { TILE = 128 };

enum tile_kind { TILE_PRODUCT, TILE_EMBEDDINGS };

struct tile {
  enum tile_kind kind;
  size_t parameter;    /* index */
  const float *x, *dy; /* [N][x_stride], [N][dy_stride] */
  size_t x_stride, dy_stride;
  size_t row, rows, column, columns; /* of the tensor as a matrix [in][out] */
  size_t out;
};

static void add(struct decoder *decoder, size_t *count, const struct tile *tile) {
  decoder->tiles[(*count)++] = *tile;
}

static void add_matrix(struct decoder *decoder, size_t *count, size_t weight, size_t in, size_t out, const float *x,
                       const float *dy) {
  for (size_t row = 0; row < in; row += TILE) {
    for (size_t column = 0; column < out; column += TILE) {
      add(decoder, count,
          &(struct tile){.kind = TILE_PRODUCT,
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
}

static size_t tiles_of(size_t in, size_t out) {
  return ((in + TILE - 1) / TILE) * ((out + TILE - 1) / TILE);
}

int decoder_plan_tiles(struct decoder *decoder, struct error *err) {
  const struct parameters *layout = decoder->layout;
  const struct decoder_shape *s = &layout->shape;
  const struct back_rows *back = &decoder->back;
  size_t d = s->d_model, count = 0, embedding_tiles = (d + TILE / 4 - 1) / (TILE / 4);
  size_t most = s->layers * (4 * tiles_of(d, d) + 2 * tiles_of(d, s->d_ff)) + tiles_of(d, s->vocab) + embedding_tiles;
  decoder->tiles = memory_new(most, sizeof *decoder->tiles, "tiles of gradients", err);
  decoder->first_tile = memory_new(s->layers + 2, sizeof *decoder->first_tile, "tiles of gradients", err);
  if (!decoder->tiles || !decoder->first_tile) {
    return ERROR_MEMORY;
  }
  for (size_t layer = 0; layer < s->layers; layer++) {
    const struct layer_rows *rows = &decoder->layers[layer];
    size_t first = parameter_of_layer(layer, LN_SCALE);
    decoder->first_tile[layer] = count;
    add_matrix(decoder, &count, first + W_1, d, s->d_ff, rows->ff_norm.y, rows->slope);
    add_matrix(decoder, &count, first + W_2, s->d_ff, d, rows->hidden, back->ff_out);
    add_matrix(decoder, &count, first + W_Q, d, d, rows->norm.y, back->dq);
    add_matrix(decoder, &count, first + W_K, d, d, rows->norm.y, back->dk);
    add_matrix(decoder, &count, first + W_V, d, d, rows->norm.y, back->dv);
    add_matrix(decoder, &count, first + W_O, d, d, rows->context, back->heads_out);
  }
  decoder->first_tile[s->layers] = count;
  if (!s->tied) {
    add_matrix(decoder, &count, layout->w_out, d, s->vocab, decoder->final_norm.y, decoder->logits);
  }
  /* Cut by columns alone: a row of the table belongs to whichever token comes along. */
  for (size_t column = 0; column < d; column += TILE / 4) {
    add(decoder, &count,
        &(struct tile){.kind = TILE_EMBEDDINGS,
                       .dy = decoder->stream,
                       .dy_stride = d,
                       .column = column,
                       .columns = d - column < TILE / 4 ? d - column : TILE / 4});
  }
  decoder->first_tile[s->layers + 1] = count;
  return 0;
}

/* dembeddings [vocab][columns]: what the input gives, and the output where the two are tied. */
static void embeddings_tile(const struct pass *pass, const struct tile *tile) {
  const struct decoder *decoder = pass->decoder;
  const struct decoder_shape *shape = &decoder->layout->shape;
  size_t d = shape->d_model, vocab = shape->vocab, n = pass->batch->sequences * pass->batch->length;
  float *table = pass->gradient + decoder->layout->items[0].offset;
  if (shape->tied) {
    matrix_product_a_transposed(vocab, tile->columns, n, (struct matrix){decoder->logits, vocab},
                                (struct matrix){decoder->final_norm.y + tile->column, d}, false, table + tile->column,
                                d);
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
  const struct tile *tile = &decoder->tiles[decoder->first_tile[pass->layer] + unit];
  size_t n = pass->batch->sequences * pass->batch->length;
  if (tile->kind == TILE_EMBEDDINGS) {
    embeddings_tile(pass, tile);
    return 0;
  }
  float *out = pass->gradient + decoder->layout->items[tile->parameter].offset;
  matrix_product_a_transposed(tile->rows, tile->columns, n, (struct matrix){tile->x + tile->row, tile->x_stride},
                              (struct matrix){tile->dy + tile->column, tile->dy_stride}, false,
                              out + tile->row * tile->out + tile->column, tile->out);
  return 0;
}

int decoder_matrix_gradients(const struct pass *pass, struct pool *pool, struct error *err) {
  const size_t *first = pass->decoder->first_tile + pass->layer;
  struct pass context = *pass;
  return pool_run(pool, first[1] - first[0], run_tile, &context, err);
}

/* ---- biases and norms ---- */

static int add_vectors(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  const struct pass *pass = context;
  const struct parameters *layout = pass->decoder->layout;
  const struct parameter *vector = &layout->items[unit];
  if (vector->is_matrix || unit >= layout->scheme) {
    return 0;
  }
  float *sum = pass->gradient + vector->offset;
  memcpy(sum, vector_of(pass, 0, unit), vector->count * sizeof *sum);
  for (size_t sequence = 1; sequence < pass->batch->sequences; sequence++) {
    train_kernels()->add(vector->count, vector_of(pass, sequence, unit), sum);
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
  float *sum = decoder->space[0].rows;
  memset(sum, 0, n * d * sizeof *sum);
  for (size_t sequence = 0; sequence < pass->batch->sequences; sequence++) {
    train_kernels()->add_scaled(n * d, (float)shape->pe_scale, decoder->stream + sequence * n * d, sum);
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

int decoder_vector_gradients(const struct pass *pass, struct pool *pool, struct error *err) {
  struct pass context = *pass;
  int status = pool_run(pool, pass->decoder->layout->n, add_vectors, &context, err);
  if (!status && pass->decoder->scheme_floats) {
    status = scheme_gradients(pass, pool, err);
  }
  return status;
}
