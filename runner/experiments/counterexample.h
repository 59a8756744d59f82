/* The smallest counterexample to f(X_pi) = f(X)_pi, in full: X, S, A, Y and Y', the output of the reordered tokens. */
#ifndef PE_EXPERIMENTS_COUNTEREXAMPLE_H
#define PE_EXPERIMENTS_COUNTEREXAMPLE_H

#include "base/text.h"
#include "experiments/common.h"
#include "experiments/permutations.h"

/* Index of the permutation that moves the fewest tokens of those with deviation [count] above `bound`; of several the
 * reversal, else the first. permutations->count: there is none. */
size_t counterexample_find(const struct permutations *permutations, const double *deviation, double bound);

/* Add counterexample_permutation, _input, _logits, _weights, _context (of the tokens as they are) and _reordered (of
 * the reordered tokens) to the record, and the mask and the tokens' pieces as attributes. 0 or an error code. */
int counterexample_save(const struct experiment_context *context, const uint32_t *permutation, size_t n, int mask,
                        struct record *record, struct error *err);

/* A table of it, if the record has one. `full`: every channel; else vectors are cut at 8. */
int counterexample_show(const struct plan_scheme *scheme, const struct record *record, bool full,
                        struct conclusion *conclusion, struct error *err);

/* "I work he" of the tokens in the order pi, from the record's attribute; "tokens 0 1 2" without pieces. */
void counterexample_sentence(const struct record *record, const int32_t *pi, size_t n, struct text *out);

#endif
