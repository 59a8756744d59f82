/* Two results files side by side: how far their numbers are apart, and what else differs.
 */
#ifndef PE_RESULTS_DIFF_RESULTS_H
#define PE_RESULTS_DIFF_RESULTS_H

#include "base/table.h"
#include "results/results.h"

#include <stdint.h>

/* How far two tensors of the same shape and type are apart. NaN and NaN are equal; NaN and a number are infinitely far
 * apart. Where nothing differs, all are 0. */
struct tensor_difference {
  size_t different; /* elements */
  double absolute;  /* largest |a - b| */
  double relative;  /* largest |a - b| / max(|a|, |b|) */
  double scaled;    /* largest |a - b| / max(1, |a|, |b|): what a tolerance is held against */
  double ulps;      /* largest number of steps between neighbouring numbers of the tensor's type; NaN for integers */
};

struct tensor_difference tensor_compare(const struct tensor *a, const struct tensor *b);

struct results_diff {
  struct table tensors; /* one row per tensor that differs (or per tensor): the largest differences */
  struct table facts;   /* attributes, statuses, and lines of the texts in /run that differ */
  size_t compared;      /* tensors that stand in both, alike in shape and type */
  size_t apart;         /* of these, how many differ by more than the tolerance */
  size_t unmatched;     /* tensors only in one file, or of another shape, type or axis */
};

/* Compare record by record, tensor by tensor. `all`: a row for equal tensors too. 0 or ERROR_MEMORY; to be freed with
 * results_diff_free either way. */
int results_compare(const struct results_file *a, const struct results_file *b, double tolerance, bool all,
                    struct results_diff *diff, struct error *err);

void results_diff_free(struct results_diff *diff);

#endif
