/* AdamW with clipping of the gradient's norm and a learning rate that warms up and falls along a cosine.
 *
 *     g *= min(1, clip_norm / (|g| + 1e-6))          one norm over all tensors      torch.nn.utils.clip_grad_norm_
 *     p -= lr weight_decay p                          decayed tensors               Loshchilov and Hutter 2019
 *     p -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)             torch.optim.AdamW, t from 1
 *
 *     step s = 0 .. S - 1, W warm-up steps:   s < W: lr (s + 1) / W
 *     else lr (r + (1 - r) / 2 (1 + cos(pi (s - W) / (S - W))))                     r = min_ratio
 */
#ifndef PE_TRAIN_OPTIMISER_H
#define PE_TRAIN_OPTIMISER_H

#include "base/pool.h"
#include "train/parameters.h"

enum decay { DECAY_MATRICES, DECAY_ALL };

struct optimiser_setting {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  enum decay decay; /* matrices: embeddings and w_* alone; all: every tensor */
  double clip_norm; /* INFINITY: none */
  size_t warmup_steps, total_steps;
  double min_ratio; /* of the learning rate at the end */
};

/* Learning rate of a step, from 0. */
double optimiser_learning_rate(const struct optimiser_setting *setting, size_t step);

/* Change `parameters` by `gradient`, with `first` and `second` moments (blocks, zero before the first step). *norm: of
 * the gradient, before clipping. step from 0. 0 or ERROR_MEMORY. */
int optimiser_step(const struct parameters *layout, const struct optimiser_setting *setting, size_t step,
                   double learning_rate, const float *gradient, float *first, float *second, float *parameters,
                   struct pool *pool, double *norm, struct error *err);

#endif
