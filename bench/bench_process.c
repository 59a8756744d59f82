/* A command from its start to its end, its output thrown away. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int run_command(void *context, struct error *err) {
  char **command = context;
  pid_t child = fork();
  if (child < 0) {
    return error_set(err, ERROR_INTERNAL, "no new process: %s", strerror(errno));
  }
  if (child == 0) {
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0) {
      execvp(command[0], command);
    }
    _exit(127);
  }
  int state;
  while (waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) {
      return error_set(err, ERROR_INTERNAL, "%s cannot be waited for: %s", command[0], strerror(errno));
    }
  }
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
    return error_set(err, ERROR_USAGE, "%s ended with state 0x%x", command[0], (unsigned)state);
  }
  return 0;
}

int bench_process(const struct bench *bench, json_t *result, struct error *err) {
  size_t repeats;
  int status = bench_number(bench, "repeats", 1, 1000, &repeats, err);
  if (status) {
    return status;
  }
  if (!bench->command || !bench->command[0]) {
    return error_set(err, ERROR_USAGE, "a command is missing: pe-bench process -- COMMAND ...");
  }
  status = bench_repeat(repeats, run_command, bench->command, result, err);
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  bench_put(result, "peak_mib", (double)usage.ru_maxrss / 1024.0);
  return status;
}
