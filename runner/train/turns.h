/* Rotations from a table. Training moves the same positions some hundred thousand times; a scheme without tensors that
 * turns pairs of channels does the same to every row at a position, so its map is asked once and applied from then on:
 *
 *     out[c] = own[c] in[c] + other[c] in[partner[c]]
 *
 * Where the scheme's rows are not of that form (tried on random rows), there is no table and the plugin is called.
 */
#ifndef PE_TRAIN_TURNS_H
#define PE_TRAIN_TURNS_H

#include "host/instance.h"

#include <stdbool.h>

struct turns {
  size_t heads, length, width;
  uint32_t *partner; /* [width]; a channel that is not paired has itself */
  float *table;      /* [2 roles][heads][length][own, other][width]; NULL: no table */
};

/* Tables of one layer for rows at mapped [n]. 0 (with table NULL where the scheme has none), what a call gave, or
 * ERROR_MEMORY. turns_destroy is due in every case. */
int turns_init(struct turns *turns, const struct instance *scheme, unsigned layer, size_t heads, size_t head_dim,
               size_t n, const double *mapped, double seq_len, struct error *err);
void turns_destroy(struct turns *turns);

/* out [length][width] of one head from in [length][in_stride]; role PE_ROLE_QUERY or PE_ROLE_KEY. [any] */
void turns_apply(const struct turns *turns, int role, size_t head, const float *in, size_t in_stride, float *out);

/* din [length][din_stride] = d loss / d in from dout [length][width]. [any] */
void turns_back(const struct turns *turns, int role, size_t head, const float *dout, float *din, size_t din_stride);

#endif
