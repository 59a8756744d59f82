/* A results file with one of everything: for the tests of what writes, reads and shows results.
 */
#ifndef PE_TESTS_SAMPLE_RESULTS_H
#define PE_TESTS_SAMPLE_RESULTS_H

#include "results/results.h"

/* Two experiments. extrapolation: scheme `rope` (defined u8, mass_beyond f64 [length, head], samples i64 and a scalar),
 * scheme `broken` (failed, no tensors), `comparison` (two curves against length, a status each). relative_position:
 * scheme `rope` with logits f32 [head, query, key] and a tensor that has one axis twice. Texts in /run. Values are
 * simple functions of the index: see the file. Freed with sample_results_free. */
struct sample_results {
  struct record records[4];
  const struct record *extrapolation[3];
  const struct record *relative_position[1];
  struct results_experiment experiments[2];
  struct results_text texts[2];
  struct results_file file;
};

/* `title` is the title of the file and of every record. Fails the calling test on lack of memory. */
void sample_results_make(struct sample_results *sample, const char *title);

void sample_results_free(struct sample_results *sample);

#endif
