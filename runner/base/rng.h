/* Random numbers: Philox 4x32-10 (Salmon et al. 2011, Random123), counter based. A stream is keyed by the run's seed
 * and a name, so that adding a scheme or a tensor never changes another's numbers; element i of a stream is a pure
 * function of (seed, name, i), so that any part can be made on its own, by any thread. Elements of different kinds
 * share their bits: draw only one kind from a stream.
 */
#ifndef PE_BASE_RNG_H
#define PE_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
  uint32_t key[2];
  uint32_t stream[2]; /* the name's hash; upper half of the counter */
};

/* The stream `name` of a seed. */
struct rng rng_stream(uint64_t seed, const char *name);

/* Element `index`: 32 random bits. */
uint32_t rng_bits(const struct rng *rng, uint64_t index);

/* Element `index`: uniform in (0, 1), one of (k + 1/2) / 2^52. */
double rng_uniform(const struct rng *rng, uint64_t index);

/* Element `index`: standard normal by Box and Muller (elements 2j and 2j + 1 share one Philox block). */
double rng_normal(const struct rng *rng, uint64_t index);

/* out [n] = elements index, index + 1, ... of the same, in half the time: both of a block at once. */
void rng_normals(const struct rng *rng, uint64_t index, size_t n, double *out);

/* Element `index` (below 2^56): uniform in 0 .. bound - 1, bound >= 1, without bias. */
uint32_t rng_below(const struct rng *rng, uint64_t index, uint32_t bound);

/* out [count] = a uniformly random permutation of 0 .. count - 1 (Fisher and Yates). */
void rng_permutation(const struct rng *rng, uint32_t count, uint32_t *out);

#endif
