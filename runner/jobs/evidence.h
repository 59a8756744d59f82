/* Trained models as evidence: the results file that `decision.trained` names, its schemes matched to the plan's.
 *
 * Matched are schemes of the same id, version, parameters, positions and layers; of several, the one of the same label.
 */
#ifndef PE_JOBS_EVIDENCE_H
#define PE_JOBS_EVIDENCE_H

#include "base/hash.h"
#include "base/record.h"
#include "config/plan.h"
#include "results/read_results.h"

struct evidence {
  struct results_read results;
  struct record *records; /* [plan->n_schemes] copies that share what `results` owns, with `change` [seed, length] =
                             loss - loss at L added; RECORD_NOT_RUN with the reason in error.text: not in the file */
  char digest[HASH_TEXT]; /* SHA-256 of the file */
  const char *experiment; /* label in the file */
  const char *learned;    /* labels of the file's schemes that learned at L, separated by blanks */
  double train_length;    /* L */
  size_t n_seeds;
};

/* Read what plan->decision->trained names and hold it against what the decision asks. 0; ERROR_FILE_READ,
 * ERROR_FILE_REFUSED or ERROR_FILE_CONTENT where it is no sound results file; ERROR_EVIDENCE where it is one that
 * cannot serve: without trained models, partial, with too few seeds, with none of the plan's schemes; ERROR_MEMORY. On
 * an error *out is empty. */
int evidence_open(const struct plan *plan, struct evidence *out, struct error *err);
void evidence_close(struct evidence *evidence);

/* Whether `label` is one of the words of `learned`. */
bool evidence_has_learned(const char *learned, const char *label);

/* The file's name without folders. */
const char *evidence_name(const struct plan *plan);

#endif
