/* What a model makes of its tokens without positions, made once for all schemes that do not touch the input. It belongs
 * to one model and is kept as long as that, for one job after the other; a row depends on its token alone, so that what
 * is kept changes no bit of any job.
 */
#ifndef PE_EXPERIMENTS_PROJECTIONS_H
#define PE_EXPERIMENTS_PROJECTIONS_H

#include "input/model.h"

struct kept_text {
  size_t count; /* tokens 0 .. count - 1 of the text; 0: nothing is kept */
  float *x;     /* [count][d_model] content; NULL where it is cheap to make */
  float *q, *k; /* [heads][count][head_dim]; NULL: of a layer whose input depends on the scheme */
};

struct projections {
  const struct model *model;
  struct kept_text *texts; /* [model->n_texts]; NULL: not prepared */
};

/* Make what is kept of every text, unless that is there: all tokens; of an endless text the first `tokens`, or as many
 * of them as PROJECTIONS_ENDLESS bytes hold. Nothing where the model has no input. 0 or an error code, and then nothing
 * is kept. Afterwards any thread may read. */
enum { PROJECTIONS_ENDLESS = 64 << 20 };
int projections_prepare(struct projections *projections, size_t tokens, struct pool *pool, struct error *err);

/* The text's, where all of tokens index[0..n) are kept (past the end of a text that has one they wrap around); else
 * NULL. */
const struct kept_text *projections_of(const struct projections *projections, size_t text, const size_t *index,
                                       size_t n);

/* How much memory it has; 0 where nothing is kept, and there may be no model. */
size_t projections_bytes(const struct projections *projections);

/* Release what is kept; it may be prepared again. */
void projections_free(struct projections *projections);

#endif
