/* Running the program as a user does: a config written to a temporary folder, build/pe-run started on it, its results
 * read back.
 *
 * For tests: what goes wrong fails the running cmocka test with the program's own output. Not thread-safe.
 */
#ifndef RUN_CONFIG_H
#define RUN_CONFIG_H

#include "golden_file.h"

/* One finished run. */
typedef struct config_run {
  char folder[64];   /* temporary; removed by config_run_free */
  char results[128]; /* path of the results file */
  char *output;      /* stdout and stderr together, NUL-terminated */
  int exit_code;
  int64_t handle; /* HDF5's, of the open results; -1: no file */
} config_run;

/* Write `text` as config.yaml into a new temporary folder (so input paths must be absolute), run pe-run on it with
 * `arguments` (a shell's words; may be ""), and open the results where there are any. `output:` is set by this
 * function. */
void config_run_start(config_run *run, const char *text, const char *arguments);

/* The same, and fail the test unless the exit code is 0. */
void config_run_must_pass(config_run *run, const char *text, const char *arguments);

/* Read a dataset such as "/equivariance/rope/deviation" as double; fails where it is missing. */
golden_array config_run_read(const config_run *run, const char *path);
bool config_run_has(const config_run *run, const char *path);

/* Bytes of the results file, to be freed. */
void *config_run_bytes(const config_run *run, size_t *count);

void config_run_free(config_run *run);

/* Append to a growing text, for building configs: text = config_text(text, "ids: [%s]", ...). To be freed. */
char *config_text(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "1, 2, 3" of the numbers, to be freed. */
char *config_numbers(const double *numbers, size_t count);

#endif
