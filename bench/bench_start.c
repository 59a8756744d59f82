/* From the start of `pe-run CONFIG` to its first job: everything before the moment at which a worker makes the job's
 * first instance of a scheme. The scheme is bench/start_mark, which writes that moment down. */
#include "bench_command.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENT = PATH_MAX + 16 };

struct start {
  char folder[PATH_MAX], program[PATH_MAX], plugin[PATH_MAX];
  char config[ARGUMENT], output[ARGUMENT], mark[ARGUMENT];
};

static int write_config(const struct start *start, struct error *err) {
  FILE *file = fopen(start->config, "we");
  bool failed = !file || fprintf(file,
                                 "model:\n  random: {heads: 2, head_dim: 16, d_model: 32}\n"
                                 "schemes:\n  - start_mark: {}\n    plugin: '%s'\n"
                                 "experiments:\n  - attention: {length: 16}\n",
                                 start->plugin) < 0;
  failed = (file && fclose(file)) || failed;
  return failed ? error_set(err, ERROR_FILE_WRITE, "%s: %s", start->config, strerror(errno)) : 0;
}

static int prepare(struct start *start, struct error *err) {
  snprintf(start->config, sizeof start->config, "%s/config.yaml", start->folder);
  snprintf(start->output, sizeof start->output, "output=%s/out.h5", start->folder);
  snprintf(start->mark, sizeof start->mark, "%s/mark", start->folder);
  int status = bench_beside("pe-run", start->program, err);
  status = status ? status : bench_beside("bench/start_mark.so", start->plugin, err);
  if (!status && setenv("PE_BENCH_MARK", start->mark, 1)) {
    status = error_set(err, ERROR_MEMORY, "no memory for the environment");
  }
  return status ? status : write_config(start, err);
}

/* What the first job wrote down: when it was reached, and what its own process had spent until then. */
static int read_mark(const struct start *start, double *when, double *spent, struct error *err) {
  FILE *file = fopen(start->mark, "re");
  bool read = file && fscanf(file, "%lf %lf", when, spent) == 2;
  if (file) {
    fclose(file);
  }
  return read ? 0 : error_set(err, ERROR_FILE_READ, "%s: the run's first job was not noted", start->mark);
}

static int start_once(struct start *start, struct bench_spent *spent, struct error *err) {
  char run[] = "run", quiet[] = "--quiet", fresh[] = "--fresh";
  char *command[] = {start->program, run, start->config, start->output, quiet, fresh, NULL};
  double when = 0.0, of_worker = 0.0;
  unlink(start->mark);
  double begin = bench_now();
  int status = bench_command_killed(command, spent, err);
  status = status ? status : read_mark(start, &when, &of_worker, err);
  spent->seconds = when - begin;
  spent->cpu_seconds += of_worker; /* which nobody waited for */
  return status;
}

static int measure(struct start *start, size_t repeats, json_t *result, struct error *err) {
  struct bench_spent *spent = memory_new(repeats, sizeof *spent, "times", err);
  int status = spent ? start_once(start, spent, err) : (int)err->code; /* to warm up */
  for (size_t i = 0; i < repeats && !status; i++) {
    status = start_once(start, &spent[i], err);
  }
  status = status ? status : bench_put_spent(result, spent, repeats, err);
  free(spent);
  return status;
}

int bench_start(const struct bench *bench, json_t *result, struct error *err) {
  size_t repeats;
  struct start *start = memory_new(1, sizeof *start, "paths", err);
  int status = start ? bench_number(bench, "repeats", 1, 1000, &repeats, err) : (int)err->code;
  status = status ? status : bench_folder_new(start->folder, err);
  if (!status) {
    status = prepare(start, err);
    status = status ? status : measure(start, repeats, result, err);
    bench_folder_remove(start->folder);
  }
  free(start);
  return status;
}
