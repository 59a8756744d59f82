/* A trained decoder at any length: losses of single tokens by a forward pass whose memory does not grow with T x T (the
 * attention kernel shared with the experiments).
 */
#ifndef PE_TRAIN_EVALUATE_H
#define PE_TRAIN_EVALUATE_H

#include "base/pool.h"
#include "train/encoding.h"
#include "train/parameters.h"

/* Of the attention of the counted rows, mean over rows and sequences; each [layers][heads]. */
struct attention_summary {
  double *entropy;       /* nats over ln of the visible keys: 0 one key, 1 even */
  double *mean_distance; /* tokens */
  double *first_share;   /* weight on the first token */
};

struct evaluation {
  const struct parameters *layout;
  const struct stack *stack; /* the scheme holds the parameters' scheme tensors */
  const float *parameters;
  size_t sequences, length;
  size_t first; /* targets before this position are not counted; the last layer is computed from it on */
  const int32_t *ids, *targets; /* [sequences][length]; target -1: not counted */
};

/* losses [sequences][length - first]: -ln p(target), NaN where not counted; correct, unless NULL: 1 where the target is
 * the most probable token. summary may be NULL. ERROR_UNDEFINED where a scheme is not defined at a position. Bits do
 * not depend on threads. */
int evaluate(const struct evaluation *evaluation, struct pool *pool, double *losses, uint8_t *correct,
             const struct attention_summary *summary, struct error *err);

#endif
