/* One row block of one head: scores, softmax, and what is wanted of the rows. */
#ifndef PE_ATTENTION_BLOCK_H
#define PE_ATTENTION_BLOCK_H

#include "attention/attention.h"

#include <stddef.h>

/* Keys of a column tile. */
enum { BLOCK_TILE = 128 };

/* Scores of a block, lent to one thread: [block_rows][stride]. */
struct block_space {
  float *scores;
  size_t stride;
};

struct block {
  size_t head;
  size_t row, n_rows; /* query rows row .. row + n_rows - 1 */
  size_t n_columns;   /* keys 0 .. n_columns - 1 are seen by some of them */
};

/* Everything of `output` for these rows, except mass_by_distance: that is added to mass, where element
 * largest_distance - (i + nk - nq - j) belongs to query i and key j. mass may be NULL. */
int block_run(const struct attention_input *input, const struct attention_output *output, const struct block *block,
              const struct block_space *space, double *mass, ptrdiff_t largest_distance, struct error *err);

#endif
