/* The parts of the experiment length_generalization: one scheme, trained at L with several seeds, tried beyond. */
#ifndef PE_EXPERIMENTS_LENGTH_GENERALIZATION_H
#define PE_EXPERIMENTS_LENGTH_GENERALIZATION_H

#include "experiments/common.h"
#include "train/data.h"
#include "train/training.h"

enum { GENERALIZATION_RANKED_SEEDS = 5 }; /* fewer: no pair is judged */

/* How far a job is. */
struct course {
  size_t first_step, all_steps; /* of all trainings together: where the one that runs begins, and how many there are */
  double trained, measured;     /* 0 .. 1 */
};

/* The settings of one job, resolved. */
struct generalization {
  const struct experiment_context *context;
  size_t train_length;                        /* L */
  double *lengths;                            /* [n_lengths] ascending, L among them */
  size_t n_lengths, longest, at_train_length; /* index of L */
  size_t seeds, steps, batch;
  const double *rates; /* [n_rates] learning rates to choose from */
  size_t n_rates;
  size_t tail, targets; /* last tokens of a context that are counted; how many in all */
  size_t stride;        /* of sliding windows */
  size_t examples;      /* of a task, at each length */
  struct decoder_shape shape;
  bool follows_scheme_scale; /* score_scale gives way to the scheme's own */
  struct optimiser_setting optimiser;
  struct data data;
  struct course *course; /* changed as the job goes on */
};

/* Say how far the job is, with what it is at in words. */
void generalization_tell(const struct generalization *g, const char *words);

/* See experiment.h. */
void generalization_scheme_defaults(const struct section *keys, const struct scheme_info *scheme,
                                    struct section *params);
int generalization_check(const struct plan *plan, const struct plan_experiment *entry, struct error *err);

/* The schemes that an element of `pairs`, a/b, names: false where it names no two of the plan. */
bool generalization_pair(const struct plan *plan, const char *text, const struct plan_scheme **a,
                         const struct plan_scheme **b);

/* 0, ERROR_JOB_SETUP (a text that is too short), ERROR_FILE_*, ERROR_MEMORY; generalization_close is due in every
 * case. */
int generalization_open(const struct experiment_context *context, struct generalization *g, struct error *err);
void generalization_close(struct generalization *g);

/* One model: the scheme's instance, the layout and the parameters. */
struct trained {
  struct stack stack;
  struct instance *scheme, *other;
  struct parameters layout;
  float *parameters; /* block */
  double *losses;    /* [steps] of the training batches */
};

/* Train with seed `seed` (0, 1, ...) at a learning rate; `name` tells its state file from others'. The course's
 * first_step moves on. ERROR_SCHEME_REFUSED for a scheme without gradients. On any error *out is empty. */
int generalization_train(const struct generalization *g, size_t seed, double rate, const char *name,
                         struct trained *out, struct error *err);
void trained_free(struct trained *trained);

/* Mean loss at L over the selection split (a task: over its selection examples); INFINITY where training failed. */
int generalization_selection_loss(const struct generalization *g, const struct trained *trained, double *loss,
                                  struct error *err);

/* What is measured of one model, each [n_lengths]; NAN where the scheme is not defined. */
struct measures {
  double *fixed;    /* loss on the same targets at every length */
  double *windows;  /* loss over windows without overlap */
  double *sliding;  /* loss of the last `stride` tokens of overlapping windows */
  double *accuracy; /* tasks: share of examples whose whole answer is right */
  double *token_accuracy;
  double *attention[3]; /* [n_lengths][layers][heads] entropy, mean distance, first token's share; last tokens */
  double *by_position;  /* [longest] loss by position at the longest defined length */
};

/* Fill one seed's share of the measures; defined [n_lengths]: 1 where the scheme is. */
int generalization_measure(const struct generalization *g, const struct trained *trained, const struct measures *out,
                           uint8_t *defined, struct error *err);

/* Which arguments of the scheme training at L never met (buckets, rows, angles), in words; "" where none. To be freed.
 */
char *generalization_untrained_arguments(const struct generalization *g, const struct trained *trained,
                                         struct error *err);

int generalization_conclude(const struct plan *plan, const struct plan_experiment *entry,
                            const struct record *const *records, struct conclusion *conclusion, struct error *err);

#endif
