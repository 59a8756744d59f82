/* Tokens at positions, seen through a scheme: the q, k and v that enter attention.
 *
 *     content -> + EMBED -> layer norm, projections -> QK -> encoded
 */
#ifndef PE_EXPERIMENTS_ENCODE_H
#define PE_EXPERIMENTS_ENCODE_H

#include "experiments/experiment.h"

/* A sequence: which tokens of which text, at which positions. */
struct sequence {
  size_t text;
  size_t n;
  const size_t *index;     /* [n] tokens of the text; NULL: 0 .. n - 1, past the end wrapping around */
  const double *positions; /* [n]; NULL: offset, offset + 1, ... counted over unpadded tokens */
  double offset;
  bool without_values; /* v is not needed */
  size_t queries_from; /* rows of q before it are not needed, and not made */
};

struct encoded {
  size_t n, n_heads, n_kv_heads, width, value_width;
  size_t axes;      /* coordinates per position */
  double *mapped;   /* [n][axes] positions as the scheme is told */
  uint8_t *padding; /* [n] or NULL */
  double seq_len;
  float *x;            /* [n][d_model] with positions added; NULL where the model is given as q and k */
  size_t queries_from; /* first row of q */
  float *q;            /* [n_heads][n - queries_from][width] */
  float *k;            /* [n_kv_heads][n][width] */
  float *v;            /* [n_kv_heads][n][value_width], NULL where the model has none */
};

/* What a weakened context leaves of the scheme: x + 0.1 PE, q + 0.1 (R q - q), s + 0.1 b. */
#define WEAKENED_TO 0.1

/* Encode a sequence with `scheme` (context->scheme or one of its companions). ERROR_UNDEFINED where the scheme is not
 * defined at a position, or widens rows so that there is nothing to weaken; on any error *out is empty. */
int encode_sequence(const struct experiment_context *context, const struct instance *scheme,
                    const struct sequence *sequence, struct encoded *out, struct error *err);

void encoded_free(struct encoded *encoded);

/* Attention of the rows [first_query, n) of an encoded sequence over all its keys, through the scheme's bias. `output`
 * as in attention/attention.h with nq = n - first_query. */
struct attention_output;
int attend(const struct experiment_context *context, const struct instance *scheme, const struct encoded *encoded,
           size_t first_query, bool causal, const struct attention_output *output, struct error *err);

/* The same in a layer of the model, whose own is model->layer: biases may differ by layer. */
int attend_layer(const struct experiment_context *context, const struct instance *scheme, size_t layer,
                 const struct encoded *encoded, size_t first_query, bool causal, const struct attention_output *output,
                 struct error *err);

/* Both in one: the weights [n_heads][n - first_query][n] of a sequence. To be freed; NULL with *err. */
float *attention_weights(const struct experiment_context *context, const struct instance *scheme,
                         const struct sequence *sequence, size_t first_query, bool causal, struct error *err);

#endif
