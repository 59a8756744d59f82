#include "train/training.h"

#include "base/memory.h"
#include "train/state.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* What a run owns. */
struct run {
  const struct training *training;
  struct decoder *decoder;
  struct training_state state;
  float *gradient;
  int32_t *ids, *targets;
  double next_state; /* seconds: not before is the state written again */
};

/* The state may be written for at most this share of the time. */
static const double STATE_SHARE = 0.02;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int make(struct run *run, float *parameters, double *losses, unsigned threads, struct error *err) {
  const struct training *t = run->training;
  size_t tokens = t->sequences * t->length;
  run->decoder = decoder_new(t->layout, t->stack, t->sequences, t->length, threads, err);
  if (!run->decoder) {
    return err->code;
  }
  run->gradient = parameters_block(t->layout, err);
  run->state = (struct training_state){.count = t->layout->count,
                                       .parameters = parameters,
                                       .first = parameters_block(t->layout, err),
                                       .second = parameters_block(t->layout, err),
                                       .losses = losses};
  run->ids = memory_new(tokens, sizeof *run->ids, "a batch", err);
  run->targets = memory_new(tokens, sizeof *run->targets, "a batch", err);
  return run->gradient && run->state.first && run->state.second && run->ids && run->targets ? 0 : ERROR_MEMORY;
}

static void release(struct run *run) {
  decoder_free(run->decoder);
  free(run->gradient);
  free(run->state.first);
  free(run->state.second);
  free(run->ids);
  free(run->targets);
}

/* One step; *loss before it. */
static int step(struct run *run, struct pool *pool, double *loss, struct error *err) {
  const struct training *t = run->training;
  struct training_state *state = &run->state;
  struct batch batch = {.sequences = t->sequences, .length = t->length, .ids = run->ids, .targets = run->targets};
  data_batch(t->data, t->seed, state->step, t->sequences, t->length, run->ids, run->targets);
  parameters_to_scheme(t->layout, state->parameters, t->stack->scheme);
  int status = decoder_gradient(run->decoder, state->parameters, &batch, pool, loss, run->gradient, err);
  if (status || !isfinite(*loss)) {
    return status;
  }
  double norm, rate = optimiser_learning_rate(&t->optimiser, state->step);
  return optimiser_step(t->layout, &t->optimiser, state->step, rate, run->gradient, state->first, state->second,
                        state->parameters, pool, &norm, err);
}

static int keep_state(struct run *run, struct error *err) {
  const struct training *t = run->training;
  bool finished = run->state.step == t->optimiser.total_steps;
  double begun = now();
  if (!t->state_path || (!finished && (run->state.step % t->state_every || begun < run->next_state))) {
    return 0;
  }
  int status = state_write(t->state_path, t->state_key, &run->state, finished, err);
  double ended = now();
  run->next_state = ended + fmax(t->state_seconds, (ended - begun) / STATE_SHARE);
  return status;
}

static int run_steps(struct run *run, struct pool *pool, struct error *err) {
  const struct training *t = run->training;
  struct training_state *state = &run->state;
  run->next_state = now() + t->state_seconds / 20;
  while (state->step < t->optimiser.total_steps) {
    double loss;
    int status = step(run, pool, &loss, err);
    if (status) {
      return status;
    }
    size_t done = isfinite(loss) ? state->step + 1 : t->optimiser.total_steps;
    for (size_t i = state->step; i < done; i++) {
      state->losses[i] = isfinite(loss) ? loss : NAN;
    }
    state->step = done;
    if (t->progress) {
      t->progress(t->progress_context, state->step, state->losses[state->step - 1]);
    }
    status = keep_state(run, err);
    if (status) {
      return status;
    }
  }
  return 0;
}

int training_run(const struct training *training, struct pool *pool, float *parameters, double *losses,
                 struct error *err) {
  struct run run = {.training = training};
  bool found = false;
  int status = make(&run, parameters, losses, pool_threads(pool), err);
  if (!status && training->state_path) {
    status =
        state_read(training->state_path, training->state_key, training->optimiser.total_steps, &run.state, &found, err);
  }
  if (!status && !found) {
    parameters_seed(training->layout, training->seed, training->stack->scheme, parameters);
  }
  if (!status && found && training->progress && run.state.step) {
    training->progress(training->progress_context, run.state.step, losses[run.state.step - 1]);
  }
  status = status ? status : run_steps(&run, pool, err);
  if (!status) {
    parameters_to_scheme(training->layout, parameters, training->stack->scheme);
  }
  release(&run);
  return status;
}
