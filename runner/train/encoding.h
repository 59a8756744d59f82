/* What the schemes of a stack of layers give for one sequence length, the same for every sequence of a batch: mapped
 * positions, the rows added to the input and, for schemes that do not look at content, the biases.
 *
 * One scheme serves the stack; with `every` > 0 the layers every - 1, 2 every - 1, ... (each `every`-th) use another
 * one, usually the control.
 */
#ifndef PE_TRAIN_ENCODING_H
#define PE_TRAIN_ENCODING_H

#include "base/pool.h"
#include "train/parameters.h"
#include "train/turns.h"

struct stack {
  struct instance *scheme;      /* its tensors are trained */
  const struct instance *other; /* of each `every`-th layer, without tensors; NULL where every is 0 */
  size_t every;
};

/* The scheme of a layer. */
const struct instance *stack_layer(const struct stack *stack, size_t layer);

struct encoding {
  size_t length;        /* T */
  double *mapped;       /* [T] positions the scheme is told */
  double *other_mapped; /* [T] the same of `other`; NULL without one */
  double seq_len, other_seq_len;
  float *rows;         /* [T][d_model] what EMBED adds, before pe_scale; NULL where the scheme has no such site */
  float *bias;         /* [layers][heads][T][T], zero in layers without BIAS; NULL where no layer has one */
  struct turns *turns; /* [layers] rotations from tables, made for `turned` tokens; NULL where no bias was asked for */
  size_t layers, turned;
  bool has_bias; /* some layer's scheme has a BIAS site that does not look at content */
};

/* Make room for up to `longest` tokens, with_bias: for the biases
 * and tables of rotations, too. ERROR_SCHEME_REFUSED for a scheme whose
 * positions have several coordinates. */
int encoding_init(struct encoding *encoding, const struct decoder_shape *shape, const struct stack *stack,
                  size_t longest, bool with_bias, struct error *err);
void encoding_destroy(struct encoding *encoding);

/* Fill in for sequences of `length` tokens at positions 0 .. length - 1. ERROR_UNDEFINED where a scheme is not defined
 * there. */
int encoding_fill(struct encoding *encoding, const struct decoder_shape *shape, const struct stack *stack,
                  size_t length, struct pool *pool, struct error *err);

/* Positions and sequence length of a layer's scheme. */
const double *encoding_positions(const struct encoding *encoding, const struct stack *stack, size_t layer,
                                 double *seq_len);

#endif
