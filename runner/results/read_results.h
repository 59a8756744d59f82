/* A results file read back into records: for show, diff, report and join.
 */
#ifndef PE_RESULTS_READ_RESULTS_H
#define PE_RESULTS_READ_RESULTS_H

#include "results/results.h"

struct results_read {
  struct results_file file; /* what was written; writing it again gives the same bytes */
  /* what `file` points to: */
  struct results_experiment *experiments;
  struct results_text *texts;
  struct record **records;
  size_t n_records, records_capacity, texts_capacity;
  const struct record **listed; /* records, as the experiments list them */
  char **owned;                 /* strings */
  size_t n_owned, owned_capacity;
  bool keep_packed, only_check;
};

/* Read `path` whole. Only what results_write makes is accepted; the file is treated as foreign: nothing outside it is
 * opened, nothing is allocated that its bytes cannot hold. 0, or ERROR_FILE_READ, ERROR_FILE_REFUSED,
 * ERROR_FILE_CONTENT (not a results file, or of a newer format) or ERROR_MEMORY; then *results is empty. Records keep
 * their order. One thread at a time. */
int results_read(const char *path, struct results_read *results, struct error *err);

/* The same for tensors that will be written again: they keep their packed chunks, which another file gets as they are.
 */
int results_read_packed(const char *path, struct results_read *results, struct error *err);

/* Whether results_read would read `path`: it is read whole, one record after the other, and nothing is kept. */
int results_check_whole(const char *path, struct error *err);

/* *ours: pe-run wrote `path`, as far as can be told, whether or not all of it is sound. 0 or ERROR_MEMORY. */
int results_recognise(const char *path, bool *ours, struct error *err);

/* The record /<experiment>/<label>, or NULL. */
const struct record *results_find(const struct results_file *file, const char *experiment, const char *label);

/* The text of /run/<name>, or NULL. */
const struct results_text *results_find_text(const struct results_file *file, const char *name);

void results_read_free(struct results_read *results);

#endif
