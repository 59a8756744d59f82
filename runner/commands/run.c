/* pe-run run CONFIG [key=value ...] */
#include "base/memory.h"
#include "commands/carry_out.h"
#include "commands/commands.h"
#include "commands/usage.h"

#include <stdlib.h>

static error_t parse(int key, char *argument, struct argp_state *state) {
  (void)argument;
  if (key == ARGP_KEY_INIT) {
    state->child_inputs[0] = state->child_inputs[1] = state->input;
  }
  return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&run_common_argp, 0, NULL, 0}, {&run_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .parser = parse,
    .args_doc = "CONFIG [KEY=VALUE ...]",
    .doc =
        "Run the experiments of a YAML config on its schemes; print a table each and write one HDF5 file.\v"
        "KEY=VALUE overrides a key of the config: seed=7 extrapolation.lengths=[512,1024] rope.base=5e5.\n"
        "Without a file, an experiment is run on schemes with random weights: extrapolation rope alibi "
        "lengths=[128,512].\n"
        "Finished jobs are kept: the same command again, or a larger config, does what is missing. Ctrl-C stops; what "
        "is done is kept.\n"
        "Exit codes: 0 all jobs done, 1 a job failed or an expectation did not hold, 2 usage or config, 3 a plugin was "
        "refused, 4 a file could not be "
        "read or written, 5 no job selected, 6 the output is in use by another pe-run, 70 internal error, 128+N "
        "stopped "
        "by signal N.",
    .children = children,
};

int command_run(int argc, char **argv) {
  struct error err = {0};
  struct run_options options = {0};
  options.overrides = memory_new((size_t)argc, sizeof *options.overrides, "arguments", &err);
  if (!options.overrides) {
    return command_fail(&err);
  }
  command_parse(&argp, argc, argv, &options);
  int code = carry_out(&options);
  free(options.output);
  free(options.overrides);
  return code;
}
