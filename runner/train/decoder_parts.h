/* What the files of the decoder share: the rows it keeps from the way forward for the way back. N = B T rows, sequence
 * by sequence. */
#ifndef PE_TRAIN_DECODER_PARTS_H
#define PE_TRAIN_DECODER_PARTS_H

#include "host/gradients.h"
#include "train/decoder.h"
#include "train/kernels.h"

/* One layer norm: what went out, and the normalised rows before scale and bias. */
struct norm_rows {
  float *y, *normal; /* [N][d] */
  float *inverse;    /* [N] */
};

struct layer_rows {
  struct norm_rows norm, ff_norm;
  float *q, *k, *v;         /* [N][d] as projected */
  float *moved_q, *moved_k; /* [B][heads][T][width] at their positions; NULL where the layer does not move them */
  float *weights;           /* [B][heads][T][T] */
  float *dscores;           /* [B][heads][T][T], d loss / d score; NULL where no scheme needs it */
  float *context;           /* [N][d] */
  float *slope, *hidden;    /* [N][d_ff] gelu' and gelu of the feed-forward; dh takes the place of slope */
};

/* Gradients of one layer's rows, from which those of its weights are made before the layer below takes the memory. */
struct back_rows {
  float *dq, *dk, *dv;       /* [N][d] */
  float *ff_out, *heads_out; /* [N][d] d loss / d x behind the feed-forward half, behind the attention half */
};

/* Memory of one thread. */
struct decoder_space {
  float *rows, *dy; /* [T][d] */
  float *wide;      /* [T][d_ff] */
  float *scores;    /* [T][T] */
  float *turned;    /* [width][T] keys or values of a head, transposed */
  float *by_head;   /* [4][heads][T][width] */
};

struct decoder {
  const struct parameters *layout;
  const struct stack *stack;
  size_t most_sequences, longest;
  unsigned threads;
  struct encoding encoding;
  float *block;              /* all floats below */
  float *stream;             /* [N][d] residual stream x, then d loss / d x */
  struct layer_rows *layers; /* [layers] */
  struct back_rows back;
  struct norm_rows final_norm;
  float *logits; /* [N][vocab], then their gradient */
  float *turned; /* matrices transposed, each at its parameter's offset: products run on those */
  /* Gradients of biases and norms are sums over rows: made sequence by sequence, while the rows are in the cache, and
   * added up in the order of the sequences. */
  size_t *vector_at;           /* [layout->n] where a tensor that is no matrix begins in a sequence's block */
  size_t vector_floats;        /* of a block */
  float *vectors;              /* [B][vector_floats] */
  double *losses;              /* [B] sums */
  struct decoder_space *space; /* [threads] */
  /* Gradients of the scheme's tensors, one block for each unit of work: B sequences, layers x heads biases, 1 for the
   * rows added to the input. */
  size_t scheme_floats; /* of one block */
  float *scheme_blocks; /* [B + layers heads + 1][scheme_floats] */
  float **scheme_slots; /* [blocks][n_tensors] pointers into them; NULL: absent */
  size_t n_tensors;
  struct tile *tiles; /* of the weights' gradients: each layer's, then those of output and embeddings */
  size_t *first_tile; /* [layers + 2] */
};

/* One call of decoder_gradient. */
struct pass {
  struct decoder *decoder;
  const float *parameters;
  const struct batch *batch;
  float per_target; /* 1 / counted targets */
  float *gradient;  /* NULL: forward alone */
  size_t layer;     /* that is worked on */
};

/* A tensor of a layer in a block. */
static inline const float *layer_tensor(const struct pass *pass, size_t layer, enum layer_parameter which) {
  const struct parameters *layout = pass->decoder->layout;
  return pass->parameters + layout->items[parameter_of_layer(layer, which)].offset;
}
/* The same, transposed. */
static inline const float *layer_turned(const struct pass *pass, size_t layer, enum layer_parameter which) {
  const struct decoder *decoder = pass->decoder;
  return decoder->turned + decoder->layout->items[parameter_of_layer(layer, which)].offset;
}
static inline const float *tensor_at(const struct pass *pass, size_t index) {
  return pass->parameters + pass->decoder->layout->items[index].offset;
}

/* Scheme gradients of a unit of work, as the host wants them; NULL for a scheme without tensors. */
static inline float *const *scheme_slots(const struct decoder *decoder, size_t block) {
  return decoder->n_tensors ? decoder->scheme_slots + block * decoder->n_tensors : NULL;
}

/* Where a sequence's part of a bias's or norm's gradient goes. */
static inline float *vector_of(const struct pass *pass, size_t sequence, size_t index) {
  const struct decoder *decoder = pass->decoder;
  return decoder->vectors + sequence * decoder->vector_floats + decoder->vector_at[index];
}

/* The way of one sequence, in the order of the calls: its stream is filled; goes through layer pass->layer; gives
 * logits and loss and, where gradients are wanted, becomes the gradient of the last layer's output; goes back through a
 * layer. What the gradients of the weights are made of is kept. [any, one unit a sequence] */
void decoder_embed(const struct pass *pass, size_t sequence);
int decoder_forward_layer(const struct pass *pass, size_t sequence, unsigned thread, struct error *err);
void decoder_output(const struct pass *pass, size_t sequence, unsigned thread);
int decoder_backward_layer(const struct pass *pass, size_t sequence, unsigned thread, struct error *err);

/* The part of decoder_output from the gradient of the logits back. */
void decoder_output_backward(const struct pass *pass, size_t sequence, unsigned thread);

/* The attention of one sequence in one layer, forward: context rows; and backward: dq, dk, dv rows from dcontext
 * [T][d]. */
int decoder_attend(const struct pass *pass, size_t layer, size_t sequence, struct decoder_space *space,
                   struct error *err);
int decoder_attend_backward(const struct pass *pass, size_t layer, size_t sequence, const float *dcontext,
                            struct decoder_space *space, struct error *err);

/* Gradients of the matrices of layer pass->layer, or, for pass->layer == layers, of output and embeddings. */
int decoder_plan_tiles(struct decoder *decoder, struct error *err);
int decoder_matrix_gradients(const struct pass *pass, struct pool *pool, struct error *err);

/* Gradients of everything else: biases and norms, the scheme's tensors. */
int decoder_vector_gradients(const struct pass *pass, struct pool *pool, struct error *err);

#endif
