/* One record of attention weights as a results file: image in memory, checksums and compression, write, fsync, rename.
 * And what a join does with it: the file is read, and its record, whose chunks are packed already, is written again. */
#include "bench_command.h"

#include "base/pool.h"
#include "results/read_results.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct write_work {
  const char *path;
  struct results_file file;
};

static int write_results(void *context, struct error *err) {
  const struct write_work *work = context;
  return results_write(work->path, &work->file, err);
}

/* Rows of a causal softmax over random logits, so that they compress as real ones do. */
static void fill_weights(float *weights, size_t heads, size_t n) {
  for (size_t row = 0; row < heads * n; row++) {
    float *w = weights + row * n;
    size_t seen = row % n + 1;
    char name[32];
    snprintf(name, sizeof name, "row %zu", row);
    bench_fill(w, seen, name);
    for (size_t j = 0; j < n; j++) {
      w[j] = j < seen ? w[j] * w[j] / (float)seen : 0.0f;
    }
  }
}

static int read_again(void *context, struct error *err) {
  struct results_read results;
  int status = results_read_packed(context, &results, err);
  if (!status) {
    results_read_free(&results);
  }
  return status;
}

/* "<name>_mib_per_s" of something that is done with the tensor. */
static int measure_rate(const char *name, size_t megabytes, size_t repeats, int (*work)(void *, struct error *),
                        void *context, json_t *result, struct error *err) {
  char key[32];
  json_t *times = json_object();
  int status = bench_repeat(repeats, work, context, times, err);
  if (!status) {
    snprintf(key, sizeof key, "%s_mib_per_s", name);
    bench_put(result, key, (double)megabytes / json_number_value(json_object_get(times, "seconds")));
  }
  json_decref(times);
  return status;
}

/* The file is there. */
static int measure_join(struct write_work *work, size_t megabytes, size_t repeats, json_t *result, struct error *err) {
  struct results_read results;
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s", work->path);
  int status = measure_rate("read", megabytes, repeats, read_again, path, result, err);
  status = status ? status : results_read_packed(path, &results, err);
  if (!status) {
    results.file.pool = work->file.pool;
    struct write_work again = {.path = path, .file = results.file};
    status = measure_rate("join", megabytes, repeats, write_results, &again, result, err);
    results_read_free(&results);
  }
  return status;
}

static int measure(const char *path, size_t megabytes, size_t repeats, struct pool *pool, json_t *result,
                   struct error *err) {
  enum { N = 512 };
  size_t heads = megabytes; /* 512 x 512 float32 is 1 MiB */
  struct record record = {.experiment = "attention", .label = "none", .title = "pe-bench", .signal = "weights"};
  struct tensor_spec spec = {
      .name = "weights",
      .element = ELEMENT_F32,
      .rank = 3,
      .axis = {{.name = "head", .length = heads}, {.name = "query", .length = N}, {.name = "key", .length = N}},
      .long_name = "attention weights"};
  struct tensor *tensor = record_add(&record, &spec, err);
  if (!tensor) {
    return err->code;
  }
  fill_weights(tensor->data, heads, N);
  const struct record *const records[] = {&record};
  struct results_experiment experiment = {
      .label = "attention", .title = "pe-bench", .records = records, .count = 1, .shown = "none"};
  struct write_work work = {.path = path,
                            .file = {.title = "pe-bench",
                                     .status = "complete",
                                     .experiments = &experiment,
                                     .n_experiments = 1,
                                     .shown = "attention",
                                     .pool = pool}};
  int status = bench_repeat(repeats, write_results, &work, result, err);
  struct stat written;
  if (!status && stat(work.path, &written) == 0) {
    bench_put(result, "file_mib", (double)written.st_size / 1048576.0);
    bench_put(result, "mib_per_s", (double)megabytes / json_number_value(json_object_get(result, "seconds")));
    bench_put_peak(result);
    status = measure_join(&work, megabytes, repeats, result, err);
    unlink(work.path);
  }
  record_free(&record);
  return status;
}

int bench_write(const struct bench *bench, json_t *result, struct error *err) {
  const char *folder = bench_text(bench, "folder");
  char made[PATH_MAX] = "", path[PATH_MAX + 32];
  size_t megabytes, repeats, threads;
  int status = bench_number(bench, "megabytes", 1, 4096, &megabytes, err);
  status = status ? status : bench_number(bench, "repeats", 1, 1000, &repeats, err);
  status = status ? status : bench_number(bench, "threads", 0, 1024, &threads, err);
  if (!status && folder[0] && access(folder, W_OK)) {
    status = error_set(err, ERROR_USAGE, "folder=%s: %s", folder, strerror(errno));
  }
  if (!status && !folder[0]) {
    status = bench_folder_new(made, err);
    folder = made;
  }
  if (status) {
    return status;
  }
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  struct pool *pool = pool_new(threads ? (unsigned)threads : cores > 0 ? (unsigned)cores : 1, err);
  bench_put(result, "threads_used", (double)pool_threads(pool));
  snprintf(path, sizeof path, "%.*s/pe-bench-%ld.h5", PATH_MAX, folder, (long)getpid());
  status = pool ? measure(path, megabytes, repeats, pool, result, err) : (int)err->code;
  pool_free(pool);
  if (made[0]) {
    bench_folder_remove(made);
  }
  return status;
}
