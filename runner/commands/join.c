/* pe-run join CONFIG [key=value ...] */
#include "base/memory.h"
#include "commands/carry_out.h"
#include "commands/commands.h"
#include "commands/usage.h"

#include <stdlib.h>

enum { OPTION_PARTIAL = 0x300 };

static const struct argp_option options[] = {
    {"partial", OPTION_PARTIAL, NULL, 0, "join what is there, though jobs are missing; the output is marked partial",
     1},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct run_options *o = state->input;
  (void)argument;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = o;
    return 0;
  case OPTION_PARTIAL:
    o->execute.partial = true;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&run_common_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "CONFIG [KEY=VALUE ...]",
    .doc = "Make the output of a config from the parts that `pe-run run --shard I/N` left beside it. Nothing is "
           "computed.\v"
           "CONFIG and KEY=VALUE are those of the runs.\n"
           "Exit codes: as of `pe-run run`; 1 also where jobs are missing.",
    .children = children,
};

int command_join(int argc, char **argv) {
  struct error err = {0};
  struct run_options options_given = {.execute = {.only_join = true}};
  options_given.overrides = memory_new((size_t)argc, sizeof *options_given.overrides, "arguments", &err);
  if (!options_given.overrides) {
    return command_fail(&err);
  }
  command_parse(&argp, argc, argv, &options_given);
  int code = carry_out(&options_given);
  free(options_given.output);
  free(options_given.overrides);
  return code;
}
