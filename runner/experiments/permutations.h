/* Sets of permutations of 0 .. n - 1 for the equivariance test. */
#ifndef PE_EXPERIMENTS_PERMUTATIONS_H
#define PE_EXPERIMENTS_PERMUTATIONS_H

#include "base/error.h"
#include "base/rng.h"

#include <stdbool.h>

enum { PERMUTATIONS_EXHAUSTIVE_UP_TO = 6 };

struct permutations {
  size_t n, count;
  uint32_t *items; /* [count][n]; the identity first */
  bool exhaustive; /* all n! of them, in lexicographic order */
};

/* All permutations up to n = 6; above: identity, reversal, the rotations, the swaps of neighbours and `samples` seeded
 * ones. `keep_last`: only such that leave the last place alone (of n - 1 elements, by the same rule). 0 or
 * ERROR_MEMORY. */
int permutations_new(size_t n, size_t samples, bool keep_last, const struct rng *rng, struct permutations *out,
                     struct error *err);

bool permutation_is_identity(const uint32_t *permutation, size_t n);
bool permutation_is_reversal(const uint32_t *permutation, size_t n);

void permutations_free(struct permutations *permutations);

#endif
