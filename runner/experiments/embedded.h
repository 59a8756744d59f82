/* What schemes add to the input at a sequence of positions, kept within a job: stretches of one length stand at the
 * same positions, and so does each window at an offset. Any thread may ask. */
#ifndef PE_EXPERIMENTS_EMBEDDED_H
#define PE_EXPERIMENTS_EMBEDDED_H

#include "host/instance.h"

struct embedded;

/* Nothing is kept yet. NULL with ERROR_MEMORY. */
struct embedded *embedded_new(struct error *err);
void embedded_free(struct embedded *embedded);

/* x [n][d_model] += scale times what the scheme adds at mapped [n][axes] in a sequence of length seq_len; rounded to
 * float32 before it is scaled and added. 0 or an error code of instance_embed, ERROR_SCHEME_BOUNDS or ERROR_MEMORY, and
 * x is as it was. Nothing is kept where `embedded` is NULL or there is padding [n]. */
int embedded_add(struct embedded *embedded, const struct instance *scheme, size_t n, const double *mapped,
                 const uint8_t *padding, double seq_len, double scale, float *x, size_t d_model, struct error *err);

#endif
