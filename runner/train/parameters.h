/* The decoder's parameters: one block of float32, and the layout that says which tensor lies where. Gradients and the
 * optimiser's moments are blocks of the same layout.
 *
 * Names and shapes (x @ w, as in weights files):
 *
 *     embeddings [vocab, d]                    layerN/ln_scale, ln_bias [d]         layerN/w_q, w_k, w_v [d, heads,
 * head_dim] layerN/b_q, b_k, b_v [heads, head_dim]   layerN/w_o [heads, head_dim, d]      layerN/b_o [d]
 *     layerN/ff_ln_scale, ff_ln_bias [d]       layerN/w_1 [d, d_ff], b_1 [d_ff]     layerN/w_2 [d_ff, d], b_2 [d]
 *     final_ln_scale, final_ln_bias [d]        w_out [d, vocab], unless tied        b_out [vocab]
 *     scheme/NAME                              the scheme's tensors, one set for all layers
 */
#ifndef PE_TRAIN_PARAMETERS_H
#define PE_TRAIN_PARAMETERS_H

#include "host/gradients.h"

enum gelu { GELU_TANH, GELU_ERF };

/* Sizes and constants of the model; heads divides d_model. */
struct decoder_shape {
  size_t layers, d_model, heads, d_ff, vocab;
  bool tied;          /* w_out is the transposed embeddings */
  enum gelu gelu;     /* tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); erf: x/2 (1 + erf(x / sqrt 2)) */
  double embed_scale; /* factor on embeddings */
  double pe_scale;    /* factor on what the scheme adds to the input */
  double score_scale; /* factor on q . k */
  double norm_epsilon;
};

/* Tensors of one layer, in order. */
enum layer_parameter {
  LN_SCALE,
  LN_BIAS,
  W_Q,
  W_K,
  W_V,
  B_Q,
  B_K,
  B_V,
  W_O,
  B_O,
  FF_LN_SCALE,
  FF_LN_BIAS,
  W_1,
  B_1,
  W_2,
  B_2,
  LAYER_PARAMETERS
};

struct parameter {
  char name[80];
  unsigned rank;
  size_t dim[4];
  size_t count;   /* elements */
  size_t offset;  /* in the block, a multiple of 16 */
  bool is_matrix; /* embeddings and w_*: what weight decay acts on by default */
};

struct parameters {
  struct decoder_shape shape;
  struct parameter *items; /* [n] */
  size_t n;
  size_t final_ln_scale, final_ln_bias, w_out, b_out; /* indices; w_out is that of embeddings where tied */
  size_t scheme;                                      /* index of the first scheme tensor, n where there are none */
  size_t *scheme_tensor;                              /* [n - scheme] which of the instance's tensors each of them is */
  size_t count;                                       /* floats of a block */
};

/* The layout for a shape and a scheme's tensors that are present. 0 or ERROR_MEMORY. */
int parameters_init(struct parameters *layout, const struct decoder_shape *shape, const struct instance *scheme,
                    struct error *err);
void parameters_destroy(struct parameters *layout);

/* Index of a layer's tensor. */
size_t parameter_of_layer(size_t layer, enum layer_parameter which);

/* The tensor of that name, or NULL. */
const struct parameter *parameter_named(const struct parameters *layout, const char *name);

/* A zeroed block; free it. NULL with ERROR_MEMORY. */
float *parameters_block(const struct parameters *layout, struct error *err);

/* Initial values: matrices normal with standard deviation 0.02, w_o and w_2 divided by sqrt(2 layers) (GPT-2), biases
 * 0, scales 1, scheme tensors as the instance holds them. Each tensor has its own stream of `seed` and its name, so
 * all schemes start from the same numbers. */
void parameters_seed(const struct parameters *layout, uint64_t seed, const struct instance *scheme, float *block);

/* Hand the scheme's tensors of a block over to the instance. [serial] */
void parameters_to_scheme(const struct parameters *layout, const float *block, struct instance *scheme);

#endif
