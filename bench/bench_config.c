/* A whole config, as `pe-run CONFIG` runs it: workers, parts, joining, the output, into a folder of its own. */
#include "bench_command.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { SETTING = PATH_MAX + 16 };

static int run_config(const char *config, size_t threads, const char *folder, struct bench_spent *spent,
                      struct error *err) {
  char program[PATH_MAX], path[SETTING], output[SETTING], count[SETTING];
  char run[] = "run", quiet[] = "--quiet", fresh[] = "--fresh";
  char *command[] = {program, run, path, output, quiet, fresh, threads ? count : NULL, NULL};
  snprintf(path, sizeof path, "%s", config);
  snprintf(output, sizeof output, "output=%s/out.h5", folder);
  snprintf(count, sizeof count, "--threads=%zu", threads);
  int status = bench_beside("pe-run", program, err);
  return status ? status : bench_command(command, spent, err);
}

static void put_size(json_t *result, const char *folder) {
  char path[PATH_MAX + 16];
  struct stat written;
  snprintf(path, sizeof path, "%s/out.h5", folder);
  if (stat(path, &written) == 0) {
    bench_put(result, "file_mib", (double)written.st_size / 1048576.0);
  }
}

int bench_config(const struct bench *bench, json_t *result, struct error *err) {
  const char *path = bench_text(bench, "path");
  size_t threads, repeats;
  char folder[PATH_MAX];
  int status = bench_number(bench, "threads", 0, 1024, &threads, err);
  status = status ? status : bench_number(bench, "repeats", 1, 1000, &repeats, err);
  if (!status && !path[0]) {
    status = error_set(err, ERROR_USAGE, "a config is missing: pe-bench config path=configs/equivariance.yaml");
  }
  if (status || bench_folder_new(folder, err)) {
    return err->code;
  }
  struct bench_spent *spent = memory_new(repeats, sizeof *spent, "times", err);
  status = spent ? 0 : (int)err->code;
  for (size_t i = 0; i < repeats && !status; i++) {
    status = run_config(path, threads, folder, &spent[i], err);
  }
  status = status ? status : bench_put_spent(result, spent, repeats, err);
  put_size(result, folder);
  bench_folder_remove(folder);
  free(spent);
  return status;
}
