/* Commands run from their start to their end, and the folder that they may write into. */
#ifndef PE_BENCH_BENCH_COMMAND_H
#define PE_BENCH_BENCH_COMMAND_H

#include "bench.h"

#include <limits.h>

/* What a command took, with all processes that it started and waited for. */
struct bench_spent {
  double seconds;     /* from its start to its end */
  double cpu_seconds; /* of processors, user's and system's */
  double peak_mib;    /* of its largest process */
};

/* Run `command` (argv, ended by NULL), its stdout thrown away. 0, or ERROR_USAGE where it cannot be started or fails.
 */
int bench_command(char *const *command, struct bench_spent *spent, struct error *err);

/* The same for a command that ends itself by SIGKILL. */
int bench_command_killed(char *const *command, struct bench_spent *spent, struct error *err);

/* "seconds" and its spread, "cpu_seconds" (median) and "cpu_seconds_min", "peak_mib" (largest) of `count` runs. */
int bench_put_spent(json_t *result, const struct bench_spent *spent, size_t count, struct error *err);

/* `name` beside this program: pe-run, plugins. */
int bench_beside(const char *name, char path[PATH_MAX], struct error *err);

/* A new folder for what is written; removed with all that is in it by bench_folder_remove. */
int bench_folder_new(char path[PATH_MAX], struct error *err);
void bench_folder_remove(const char *path);

#endif
