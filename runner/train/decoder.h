/* A small decoder-only transformer, forward and backward: pre-layer-norm, GELU, causal attention (GPT-2's block).
 *
 *     x = embed_scale * embeddings[id] + pe_scale * encoding             positions 0 .. T - 1
 *     per layer:  y = norm(x);  q, k, v = y w + b, q and k moved to their positions
 *                 a = softmax over keys j <= i of score_scale * q . k + bias
 *                 x = x + sum over heads of (a v) w_o + b_o
 *                 x = x + gelu(norm(x) w_1 + b_1) w_2 + b_2
 *     logits = norm(x) w_out + b_out;    loss = mean over counted targets of -ln softmax(logits)[target], in nats
 *
 * Sequences are the units of work, forward and backward; the gradients of the weights follow in fixed tiles over all
 * rows. Sums do not depend on the number of threads.
 */
#ifndef PE_TRAIN_DECODER_H
#define PE_TRAIN_DECODER_H

#include "base/pool.h"
#include "train/encoding.h"
#include "train/parameters.h"

struct decoder;

/* Tokens of a batch; a sequence's padding stands at its end and has no target. */
struct batch {
  size_t sequences, length; /* B, T */
  const int32_t *ids;       /* [B][T], 0 .. vocab - 1 */
  const int32_t *targets;   /* [B][T]; -1: not counted. At least one is */
};

/* A decoder for batches of up to `sequences` x `length` tokens. `layout` and what `stack` points to outlive it; the
 * scheme must offer gradients (instance_need_gradients). NULL with ERROR_SCHEME_REFUSED or ERROR_MEMORY. */
struct decoder *decoder_new(const struct parameters *layout, const struct stack *stack, size_t sequences, size_t length,
                            unsigned threads, struct error *err);
void decoder_free(struct decoder *decoder);

/* *loss of a batch and, unless it is NULL, gradient [layout->count] of the loss. The scheme must hold the parameters'
 * scheme tensors (parameters_to_scheme). pool: as many threads as decoder_new was told, or NULL. 0, what a scheme's
 * call gave, or ERROR_MEMORY. Not re-entrant. */
int decoder_gradient(struct decoder *decoder, const float *parameters, const struct batch *batch, struct pool *pool,
                     double *loss, float *gradient, struct error *err);

/* Of the last decoder_gradient: attention weights of a layer [B][heads][T][T], 0 where masked. Its logits, in the same
 * call's memory, are overwritten by their gradient unless gradient was NULL: then [B][T][vocab]. */
const float *decoder_attention(const struct decoder *decoder, size_t layer);
const float *decoder_logits(const struct decoder *decoder);

#endif
