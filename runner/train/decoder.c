#include "train/decoder.h"

#include "base/memory.h"
#include "train/decoder_parts.h"
#include "train/product.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* *slot = a x b floats; false where there is no memory. */
static bool take(float **slot, size_t a, size_t b, struct error *err) {
  *slot = memory_new_3d(a, b, 1, sizeof(float), "training", err);
  return *slot != NULL;
}

static bool take_norm(struct norm_rows *rows, size_t n, size_t d, struct error *err) {
  return take(&rows->y, n, d, err) && take(&rows->normal, n, d, err) && take(&rows->inverse, n, 1, err);
}

static void free_norm(struct norm_rows *rows) {
  free(rows->y);
  free(rows->normal);
  free(rows->inverse);
}

/* Whether the scheme's tensors get gradients by way of the scores. */
static bool wants_dscores(const struct decoder *decoder, size_t layer) {
  const struct instance *scheme = stack_layer(decoder->stack, layer);
  return scheme == decoder->stack->scheme && (instance_sites(scheme) & PE_SITE_BIAS) &&
         !(instance_traits(scheme) & PE_TRAIT_CONTENT) && decoder->scheme_floats;
}

static bool take_layer(struct decoder *decoder, size_t layer, struct error *err) {
  const struct decoder_shape *s = &decoder->layout->shape;
  struct layer_rows *rows = &decoder->layers[layer];
  const struct instance *scheme = stack_layer(decoder->stack, layer);
  size_t n = decoder->most_sequences * decoder->longest, d = s->d_model;
  size_t square = decoder->most_sequences * s->heads * decoder->longest;
  bool taken = take_norm(&rows->norm, n, d, err) && take_norm(&rows->ff_norm, n, d, err) && take(&rows->q, n, d, err) &&
               take(&rows->k, n, d, err) && take(&rows->v, n, d, err) &&
               take(&rows->weights, square, decoder->longest, err) && take(&rows->context, n, d, err) &&
               take(&rows->slope, n, s->d_ff, err) && take(&rows->hidden, n, s->d_ff, err);
  if (taken && wants_dscores(decoder, layer)) {
    taken = take(&rows->dscores, square, decoder->longest, err);
  }
  if (taken && (instance_sites(scheme) & PE_SITE_QK)) {
    size_t width = instance_qk_width(scheme);
    taken = take(&rows->moved_q, n * s->heads, width, err) && take(&rows->moved_k, n * s->heads, width, err);
  }
  return taken;
}

static bool take_space(struct decoder *decoder, struct decoder_space *space, struct error *err) {
  const struct decoder_shape *s = &decoder->layout->shape;
  size_t n = decoder->longest, width = s->d_model / s->heads;
  for (size_t layer = 0; layer < s->layers; layer++) {
    size_t moved = instance_qk_width(stack_layer(decoder->stack, layer));
    width = moved > width ? moved : width;
  }
  return take(&space->rows, n, s->d_model, err) && take(&space->dy, n, s->d_model, err) &&
         take(&space->wide, n, s->d_ff, err) && take(&space->scores, n, n, err) &&
         take(&space->turned, width, n, err) && take(&space->by_head, 4 * s->heads * n, width, err);
}

/* One block of gradients of the scheme's tensors for each unit of work, and pointers to them as the host wants them. */
static bool take_scheme(struct decoder *decoder, struct error *err) {
  const struct parameters *layout = decoder->layout;
  const struct decoder_shape *s = &layout->shape;
  size_t blocks = decoder->most_sequences + s->layers * s->heads + 1;
  decoder->n_tensors = instance_scheme(decoder->stack->scheme)->info.n_tensors;
  size_t first = layout->scheme < layout->n ? layout->items[layout->scheme].offset : layout->count;
  decoder->scheme_floats = layout->count - first;
  if (!take(&decoder->scheme_blocks, blocks, decoder->scheme_floats, err)) {
    return false;
  }
  decoder->scheme_slots = memory_new(blocks * decoder->n_tensors, sizeof *decoder->scheme_slots, "training", err);
  for (size_t block = 0; decoder->scheme_slots && block < blocks; block++) {
    for (size_t i = layout->scheme; i < layout->n; i++) {
      size_t which = layout->scheme_tensor[i - layout->scheme];
      decoder->scheme_slots[block * decoder->n_tensors + which] =
          decoder->scheme_blocks + block * decoder->scheme_floats + (layout->items[i].offset - first);
    }
  }
  return decoder->scheme_slots != NULL;
}

/* One block of gradients of biases and norms for each sequence. */
static bool take_vectors(struct decoder *decoder, struct error *err) {
  const struct parameters *layout = decoder->layout;
  decoder->vector_at = memory_new(layout->n, sizeof *decoder->vector_at, "training", err);
  for (size_t i = 0; decoder->vector_at && i < layout->scheme; i++) {
    decoder->vector_at[i] = decoder->vector_floats;
    decoder->vector_floats += layout->items[i].is_matrix ? 0 : layout->items[i].count;
  }
  return decoder->vector_at && take(&decoder->vectors, decoder->most_sequences, decoder->vector_floats, err);
}

static bool take_all(struct decoder *decoder, struct error *err) {
  const struct decoder_shape *s = &decoder->layout->shape;
  size_t n = decoder->most_sequences * decoder->longest, d = s->d_model;
  struct back_rows *back = &decoder->back;
  decoder->layers = memory_new(s->layers, sizeof *decoder->layers, "training", err);
  decoder->space = memory_new(decoder->threads, sizeof *decoder->space, "training", err);
  decoder->losses = memory_new(decoder->most_sequences, sizeof *decoder->losses, "training", err);
  bool taken = decoder->layers && decoder->space && decoder->losses && take_scheme(decoder, err) &&
               take_vectors(decoder, err) && take_norm(&decoder->final_norm, n, d, err) &&
               take(&decoder->stream, n, d, err) && take(&decoder->logits, n, s->vocab, err) &&
               take(&decoder->turned, decoder->layout->count, 1, err) && take(&back->dq, n, d, err) &&
               take(&back->dk, n, d, err) && take(&back->dv, n, d, err) && take(&back->ff_out, n, d, err) &&
               take(&back->heads_out, n, d, err);
  for (size_t layer = 0; taken && layer < s->layers; layer++) {
    taken = take_layer(decoder, layer, err);
  }
  for (unsigned thread = 0; taken && thread < decoder->threads; thread++) {
    taken = take_space(decoder, &decoder->space[thread], err);
  }
  return taken;
}

struct decoder *decoder_new(const struct parameters *layout, const struct stack *stack, size_t sequences, size_t length,
                            unsigned threads, struct error *err) {
  assert(sequences > 0 && length > 0 && threads > 0);
  struct decoder *decoder = memory_new(1, sizeof *decoder, "training", err);
  if (!decoder) {
    return NULL;
  }
  *decoder = (struct decoder){
      .layout = layout, .stack = stack, .most_sequences = sequences, .longest = length, .threads = threads};
  product_single_threaded();
  int status = encoding_init(&decoder->encoding, &layout->shape, stack, length, true, err);
  if (!status && !take_all(decoder, err)) {
    status = ERROR_MEMORY;
  }
  status = status ? status : decoder_plan_tiles(decoder, err);
  if (status) {
    decoder_free(decoder);
    return NULL;
  }
  return decoder;
}

static void free_layer(struct layer_rows *rows) {
  free_norm(&rows->norm);
  free_norm(&rows->ff_norm);
  float *const blocks[] = {rows->q,       rows->k,       rows->v,       rows->moved_q, rows->moved_k,
                           rows->weights, rows->dscores, rows->context, rows->slope,   rows->hidden};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    free(blocks[i]);
  }
}

void decoder_free(struct decoder *decoder) {
  if (!decoder) {
    return;
  }
  const struct decoder_shape *s = &decoder->layout->shape;
  for (size_t layer = 0; decoder->layers && layer < s->layers; layer++) {
    free_layer(&decoder->layers[layer]);
  }
  for (unsigned thread = 0; decoder->space && thread < decoder->threads; thread++) {
    struct decoder_space *space = &decoder->space[thread];
    free(space->rows);
    free(space->dy);
    free(space->wide);
    free(space->scores);
    free(space->turned);
    free(space->by_head);
  }
  encoding_destroy(&decoder->encoding);
  free_norm(&decoder->final_norm);
  void *const blocks[] = {decoder->layers,        decoder->space,        decoder->losses,  decoder->stream,
                          decoder->logits,        decoder->turned,       decoder->vectors, decoder->vector_at,
                          decoder->scheme_blocks, decoder->scheme_slots, decoder->tiles,   decoder->first_tile,
                          decoder->back.dq,       decoder->back.dk,      decoder->back.dv, decoder->back.ff_out,
                          decoder->back.heads_out};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    free(blocks[i]);
  }
  free(decoder);
}

/* ---- one call ---- */

/* One tensor transposed, if it is a matrix that is needed so. */
static int turn(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  const struct pass *pass = context;
  const struct decoder *decoder = pass->decoder;
  const struct parameters *layout = decoder->layout;
  const struct parameter *matrix = &layout->items[unit];
  /* Embeddings are looked up by row, unless they are the output, too; the way back needs the others. */
  bool needed = matrix->is_matrix && (unit == 0 ? layout->shape.tied : pass->gradient != NULL);
  if (needed) {
    size_t rows = matrix->rank == 3 ? layout->shape.d_model : matrix->dim[0], columns = matrix->count / rows;
    train_kernels()->transpose(rows, columns, 1.0f, pass->parameters + matrix->offset, columns,
                               decoder->turned + matrix->offset, rows);
  }
  return 0;
}

static int embed_unit(void *context, size_t sequence, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  decoder_embed(context, sequence);
  return 0;
}

static int forward_unit(void *context, size_t sequence, unsigned thread, struct error *err) {
  return decoder_forward_layer(context, sequence, thread, err);
}

static int output_unit(void *context, size_t sequence, unsigned thread, struct error *err) {
  (void)err;
  decoder_output(context, sequence, thread);
  return 0;
}

static int backward_unit(void *context, size_t sequence, unsigned thread, struct error *err) {
  return decoder_backward_layer(context, sequence, thread, err);
}

/* All sequences through one layer before the next: its weights stay in the cache. */
static int forward(struct pass *pass, struct pool *pool, struct error *err) {
  size_t sequences = pass->batch->sequences;
  int status = pool_run(pool, sequences, embed_unit, pass, err);
  for (size_t layer = 0; !status && layer < pass->decoder->layout->shape.layers; layer++) {
    pass->layer = layer;
    status = pool_run(pool, sequences, forward_unit, pass, err);
  }
  return status ? status : pool_run(pool, sequences, output_unit, pass, err);
}

static int backward(struct pass *pass, struct pool *pool, struct error *err) {
  size_t layers = pass->decoder->layout->shape.layers;
  int status = 0;
  for (size_t layer = layers; !status && layer-- > 0;) {
    pass->layer = layer;
    status = pool_run(pool, pass->batch->sequences, backward_unit, pass, err);
    status = status ? status : decoder_matrix_gradients(pass, pool, err);
  }
  pass->layer = layers;
  status = status ? status : decoder_matrix_gradients(pass, pool, err);
  return status ? status : decoder_vector_gradients(pass, pool, err);
}

int decoder_gradient(struct decoder *decoder, const float *parameters, const struct batch *batch, struct pool *pool,
                     double *loss, float *gradient, struct error *err) {
  assert(batch->sequences <= decoder->most_sequences && batch->length <= decoder->longest);
  assert(pool_threads(pool) <= decoder->threads);
  const struct decoder_shape *s = &decoder->layout->shape;
  size_t counted = 0;
  for (size_t i = 0; i < batch->sequences * batch->length; i++) {
    counted += batch->targets[i] >= 0;
  }
  assert(counted > 0);
  struct pass pass = {.decoder = decoder,
                      .parameters = parameters,
                      .batch = batch,
                      .per_target = 1.0f / (float)counted,
                      .gradient = gradient};
  int status = encoding_fill(&decoder->encoding, s, decoder->stack, batch->length, pool, err);
  if (!status && gradient) {
    size_t blocks = decoder->most_sequences + s->layers * s->heads + 1;
    memset(decoder->scheme_blocks, 0, blocks * decoder->scheme_floats * sizeof *decoder->scheme_blocks);
  }
  status = status ? status : pool_run(pool, decoder->layout->n, turn, &pass, err);
  status = status ? status : forward(&pass, pool, err);
  status = status || !gradient ? status : backward(&pass, pool, err);
  if (status) {
    return status;
  }
  double sum = 0;
  for (size_t i = 0; i < batch->sequences; i++) {
    sum += decoder->losses[i];
  }
  *loss = sum / (double)counted;
  return 0;
}

const float *decoder_attention(const struct decoder *decoder, size_t layer) {
  return decoder->layers[layer].weights;
}

const float *decoder_logits(const struct decoder *decoder) {
  return decoder->logits;
}
