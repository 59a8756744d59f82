/* Training a decoder: batches from keyed random numbers, a step of the optimiser each. A training that was interrupted
 * goes on from its state file with the same bits; one that was finished is taken from there.
 */
#ifndef PE_TRAIN_TRAINING_H
#define PE_TRAIN_TRAINING_H

#include "train/data.h"
#include "train/decoder.h"
#include "train/optimiser.h"

struct training {
  const struct parameters *layout;
  const struct stack *stack;
  const struct data *data;
  struct optimiser_setting optimiser; /* total_steps: how many are made */
  uint64_t seed;                      /* of initial parameters and of batches */
  size_t sequences, length;           /* of a batch */
  /* File of the state, written every `state_every` steps but not before `state_seconds` (a twentieth of them at first,
   * and fifty times what writing took) after the last time, and at the end; NULL: none. It stays: the caller's to
   * remove. */
  const char *state_path;
  const char *state_key; /* what decides the result: a state of another key is not taken up */
  size_t state_every;
  double state_seconds;
  /* After each step, and once with what an earlier run did; may be NULL. step: how many are done; loss: of the last
   * one. */
  void (*progress)(void *context, size_t step, double loss);
  void *progress_context;
};

/* parameters (a block of the layout) = those of the trained model; losses [total_steps] of the batches, each before its
 * step, NAN from the step on at which the loss was no longer a number (then training stops there). The scheme holds its
 * trained tensors afterwards. 0, what a scheme's call gave, ERROR_FILE_WRITE (the state cannot be kept) or
 * ERROR_MEMORY. */
int training_run(const struct training *training, struct pool *pool, float *parameters, double *losses,
                 struct error *err);

#endif
