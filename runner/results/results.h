/* Records and conclusions to one HDF5 file, put in place whole: image in memory, write, fsync, rename, fsync of the
 * folder.
 *
 * Layout: docs/results-format.md. /<experiment>/<label> holds a record, /<experiment>/comparison... the groups that
 * compare schemes, /run the provenance (sorted last).
 */
#ifndef PE_RESULTS_RESULTS_H
#define PE_RESULTS_RESULTS_H

#include "base/pool.h"
#include "base/record.h"

/* Changes with the layout; the reader takes this one and older ones. */
enum { RESULTS_FORMAT_VERSION = 1 };

/* One named text of the provenance: a scalar UTF-8 dataset /run/<name>; json: an NXnote group with data and type. */
struct results_text {
  const char *name;
  const char *text;
  bool json;
};

struct results_experiment {
  const char *label; /* group name */
  const char *title;
  const struct record *const *records; /* schemes' first, then comparisons; written in this order */
  size_t count;
  const char *shown; /* label of the record to show first: "comparison" or a scheme's */
};

struct results_file {
  const char *title;
  const char *status; /* "complete" or "partial" */
  const struct results_experiment *experiments;
  size_t n_experiments;
  const char *shown; /* label of the experiment to show first */
  const struct results_text *texts;
  size_t n_texts;
  struct pool *pool; /* whose threads compress, NULL: the caller alone; the bytes are the same */
};

/* The file's bytes in memory, to be freed. Same input, same bytes. 0, ERROR_FILE_WRITE with HDF5's reason,
 * ERROR_MEMORY, or ERROR_INTERNAL where a record's axes contradict each other. One thread at a time. */
int results_image(const struct results_file *file, void **bytes, size_t *count, struct error *err);

/* Write to `path`; missing folders are made. An old file stays until the new one is whole. Same input, same bytes,
 * wherever it goes. 0, ERROR_FILE_WRITE (path and reason; nothing is left behind) or ERROR_MEMORY. */
int results_write(const char *path, const struct results_file *file, struct error *err);

/* The same, and before the file is put in place it is read again: byte by byte, and by the reader, whole. Also
 * ERROR_FILE_WRITE where that gives anything else than what was written. */
int results_write_checked(const char *path, const struct results_file *file, struct error *err);

/* Bytes to a file by write, fsync, rename, fsync of the folder; for every file that pe-run makes. Missing folders are
 * made, a link is followed, and what is there must be a regular file that may be written. 0 or ERROR_FILE_WRITE: then
 * no temporary file is left and an old file is untouched. Callable from several threads. */
int results_put(const char *path, const void *bytes, size_t count, struct error *err);

/* The same for a head and the bytes behind it. */
int results_put_headed(const char *path, const void *head, size_t head_count, const void *bytes, size_t count,
                       struct error *err);

/* The same; `check` judges the written file at its temporary path before it is put in place, and stops that with an
 * error. */
typedef int (*results_check)(void *context, const char *path, struct error *err);
int results_put_checked(const char *path, const void *bytes, size_t count, results_check check, void *context,
                        struct error *err);

/* The checks of results_put before the work is done: makes missing folders, refuses what cannot be written. */
int results_prepare(const char *path, struct error *err);

#endif
