/* One row block of one head: scores, softmax, and what is wanted of the rows. */
#ifndef PE_ATTENTION_BLOCK_H
#define PE_ATTENTION_BLOCK_H

#include "attention/attention.h"
#include "attention/product.h"
#include "attention/rows.h"

#include <stdatomic.h>
#include <stddef.h>

/* Rows whose scores are made at a time. A panel of keys serves all strips of a block while it is in the cache. */
enum { BLOCK_STRIP = PRODUCT_ROWS };

/* Memory lent to one thread; grows with the number of keys alone. */
struct block_space {
  void *q;     /* [block rows], scaled and packed */
  float *tile; /* [2][BLOCK_STRIP][ROWS_TILE], scores of two column tiles, which stay in the first cache */
  struct rows_state rows;
  float *weight; /* [block rows], 1 / sum of e; 0 for empty rows */
  float *memory; /* of e, with margins */
  float *e;      /* [block rows][e_stride], exp(logit - ref); NULL where nothing asks for it */
  size_t e_stride;
  size_t *written; /* [block rows], columns of e that may be other than zero */
  float *ref;      /* [block rows][ref_stride], of each tile of e */
  size_t ref_stride;
};

/* 0 or ERROR_MEMORY; block_space_free is due in both cases, and allowed for a zeroed struct. */
int block_space_init(struct block_space *space, const struct attention_input *input,
                     const struct attention_output *output, const struct product_method *product, size_t block_rows,
                     struct error *err);
void block_space_free(struct block_space *space);

struct block {
  const struct attention_input *input;
  const struct attention_output *output;
  const struct rows_kernels *kernels;
  const struct product_method *product;
  const unsigned char *panels; /* the keys of this head, packed */
  atomic_bool *refused;        /* set where a query does not fit the product; then nothing is done */
  bool values_finite;          /* all values of this head are */
  size_t head;
  size_t row, n_rows; /* query rows row .. row + n_rows - 1 */
  size_t n_columns;   /* keys 0 .. n_columns - 1 are seen by some of them */
  ptrdiff_t likely;   /* signed distance of the keys to begin with, where the largest logit is likely */
  bool backwards;     /* keys are visited from the last to the first */
  double *mass;       /* NULL: not wanted. Weights are added to mass[largest_distance - (i + nk - nq - j)] */
  ptrdiff_t largest_distance;
};

/* Everything of `output` for these rows, except mass_by_distance, which goes to `mass`. 0 or what the bias returned. */
int block_run(const struct block *block, const struct block_space *space, struct error *err);

#endif
