/* The decoder's loss in plain float64, from the formulas at the head of train/decoder.h alone: for differences that
 * have no rounding errors of float32. What the scheme gives (rows, rotations, biases) is asked of its plugin, in
 * float32, and is then a constant of the model or, where its tensors are changed, a function of them that is sampled.
 */
#ifndef DECODER_REFERENCE_H
#define DECODER_REFERENCE_H

#include "decoder_fixture.h"

typedef struct decoder_reference {
  const struct parameters *layout;
  size_t length, width;
  double *rows;    /* [T][d] added to the input; zeros without an EMBED site */
  double *moves;   /* [2 roles][layers][heads][T][width][head_dim]: q and k at their positions are these times q, k */
  double *bias;    /* [layers][heads][T][T] */
  double *scratch; /* of decoder_reference_loss */
} decoder_reference;

/* Of the fixture's scheme, for sequences of `length` tokens. What goes wrong fails the running test. */
void decoder_reference_open(decoder_reference *reference, const decoder_fixture *fixture, size_t length);
void decoder_reference_close(decoder_reference *reference);

/* Ask the scheme again, after its tensors have changed. */
void decoder_reference_ask(decoder_reference *reference, const decoder_fixture *fixture);

/* Mean of -ln p(target) over the counted targets; values: a block of the layout in float64. */
double decoder_reference_loss(const decoder_reference *reference, const double *values, const struct batch *batch);

#endif
