#include "train/decoder.h"

#include "base/blas.h"
#include "base/memory.h"
#include "train/decoder_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* The floats of a decoder are asked for one by one and then taken in one block. */
struct want {
  float **slot;
  size_t floats;
};

struct wants {
  struct want *items;
  size_t n, capacity, floats;
  bool failed;
  struct error *err;
};

enum { FLOATS_APART = 16 }; /* blocks begin in cache lines of their own */

/* *slot will be a x b floats. */
static void take(struct wants *wants, float **slot, size_t a, size_t b) {
  struct want *items =
      wants->failed ? NULL
                    : memory_grow(wants->items, &wants->capacity, wants->n + 1, sizeof *items, "training", wants->err);
  size_t floats = 0;
  bool overflows = __builtin_mul_overflow(a, b, &floats) || __builtin_add_overflow(floats, FLOATS_APART - 1, &floats);
  floats = floats / FLOATS_APART * FLOATS_APART;
  overflows = overflows || __builtin_add_overflow(wants->floats, floats, &wants->floats);
  wants->items = items ? items : wants->items;
  wants->failed = !items || overflows;
  if (items && overflows) {
    error_set(wants->err, ERROR_MEMORY, "training: %zu x %zu elements do not fit into memory", a, b);
  }
  if (!wants->failed) {
    items[wants->n++] = (struct want){slot, floats};
  }
}

/* All that was asked for, in one block; NULL with ERROR_MEMORY. */
static float *take_block(const struct wants *wants) {
  float *block = wants->failed ? NULL : memory_new(wants->floats, sizeof *block, "training", wants->err);
  for (size_t i = 0, at = 0; block && i < wants->n; at += wants->items[i++].floats) {
    *wants->items[i].slot = block + at;
  }
  return block;
}

static void take_norm(struct wants *wants, struct norm_rows *rows, size_t n, size_t d) {
  take(wants, &rows->y, n, d);
  take(wants, &rows->normal, n, d);
  take(wants, &rows->inverse, n, 1);
}

/* Whether the scheme's tensors get gradients by way of the scores. */
static bool wants_dscores(const struct decoder *decoder, size_t layer) {
  const struct instance *scheme = stack_layer(decoder->stack, layer);
  return scheme == decoder->stack->scheme && (instance_sites(scheme) & PE_SITE_BIAS) &&
         !(instance_traits(scheme) & PE_TRAIT_CONTENT) && decoder->scheme_floats;
}

static void take_layer(struct decoder *decoder, struct wants *wants, size_t layer) {
  const struct decoder_shape *s = &decoder->layout->shape;
  struct layer_rows *rows = &decoder->layers[layer];
  const struct instance *scheme = stack_layer(decoder->stack, layer);
  size_t n = decoder->most_sequences * decoder->longest, d = s->d_model;
  size_t square = decoder->most_sequences * s->heads * decoder->longest;
  take_norm(wants, &rows->norm, n, d);
  take(wants, &rows->q, n, d);
  take(wants, &rows->k, n, d);
  take(wants, &rows->v, n, d);
  take(wants, &rows->weights, square, decoder->longest);
  if (wants_dscores(decoder, layer)) {
    take(wants, &rows->dscores, square, decoder->longest);
  }
  if (instance_sites(scheme) & PE_SITE_QK) {
    size_t width = instance_qk_width(scheme);
    take(wants, &rows->moved_q, n * s->heads, width);
    take(wants, &rows->moved_k, n * s->heads, width);
  }
  take(wants, &rows->context, n, d);
  take_norm(wants, &rows->ff_norm, n, d);
  take(wants, &rows->slope, n, s->d_ff);
  take(wants, &rows->hidden, n, s->d_ff);
}

static void take_space(const struct decoder *decoder, struct wants *wants, struct decoder_space *space) {
  const struct decoder_shape *s = &decoder->layout->shape;
  size_t n = decoder->longest, width = s->d_model / s->heads;
  for (size_t layer = 0; layer < s->layers; layer++) {
    size_t moved = instance_qk_width(stack_layer(decoder->stack, layer));
    width = moved > width ? moved : width;
  }
  take(wants, &space->rows, n, s->d_model);
  take(wants, &space->dy, n, s->d_model);
  take(wants, &space->wide, n, s->d_ff);
  take(wants, &space->scores, n, n);
  take(wants, &space->turned, width, n);
  take(wants, &space->by_head, 4 * s->heads * n, width);
}

/* Units of work that leave gradients of the scheme's tensors. */
static size_t scheme_units(const struct decoder *decoder) {
  return decoder->most_sequences + decoder->layout->shape.layers * decoder->layout->shape.heads + 1;
}

static void take_rows(struct decoder *decoder, struct wants *wants) {
  const struct decoder_shape *s = &decoder->layout->shape;
  size_t n = decoder->most_sequences * decoder->longest, d = s->d_model;
  struct back_rows *back = &decoder->back;
  take(wants, &decoder->turned, decoder->layout->count, 1);
  take(wants, &decoder->stream, n, d);
  for (size_t layer = 0; layer < s->layers; layer++) {
    take_layer(decoder, wants, layer);
  }
  take_norm(wants, &decoder->final_norm, n, d);
  take(wants, &decoder->logits, n, s->vocab);
  take(wants, &back->dq, n, d);
  take(wants, &back->dk, n, d);
  take(wants, &back->dv, n, d);
  take(wants, &back->ff_out, n, d);
  take(wants, &back->heads_out, n, d);
  take(wants, &decoder->vectors, decoder->most_sequences, decoder->vector_floats);
  take(wants, &decoder->scheme_blocks, scheme_units(decoder), decoder->scheme_floats);
  for (unsigned thread = 0; thread < decoder->threads; thread++) {
    take_space(decoder, wants, &decoder->space[thread]);
  }
}

/* Where the tensors that are no matrices lie in a sequence's block, and the scheme's in a unit's. */
static void lay_out(struct decoder *decoder) {
  const struct parameters *layout = decoder->layout;
  for (size_t i = 0; i < layout->scheme; i++) {
    decoder->vector_at[i] = decoder->vector_floats;
    decoder->vector_floats += layout->items[i].is_matrix ? 0 : layout->items[i].count;
  }
  size_t first = layout->scheme < layout->n ? layout->items[layout->scheme].offset : layout->count;
  decoder->scheme_floats = layout->count - first;
}

/* Pointers to each unit's gradients as the host wants them. */
static void fill_slots(struct decoder *decoder) {
  const struct parameters *layout = decoder->layout;
  for (size_t unit = 0; unit < scheme_units(decoder); unit++) {
    for (size_t i = layout->scheme; i < layout->n; i++) {
      size_t which = layout->scheme_tensor[i - layout->scheme];
      decoder->scheme_slots[unit * decoder->n_tensors + which] =
          decoder->scheme_blocks + unit * decoder->scheme_floats +
          (layout->items[i].offset - layout->items[layout->scheme].offset);
    }
  }
}

static int take_all(struct decoder *decoder, struct error *err) {
  const struct parameters *layout = decoder->layout;
  decoder->n_tensors = instance_scheme(decoder->stack->scheme)->info.n_tensors;
  decoder->layers = memory_new(layout->shape.layers, sizeof *decoder->layers, "training", err);
  decoder->space = memory_new(decoder->threads, sizeof *decoder->space, "training", err);
  decoder->losses = memory_new(decoder->most_sequences, sizeof *decoder->losses, "training", err);
  decoder->vector_at = memory_new(layout->n, sizeof *decoder->vector_at, "training", err);
  decoder->scheme_slots =
      memory_new(scheme_units(decoder) * decoder->n_tensors, sizeof *decoder->scheme_slots, "training", err);
  if (!decoder->layers || !decoder->space || !decoder->losses || !decoder->vector_at || !decoder->scheme_slots) {
    return ERROR_MEMORY;
  }
  lay_out(decoder);
  struct wants wants = {.err = err};
  take_rows(decoder, &wants);
  decoder->block = take_block(&wants);
  free(wants.items);
  if (!decoder->block) {
    return ERROR_MEMORY;
  }
  fill_slots(decoder);
  return 0;
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
  int status = blas_open(err);
  status = status ? status : encoding_init(&decoder->encoding, &layout->shape, stack, length, true, err);
  status = status ? status : take_all(decoder, err);
  status = status ? status : decoder_plan_tiles(decoder, err);
  if (status) {
    decoder_free(decoder);
    return NULL;
  }
  return decoder;
}

void decoder_free(struct decoder *decoder) {
  if (!decoder) {
    return;
  }
  encoding_destroy(&decoder->encoding);
  free(decoder->block);
  free(decoder->layers);
  free(decoder->space);
  free(decoder->losses);
  free(decoder->vector_at);
  free(decoder->scheme_slots);
  free(decoder->tiles);
  free(decoder->first_tile);
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
