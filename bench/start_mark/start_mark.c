/* Writes down when its first instance is made, the moment at which the first job of a run reaches the scheme, and ends
 * the run there. For `pe-bench start` alone; a scheme that is for use keeps rule 7 of pe/plugin.h and looks at no
 * clock.
 *
 * In the file that PE_BENCH_MARK names: CLOCK_MONOTONIC, and the processor time of this process, in seconds. */
#include <fcntl.h>
#include <pe/plugin.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct pe_instance {
  double nothing;
};

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void mark(void) {
  double now = seconds(CLOCK_MONOTONIC), spent = seconds(CLOCK_PROCESS_CPUTIME_ID);
  const char *path = getenv("PE_BENCH_MARK");
  int file = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  if (file >= 0) {
    dprintf(file, "%.9f %.9f\n", now, spent);
    close(file);
    kill(getppid(), SIGKILL); /* this process goes with it */
    pause();
  }
}

static pe_status start_mark_create(const pe_host *host, const pe_shape *shape, const pe_value *values,
                                   pe_instance **out, pe_error *err) {
  (void)host;
  (void)shape;
  (void)values;
  mark();
  pe_instance *self = calloc(1, sizeof *self);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for an instance");
  }
  *out = self;
  return PE_OK;
}

static void start_mark_destroy(pe_instance *self) {
  free(self);
}

static pe_status start_mark_bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  (void)err;
  for (size_t row = 0; row < tile->nq; row++) {
    for (size_t column = 0; column < tile->nk; column++) {
      tile->s[row * tile->s_stride + column] += (float)self->nothing;
    }
  }
  return PE_OK;
}

static const pe_scheme start_mark_scheme = {
    .struct_size = sizeof(pe_scheme),
    .version = 1,
    .id = "start_mark",
    .title = "No positions; says when it was reached",
    .reference = "bench/start_mark/start_mark.c",
    .sites = PE_SITE_BIAS,
    .create = start_mark_create,
    .destroy = start_mark_destroy,
    .bias_add = start_mark_bias_add,
};

static const pe_scheme *const start_mark_schemes[] = {&start_mark_scheme};

const pe_entry pe_plugin_entry = {
    .magic = PE_ABI_MAGIC,
    .struct_size = sizeof(pe_entry),
    .abi_major = PE_ABI_MAJOR,
    .abi_minor = PE_ABI_MINOR,
    .name = "start_mark",
    .version = "1",
    .schemes = start_mark_schemes,
    .n_schemes = 1,
};
