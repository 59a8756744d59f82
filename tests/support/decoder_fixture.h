/* A small decoder with a scheme of the build's plugins, as the runner makes it. What goes wrong fails the running test.
 */
#ifndef DECODER_FIXTURE_H
#define DECODER_FIXTURE_H

#include "train/decoder.h"
#include "train/optimiser.h"

typedef struct decoder_fixture {
  struct host *host;
  struct pool *pool; /* NULL for 1 thread */
  struct stack stack;
  struct instance *scheme;
  struct parameters layout;
  struct decoder *decoder;
  float *parameters, *gradient, *first, *second;
} decoder_fixture;

/* `scheme` with `params` (flow text such as {base: 500}), seed 7; parameters are seeded with 5. threads 1 or more. */
void decoder_fixture_open(decoder_fixture *fixture, const char *scheme, const char *params,
                          const struct decoder_shape *shape, double train_length, size_t sequences, size_t length,
                          unsigned threads);
/* The same with tensors that the config gives, [n_tensors of the scheme]. */
void decoder_fixture_open_with(decoder_fixture *fixture, const char *scheme, const char *params,
                               const struct tensor_source *tensors, const struct decoder_shape *shape,
                               double train_length, size_t sequences, size_t length, unsigned threads);
void decoder_fixture_close(decoder_fixture *fixture);

/* Loss and gradient at fixture->parameters, which are handed to the scheme first. with_gradient false: loss alone. */
double decoder_fixture_loss(decoder_fixture *fixture, const struct batch *batch, bool with_gradient);

#endif
