#include "bench_command.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127 };

static double seconds_of(struct timeval time) {
  return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* Run it; *state as wait has it. */
static int run(char *const *command, struct bench_spent *spent, int *state, struct error *err) {
  double begin = bench_now();
  pid_t child = fork();
  if (child < 0) {
    return error_set(err, ERROR_INTERNAL, "no new process: %s", strerror(errno));
  }
  if (child == 0) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0) {
      execvp(command[0], command);
    }
    _exit(NOT_STARTED);
  }
  struct rusage usage;
  while (wait4(child, state, 0, &usage) < 0) {
    if (errno != EINTR) {
      return error_set(err, ERROR_INTERNAL, "%s cannot be waited for: %s", command[0], strerror(errno));
    }
  }
  *spent = (struct bench_spent){.seconds = bench_now() - begin,
                                .cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
                                .peak_mib = (double)usage.ru_maxrss / 1024.0};
  return 0;
}

static int judge(const char *name, int state, struct error *err) {
  if (WIFSIGNALED(state)) {
    return error_set(err, ERROR_USAGE, "%s was ended by SIG%s", name, sigabbrev_np(WTERMSIG(state)));
  }
  if (WEXITSTATUS(state) == NOT_STARTED) {
    return error_set(err, ERROR_USAGE, "%s cannot be started", name);
  }
  return WEXITSTATUS(state) ? error_set(err, ERROR_USAGE, "%s ended with exit code %d", name, WEXITSTATUS(state)) : 0;
}

int bench_command(char *const *command, struct bench_spent *spent, struct error *err) {
  int state = 0;
  int status = run(command, spent, &state, err);
  return status ? status : judge(command[0], state, err);
}

int bench_command_killed(char *const *command, struct bench_spent *spent, struct error *err) {
  int state = 0;
  int status = run(command, spent, &state, err);
  if (status || (WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL)) {
    return status;
  }
  return judge(command[0], state, err) ? (int)err->code
                                       : error_set(err, ERROR_USAGE, "%s ended before it was expected to", command[0]);
}

int bench_put_spent(json_t *result, const struct bench_spent *spent, size_t count, struct error *err) {
  double *values = memory_new(count, sizeof *values, "times", err);
  if (!values) {
    return err->code;
  }
  double peak = 0.0;
  for (size_t i = 0; i < count; i++) {
    values[i] = spent[i].cpu_seconds;
    peak = spent[i].peak_mib > peak ? spent[i].peak_mib : peak;
  }
  bench_put(result, "cpu_seconds", bench_median(values, count));
  bench_put(result, "cpu_seconds_min", values[0]);
  for (size_t i = 0; i < count; i++) {
    values[i] = spent[i].seconds;
  }
  bench_put_spread(result, values, count);
  bench_put(result, "peak_mib", peak);
  free(values);
  return 0;
}

int bench_beside(const char *name, char path[PATH_MAX], struct error *err) {
  char own[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  own[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(own, '/');
  if (!slash) {
    return error_set(err, ERROR_INTERNAL, "/proc/self/exe cannot be read");
  }
  *slash = '\0';
  if (snprintf(path, PATH_MAX, "%s/%s", own, name) >= PATH_MAX || access(path, R_OK)) {
    return error_set(err, ERROR_FILE_READ, "%s is not there: it is built beside pe-bench", path);
  }
  return 0;
}

int bench_folder_new(char path[PATH_MAX], struct error *err) {
  const char *parent = getenv("TMPDIR");
  int length = snprintf(path, PATH_MAX, "%s/pe-bench.XXXXXX", parent && *parent ? parent : "/tmp");
  if (length >= PATH_MAX || !mkdtemp(path)) {
    return error_set(err, ERROR_FILE_WRITE, "the folder %s cannot be made: %s", path, strerror(errno));
  }
  return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where) {
  (void)status;
  (void)kind;
  (void)where;
  return remove(path);
}

void bench_folder_remove(const char *path) {
  enum { FILES_OPEN = 16 };
  nftw(path, remove_one, FILES_OPEN, FTW_DEPTH | FTW_PHYS);
}
