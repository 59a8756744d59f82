/* What the files of the decoder share: the rows it keeps from the way forward for the way back. N = B T rows, sequence
 * by sequence. */
#ifndef PE_TRAIN_DECODER_PARTS_H
#define PE_TRAIN_DECODER_PARTS_H

#include "host/gradients.h"
#include "train/decoder.h"
#include "train/kernels.h"

/* One layer norm: what went out, the normalised rows before scale and bias, and the gradient of what went out. */
struct norm_rows {
  float *y, *normal; /* [N][d] */
  float *inverse;    /* [N] */
  float *dy;         /* [N][d] */
};

struct layer_rows {
  struct norm_rows norm, ff_norm;
  float *q, *k, *v;         /* [N][d] as projected */
  float *dq, *dk, *dv;      /* [N][d] their gradients */
  float *moved_q, *moved_k; /* [B][heads][T][width] at their positions; NULL where the layer does not move them */
  float *weights;           /* [B][heads][T][T] */
  float *dscores;           /* [B][heads][T][T], d loss / d score; NULL where no scheme needs it */
  float *context;           /* [N][d] */
  float *slope, *hidden;    /* [N][d_ff] gelu' and gelu of the feed-forward; dh takes the place of slope */
};

/* Memory of one thread. */
struct decoder_space {
  float *x;       /* [T][d] residual stream, then its gradient */
  float *rows;    /* [T][d] */
  float *wide;    /* [T][d_ff] */
  float *scores;  /* [T][T] */
  float *by_head; /* [4][heads][T][width] */
};

struct decoder {
  const struct parameters *layout;
  const struct stack *stack;
  size_t most_sequences, longest;
  unsigned threads;
  struct encoding encoding;
  struct layer_rows *layers; /* [layers] */
  struct norm_rows final_norm;
  float *logits;               /* [N][vocab], then their gradient */
  float **residual;            /* [2 layers + 1] each [N][d]: d loss / d x before layer 0, after each half */
  double *losses;              /* [B] sums */
  struct decoder_space *space; /* [threads] */
  /* Gradients of the scheme's tensors, one block for each unit of work: B sequences, layers x heads biases, 1 for the
   * rows added to the input. */
  size_t scheme_floats; /* of one block */
  float *scheme_blocks; /* [B + layers heads + 1][scheme_floats] */
  float **scheme_slots; /* [blocks][n_tensors] pointers into them; NULL: absent */
  size_t n_tensors;
  struct tile *tiles; /* of the weights' gradients */
  size_t n_tiles;
};

/* One call of decoder_gradient. */
struct pass {
  struct decoder *decoder;
  const float *parameters;
  const struct batch *batch;
  float per_target; /* 1 / counted targets */
  float *gradient;  /* NULL: forward alone */
};

/* A tensor of a layer in a block. */
static inline const float *layer_tensor(const struct pass *pass, size_t layer, enum layer_parameter which) {
  const struct parameters *layout = pass->decoder->layout;
  return pass->parameters + layout->items[parameter_of_layer(layer, which)].offset;
}
static inline const float *tensor_at(const struct pass *pass, size_t index) {
  return pass->parameters + pass->decoder->layout->items[index].offset;
}

/* Scheme gradients of a unit of work, as the host wants them; NULL for a scheme without tensors. */
static inline float *const *scheme_slots(const struct decoder *decoder, size_t block) {
  return decoder->n_tensors ? decoder->scheme_slots + block * decoder->n_tensors : NULL;
}

/* x [T][d] of thread `thread`: sequence `sequence` through all layers; what the way back needs is kept, the logits and
 * the sequence's loss are filled in. [any, one unit a sequence] */
int decoder_forward_sequence(const struct pass *pass, size_t sequence, unsigned thread, struct error *err);

/* From the gradient of the logits back to the input: everything that the gradients of the weights are made of. */
int decoder_backward_sequence(const struct pass *pass, size_t sequence, unsigned thread, struct error *err);

/* The attention of one sequence in one layer, forward: context rows; and backward: dq, dk, dv rows from dcontext
 * [T][d]. */
int decoder_attend(const struct pass *pass, size_t layer, size_t sequence, struct decoder_space *space,
                   struct error *err);
int decoder_attend_backward(const struct pass *pass, size_t layer, size_t sequence, const float *dcontext,
                            struct decoder_space *space, struct error *err);

/* Gradients of all weights of the model and of the scheme's tensors from the rows of all sequences. */
int decoder_plan_tiles(struct decoder *decoder, struct error *err);
int decoder_weight_gradients(const struct pass *pass, struct pool *pool, struct error *err);

#endif
