#include "train/decoder_parts.h"
#include "train/product.h"

#include <string.h>

/* dx [T][d] += d loss / d x of a norm whose dy is filled in. */
static void norm_back(const struct pass *pass, const struct norm_rows *rows, size_t sequence, const float *scale,
                      float *dx) {
  size_t d = pass->decoder->layout->shape.d_model, first = sequence * pass->batch->length;
  train_kernels()->norm_backward(pass->batch->length, d, scale, rows->normal + first * d, rows->inverse + first,
                                 rows->dy + first * d, dx);
}

/* dx [T][d]: in, the gradient of what came out of the layer's feed-forward half; out, of what went in. */
static void feed_forward_back(const struct pass *pass, size_t layer, size_t sequence, float *wide_rows, float *dx) {
  const struct decoder_shape *shape = &pass->decoder->layout->shape;
  struct layer_rows *rows = &pass->decoder->layers[layer];
  size_t n = pass->batch->length, d = shape->d_model, wide = shape->d_ff, first = sequence * n;
  float *dh = rows->slope + first * wide; /* (dx w_2') gelu' takes the place of gelu' */
  linear_backward(n, wide, d, dx, layer_tensor(pass, layer, W_2), false, wide_rows);
  train_kernels()->multiply(n * wide, wide_rows, dh);
  linear_backward(n, d, wide, dh, layer_tensor(pass, layer, W_1), false, rows->ff_norm.dy + first * d);
  norm_back(pass, &rows->ff_norm, sequence, layer_tensor(pass, layer, FF_LN_SCALE), dx);
}

static int attention_back(const struct pass *pass, size_t layer, size_t sequence, struct decoder_space *space,
                          float *dx, struct error *err) {
  size_t n = pass->batch->length, d = pass->decoder->layout->shape.d_model, first = sequence * n;
  struct layer_rows *rows = &pass->decoder->layers[layer];
  linear_backward(n, d, d, dx, layer_tensor(pass, layer, W_O), false, space->rows);
  int status = decoder_attend_backward(pass, layer, sequence, space->rows, space, err);
  if (status) {
    return status;
  }
  float *dy = rows->norm.dy + first * d;
  linear_backward(n, d, d, rows->dq + first * d, layer_tensor(pass, layer, W_Q), false, dy);
  linear_backward(n, d, d, rows->dk + first * d, layer_tensor(pass, layer, W_K), true, dy);
  linear_backward(n, d, d, rows->dv + first * d, layer_tensor(pass, layer, W_V), true, dy);
  norm_back(pass, &rows->norm, sequence, layer_tensor(pass, layer, LN_SCALE), dx);
  return 0;
}

int decoder_backward_sequence(const struct pass *pass, size_t sequence, unsigned thread, struct error *err) {
  struct decoder *decoder = pass->decoder;
  const struct parameters *layout = decoder->layout;
  size_t n = pass->batch->length, d = layout->shape.d_model, vocab = layout->shape.vocab, first = sequence * n;
  struct decoder_space *space = &decoder->space[thread];
  const float *dlogits = decoder->logits + first * vocab;
  float *dy = decoder->final_norm.dy + first * d, *dx = space->x;
  if (layout->shape.tied) {
    product(n, d, vocab, 1.0f, (struct matrix){dlogits, vocab}, (struct matrix){tensor_at(pass, 0), d}, false, dy, d);
  } else {
    linear_backward(n, d, vocab, dlogits, tensor_at(pass, layout->w_out), false, dy);
  }
  memset(dx, 0, n * d * sizeof *dx);
  norm_back(pass, &decoder->final_norm, sequence, tensor_at(pass, layout->final_ln_scale), dx);
  for (size_t layer = layout->shape.layers; layer-- > 0;) {
    memcpy(decoder->residual[2 * layer + 2] + first * d, dx, n * d * sizeof *dx);
    feed_forward_back(pass, layer, sequence, space->wide, dx);
    memcpy(decoder->residual[2 * layer + 1] + first * d, dx, n * d * sizeof *dx);
    int status = attention_back(pass, layer, sequence, space, dx, err);
    if (status) {
      return status;
    }
  }
  memcpy(decoder->residual[0] + first * d, dx, n * d * sizeof *dx);
  return 0;
}
