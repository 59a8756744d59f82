/* A part: one job's record in a results file of its own, named by the job's key. What is in a folder of parts is
 * finished and never computed again. */
#ifndef PE_JOBS_PART_H
#define PE_JOBS_PART_H

#include "base/hash.h"
#include "base/pool.h"
#include "base/record.h"

/* The file of a key in a folder of parts: <folder>/<key>.h5. To be freed; NULL with ERROR_MEMORY. */
char *part_path(const char *folder, const char *key, struct error *err);

/* Put the part in place whole (results_write). `environment`: JSON of the versions and the machine that made it;
 * `pool`: whose threads compress, NULL: the caller alone. 0, or
 * ERROR_FILE_WRITE, ERROR_MEMORY, ERROR_INTERNAL. */
int part_write(const char *folder, const char *key, const struct record *record, const char *environment,
               struct pool *pool, struct error *err);

/* Read a part back and check it whole: that it is one record, this key's, and the very one that was written. The record
 * is the caller's, to be released with record_free; *environment (may be NULL) is to be freed; digest [HASH_TEXT] (may
 * be NULL) is the record's. 0, or ERROR_FILE_READ, ERROR_FILE_REFUSED, ERROR_FILE_CONTENT (damaged, or another's),
 * ERROR_MEMORY; then nothing is filled in. */
int part_read(const char *folder, const char *key, struct record *record, char **environment, char *digest,
              struct error *err);

#endif
