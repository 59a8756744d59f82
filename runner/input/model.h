/* Where the numbers come from: tokens, their content, and the projections of one attention layer. A model is made once
 * from the section `model`, is constant afterwards and is shared by all jobs. [any]
 *
 *     x    [n][d_model]            content rows, without positions
 *     q, k [n_heads][n][head_dim]  (k: n_kv_heads) projected, bias added; score_scale and positions not applied
 *     v    [n_kv_heads][n][value_dim]
 */
#ifndef PE_INPUT_MODEL_H
#define PE_INPUT_MODEL_H

#include "base/keys.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_tokens {
  char *name; /* file name, "text", "ids", "corpus", "matrix", ... */
  size_t count;
  int32_t *ids;     /* [count]; -1: padding. NULL for sources without ids (matrix, random, q and k) */
  uint8_t *padding; /* [count], 1: padding; NULL: none is */
};

/* What training used, where the weights say so. */
struct trained_with {
  char *scheme;      /* id; "" : not known */
  char *parameters;  /* JSON object text: {"base": 10000, "layout": "halves"}; "" : none */
  char *mask;        /* "none", "causal" or "" */
  double max_length; /* training length in tokens; 0: not known */
  char *file;        /* with the scheme's tensors in /scheme; "": none */
};

enum model_kind { MODEL_WEIGHTS, MODEL_MATRIX, MODEL_RANDOM, MODEL_QK, MODEL_EMBEDDINGS };

struct model {
  enum model_kind kind;
  size_t layer, n_layers;
  size_t d_model; /* 0: given q and k, no x */
  size_t n_heads, n_kv_heads, head_dim, value_dim;
  double score_scale;
  double pe_scale;       /* factor on what a scheme adds to the input; 1 unless the weights were trained with another */
  bool scale_is_trained; /* real weights keep their scale; a scheme's own wish is not followed */
  bool endless;          /* any number of tokens (random): `count` of the text is then 0 */
  struct trained_with trained;
  struct text_tokens *texts;
  size_t n_texts;
  struct model_source *source;       /* of the kind; private to input/ */
  struct token_positions *positions; /* private to input/ */
};

/* Read all that the section asks for. `seed` drives corpus and random numbers. NULL with ERROR_FILE_*, ERROR_TOKENS,
 * ERROR_JOB_SETUP or ERROR_MEMORY. */
struct model *model_open(const struct section *section, uint64_t seed, struct error *err);
void model_close(struct model *model);

/* A control: the same content, shapes and score scale, the query and key projections (weights and biases) redrawn as
 * Gaussian numbers with the mean and standard deviation that the model's own have in each head; given q and k are
 * redrawn with those of each head's channel. Layers below are its own. It has no values of its own. It uses `model`,
 * which must outlive it; to be released with model_random_twin_close. NULL with err->code 0 where the model has no
 * projections of its own (matrix), else with ERROR_MEMORY. */
struct model *model_random_twin(const struct model *model, uint64_t seed, struct error *err);
void model_random_twin_close(struct model *twin);

/* The piece of vocabulary behind an id, "" where there is none; lives as long as the model. */
const char *model_piece(const struct model *model, int32_t id);

/* x [n][d_model] = content of tokens index[0..n) of text `text`; an index past the end wraps around (repeated tokens).
 * Padding gives zero rows. d_model must not be 0. */
int model_content(const struct model *model, size_t text, const size_t *index, size_t n, float *x, struct error *err);

/* Coordinates of a position: 1, or 2 with model.positions: {grid: ...}, or the columns of a list. */
size_t model_position_axes(const struct model *model);

/* Whether positions are the default 0, 1, 2, ... */
bool model_positions_are_default(const struct model *model);

/* out [n][model_position_axes] = positions of tokens index[0..n) of text `text` as model.positions gives them. By
 * default, and with {start, step}, tokens are counted without padding, from 0, and on where the text is repeated
 * (an index past the end); a grid or a list gives token `index` its own entry. Padding: -1. ERROR_JOB_SETUP where a
 * grid or list has no entry for an index, ERROR_MEMORY. */
int model_positions(const struct model *model, size_t text, const size_t *index, size_t n, double *out,
                    struct error *err);

/* q, k, v from x [n][d_model] with positions already added (layer norm, projections, biases). Bits do not depend on the
 * pool's threads, and row i of the result depends on row i of x alone, whatever n is. Any of q, k, v may be NULL. */
int model_project(const struct model *model, const float *x, size_t n, float *q, float *k, float *v, struct pool *pool,
                  struct error *err);

/* The same of a layer below model->layer (or of that itself), from the rows that go into it. */
int model_project_layer(const struct model *model, size_t layer, const float *x, size_t n, float *q, float *k, float *v,
                        struct pool *pool, struct error *err);

/* x [n][d_model], what went into layer `layer` < model->layer, becomes what comes out, given its context
 * [n_heads][n][value_dim]. */
int model_pass_layer(const struct model *model, size_t layer, const float *context, size_t n, float *x,
                     struct error *err);

/* q, k, v of tokens index[0..n) where the model is given as q and k (d_model 0); without values value_dim is 0 and v is
 * not written. Any of q, k, v may be NULL. */
int model_given_qk(const struct model *model, size_t text, const size_t *index, size_t n, float *q, float *k, float *v,
                   struct error *err);

/* out [n][model_output_width] = the layer's output projection of context [n_heads][n][value_dim]. Width 0: the source
 * has none. */
size_t model_output_width(const struct model *model);
int model_output(const struct model *model, const float *context, size_t n, float *out, struct error *err);

/* A tensor of a scheme as the config gives it: nested lists, FILE:/dataset or FILE.npy, as float32 row-major, rank
 * <= 4. *data is the caller's to free; *from a description for messages, to be freed. ERROR_FILE_*, ERROR_MEMORY. */
int model_read_tensor(const struct key_value *value, float **data, size_t dim[4], unsigned *rank, char **from,
                      struct error *err);

/* The tensor `name` of an HDF5 file of a scheme's weights (`weights: FILE`): /scheme/<name> or /<name>. *data NULL and
 * 0 where the file has none. */
int model_read_scheme_tensor(const char *path, const char *name, float **data, size_t dim[4], unsigned *rank,
                             struct error *err);

#endif
