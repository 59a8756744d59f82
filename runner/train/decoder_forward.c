#include "train/decoder_parts.h"
#include "train/linear.h"

#include <math.h>
#include <string.h>

/* x [T][d] = embed_scale * embeddings[id] + pe_scale * encoding */
void decoder_embed(const struct pass *pass, size_t sequence) {
  const struct decoder *decoder = pass->decoder;
  const struct decoder_shape *shape = &decoder->layout->shape;
  const float *table = tensor_at(pass, 0);
  float scale = (float)shape->embed_scale;
  size_t d = shape->d_model, length = pass->batch->length;
  float *x = decoder->stream + sequence * length * d;
  for (size_t t = 0; t < length; t++) {
    const float *row = table + (size_t)pass->batch->ids[sequence * length + t] * d;
    for (size_t i = 0; i < d; i++) {
      x[t * d + i] = scale * row[i];
    }
  }
  if (decoder->encoding.rows) {
    train_kernels()->add_scaled(length * d, (float)shape->pe_scale, decoder->encoding.rows, x);
  }
}

static void norm_forward(const struct pass *pass, const struct norm_rows *rows, size_t sequence, const float *scale,
                         const float *bias, const float *x) {
  const struct decoder_shape *shape = &pass->decoder->layout->shape;
  size_t d = shape->d_model, first = sequence * pass->batch->length;
  train_kernels()->norm(pass->batch->length, d, (float)shape->norm_epsilon, x, scale, bias, rows->y + first * d,
                        rows->normal + first * d, rows->inverse + first);
}

/* x += gelu(norm(x) w_1 + b_1) w_2 + b_2; slope and hidden are kept. */
static void feed_forward(const struct pass *pass, size_t layer, size_t sequence, float *x) {
  const struct decoder_shape *shape = &pass->decoder->layout->shape;
  struct layer_rows *rows = &pass->decoder->layers[layer];
  size_t n = pass->batch->length, d = shape->d_model, wide = shape->d_ff, first = sequence * n;
  float *slope = rows->slope + first * wide, *hidden = rows->hidden + first * wide;
  norm_forward(pass, &rows->ff_norm, sequence, layer_tensor(pass, layer, FF_LN_SCALE),
               layer_tensor(pass, layer, FF_LN_BIAS), x);
  linear(n, d, wide, rows->ff_norm.y + first * d, layer_tensor(pass, layer, W_1), layer_tensor(pass, layer, B_1), false,
         hidden);
  if (shape->gelu == GELU_TANH) {
    train_kernels()->gelu_tanh(n * wide, hidden, hidden, slope);
  } else {
    gelu_erf(n * wide, hidden, hidden, slope);
  }
  linear(n, wide, d, hidden, layer_tensor(pass, layer, W_2), layer_tensor(pass, layer, B_2), true, x);
}

/* -ln softmax(logits)[target] */
static double loss_of(size_t vocab, const float *logits, size_t target) {
  double max = (double)logits[0], sum = 0;
  for (size_t i = 1; i < vocab; i++) {
    max = fmax(max, (double)logits[i]);
  }
  for (size_t i = 0; i < vocab; i++) {
    sum += exp((double)logits[i] - max);
  }
  return max + log(sum) - (double)logits[target];
}

void decoder_output(const struct pass *pass, size_t sequence, unsigned thread) {
  struct decoder *decoder = pass->decoder;
  const struct parameters *layout = decoder->layout;
  size_t n = pass->batch->length, d = layout->shape.d_model, vocab = layout->shape.vocab, first = sequence * n;
  float *logits = decoder->logits + first * vocab;
  norm_forward(pass, &decoder->final_norm, sequence, tensor_at(pass, layout->final_ln_scale),
               tensor_at(pass, layout->final_ln_bias), decoder->stream + first * d);
  linear(n, d, vocab, decoder->final_norm.y + first * d,
         layout->shape.tied ? decoder->turned : tensor_at(pass, layout->w_out), tensor_at(pass, layout->b_out), false,
         logits);
  double loss = 0;
  for (size_t t = 0; t < n; t++) {
    int32_t target = pass->batch->targets[first + t];
    float *row = logits + t * vocab;
    if (target >= 0) {
      loss += pass->gradient ? train_kernels()->cross_entropy(vocab, (size_t)target, pass->per_target, row)
                             : loss_of(vocab, row, (size_t)target);
    } else if (pass->gradient) {
      memset(row, 0, vocab * sizeof *row);
    }
  }
  decoder->losses[sequence] = loss;
  if (pass->gradient) {
    decoder_output_backward(pass, sequence, thread);
  }
}

int decoder_forward_layer(const struct pass *pass, size_t sequence, unsigned thread, struct error *err) {
  struct decoder *decoder = pass->decoder;
  size_t n = pass->batch->length, d = decoder->layout->shape.d_model, first = sequence * n, layer = pass->layer;
  struct layer_rows *rows = &decoder->layers[layer];
  float *x = decoder->stream + first * d;
  norm_forward(pass, &rows->norm, sequence, layer_tensor(pass, layer, LN_SCALE), layer_tensor(pass, layer, LN_BIAS), x);
  const float *y = rows->norm.y + first * d;
  linear(n, d, d, y, layer_tensor(pass, layer, W_Q), layer_tensor(pass, layer, B_Q), false, rows->q + first * d);
  linear(n, d, d, y, layer_tensor(pass, layer, W_K), layer_tensor(pass, layer, B_K), false, rows->k + first * d);
  linear(n, d, d, y, layer_tensor(pass, layer, W_V), layer_tensor(pass, layer, B_V), false, rows->v + first * d);
  int status = decoder_attend(pass, layer, sequence, &decoder->space[thread], err);
  if (status) {
    return status;
  }
  linear(n, d, d, rows->context + first * d, layer_tensor(pass, layer, W_O), layer_tensor(pass, layer, B_O), true, x);
  feed_forward(pass, layer, sequence, x);
  return 0;
}
