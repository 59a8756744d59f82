/* A layer of a trained model from its group /layerN in a weights file: projections, and, where the file holds them, the
 * output projection and the feed-forward half, with which the layer's rows go on to the next one (pre-layer-norm):
 *
 *     x = x + context w_o + b_o
 *     x = x + gelu(norm(x) w_1 + b_1) w_2 + b_2
 */
#ifndef PE_INPUT_WEIGHTS_LAYER_H
#define PE_INPUT_WEIGHTS_LAYER_H

#include "input/hdf5_reader.h"
#include "input/layer.h"

struct weights_layer {
  size_t n_heads, n_kv_heads;
  double score_scale;
  struct layer layer;
  struct projection output;  /* d_out 0: none */
  float *ff_scale, *ff_bias; /* [d_model]; NULL: no feed-forward half */
  double ff_epsilon;
  struct projection up, down;
  bool gelu_is_erf;
};

/* Read /layer<index>; the attributes `norm` and `activation` of the file are those of the layer. 0, ERROR_FILE_CONTENT,
 * ERROR_FILE_READ or ERROR_MEMORY; weights_layer_destroy is due in every case. */
int weights_layer_read(struct hdf5_file *file, size_t index, size_t d_model, struct weights_layer *out,
                       struct error *err);
void weights_layer_destroy(struct weights_layer *layer);

/* Whether rows can go on to the next layer. */
bool weights_layer_goes_on(const struct weights_layer *layer);

/* out [n][output.d_out] = output projection of context [n_heads][n][value_dim]. 0 or ERROR_MEMORY. */
int weights_layer_output(const struct weights_layer *layer, const float *context, size_t n, float *out,
                         struct error *err);

/* x [n][d_model], what went into the layer, becomes what comes out, given its context [n_heads][n][value_dim]. Row i
 * depends on row i alone. 0 or ERROR_MEMORY. */
int weights_layer_pass(const struct weights_layer *layer, const float *context, size_t n, float *x, struct error *err);

/* An attribute that repeats what a shape says must say the same; number_or: `absent` where it is missing. */
int weights_cross_check(struct hdf5_file *file, const char *object, const char *name, size_t is, const char *what,
                        struct error *err);
int weights_number_or(struct hdf5_file *file, const char *object, const char *name, double absent, double *value,
                      struct error *err);

#endif
