/* A command from its start to its end, its output thrown away. */
#include "bench_command.h"

#include "base/memory.h"

#include <stdlib.h>

int bench_process(const struct bench *bench, json_t *result, struct error *err) {
  size_t repeats;
  int status = bench_number(bench, "repeats", 1, 1000, &repeats, err);
  if (status) {
    return status;
  }
  if (!bench->command || !bench->command[0]) {
    return error_set(err, ERROR_USAGE, "a command is missing: pe-bench process -- COMMAND ...");
  }
  struct bench_spent *spent = memory_new(repeats, sizeof *spent, "times", err);
  status = spent ? bench_command(bench->command, spent, err) : (int)err->code; /* to warm up */
  for (size_t i = 0; i < repeats && !status; i++) {
    status = bench_command(bench->command, &spent[i], err);
  }
  status = status ? status : bench_put_spent(result, spent, repeats, err);
  free(spent);
  return status;
}
