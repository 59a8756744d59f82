#include "train/decoder_parts.h"
#include "train/linear.h"

#include <string.h>

/* dx [T][d] += d loss / d x of a norm, from dy [T][d]; this sequence's part of the gradients of scale and bias, the
 * tensors `scale` and the one behind it. */
static void norm_back(const struct pass *pass, const struct norm_rows *rows, size_t sequence, size_t scale,
                      const float *dy, float *dx) {
  const struct train_kernels *kernels = train_kernels();
  size_t n = pass->batch->length, d = pass->decoder->layout->shape.d_model, first = sequence * n;
  const float *normal = rows->normal + first * d;
  kernels->column_sums(n, d, d, dy, normal, vector_of(pass, sequence, scale));
  kernels->column_sums(n, d, d, dy, NULL, vector_of(pass, sequence, scale + 1));
  kernels->norm_backward(n, d, tensor_at(pass, scale), normal, rows->inverse + first, dy, dx);
}

/* This sequence's part of the gradient of a bias: column sums of dy [T][out]. */
static void bias_back(const struct pass *pass, size_t sequence, size_t bias, size_t out, const float *dy) {
  train_kernels()->column_sums(pass->batch->length, out, out, dy, NULL, vector_of(pass, sequence, bias));
}

/* dx [T][d]: in, the gradient of what came out of the layer's feed-forward half; out, of what went in. */
static void feed_forward_back(const struct pass *pass, size_t sequence, struct decoder_space *space, float *dx) {
  const struct decoder_shape *shape = &pass->decoder->layout->shape;
  struct layer_rows *rows = &pass->decoder->layers[pass->layer];
  size_t n = pass->batch->length, d = shape->d_model, wide = shape->d_ff, first = sequence * n, layer = pass->layer;
  float *dh = rows->slope + first * wide; /* (dx w_2') gelu' takes the place of gelu' */
  bias_back(pass, sequence, parameter_of_layer(layer, B_2), d, dx);
  linear_backward(n, wide, d, dx, layer_turned(pass, layer, W_2), false, space->wide);
  train_kernels()->multiply(n * wide, space->wide, dh);
  bias_back(pass, sequence, parameter_of_layer(layer, B_1), wide, dh);
  linear_backward(n, d, wide, dh, layer_turned(pass, layer, W_1), false, space->dy);
  norm_back(pass, &rows->ff_norm, sequence, parameter_of_layer(layer, FF_LN_SCALE), space->dy, dx);
}

static int attention_back(const struct pass *pass, size_t sequence, struct decoder_space *space, float *dx,
                          struct error *err) {
  struct decoder *decoder = pass->decoder;
  size_t n = pass->batch->length, d = decoder->layout->shape.d_model, first = sequence * n, layer = pass->layer;
  bias_back(pass, sequence, parameter_of_layer(layer, B_O), d, dx);
  linear_backward(n, d, d, dx, layer_turned(pass, layer, W_O), false, space->rows);
  int status = decoder_attend_backward(pass, layer, sequence, space->rows, space, err);
  if (status) {
    return status;
  }
  const float *const gradients[] = {decoder->back.dq + first * d, decoder->back.dk + first * d,
                                    decoder->back.dv + first * d};
  for (size_t i = 0; i < 3; i++) {
    bias_back(pass, sequence, parameter_of_layer(layer, (enum layer_parameter)(B_Q + i)), d, gradients[i]);
    linear_backward(n, d, d, gradients[i], layer_turned(pass, layer, (enum layer_parameter)(W_Q + i)), i > 0,
                    space->dy);
  }
  norm_back(pass, &decoder->layers[layer].norm, sequence, parameter_of_layer(layer, LN_SCALE), space->dy, dx);
  return 0;
}

int decoder_backward_layer(const struct pass *pass, size_t sequence, unsigned thread, struct error *err) {
  struct decoder *decoder = pass->decoder;
  size_t n = pass->batch->length, d = decoder->layout->shape.d_model, first = sequence * n;
  float *dx = decoder->stream + first * d;
  memcpy(decoder->back.ff_out + first * d, dx, n * d * sizeof *dx);
  feed_forward_back(pass, sequence, &decoder->space[thread], dx);
  memcpy(decoder->back.heads_out + first * d, dx, n * d * sizeof *dx);
  return attention_back(pass, sequence, &decoder->space[thread], dx, err);
}

void decoder_output_backward(const struct pass *pass, size_t sequence, unsigned thread) {
  struct decoder *decoder = pass->decoder;
  const struct parameters *layout = decoder->layout;
  size_t n = pass->batch->length, d = layout->shape.d_model, vocab = layout->shape.vocab, first = sequence * n;
  const float *dlogits = decoder->logits + first * vocab;
  /* The transposed w_out: where the two are tied, the embeddings are just that. */
  const float *turned = layout->shape.tied ? tensor_at(pass, 0) : decoder->turned + layout->items[layout->w_out].offset;
  float *dy = decoder->space[thread].dy, *dx = decoder->stream + first * d;
  bias_back(pass, sequence, layout->b_out, vocab, dlogits);
  linear_backward(n, d, vocab, dlogits, turned, false, dy);
  memset(dx, 0, n * d * sizeof *dx);
  norm_back(pass, &decoder->final_norm, sequence, layout->final_ln_scale, dy, dx);
}
