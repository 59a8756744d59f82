#include "commands/commands.h"

const struct command command_table[] = {
    {"run", "run a config: experiments, tables, one HDF5 file", command_run},
    {"join", "make the output from the parts of several runs (--shard)", command_join},
    {"plan", "print the resolved plan, a config with all defaults filled in", command_plan},
    {"list", "list the schemes and experiments that can be used", command_list},
    {"describe", "describe one scheme or experiment: parameters, defaults, ranges", command_describe},
    {"apply", "apply a scheme to your own tensor: embedding, queries and keys, or biases", command_apply},
    {"compare", "where two variants part, or a variant and a tensor from another program", command_compare},
    {"vectors", "write golden vectors of a variant, for other projects' tests", command_vectors},
    {"new", "write the folder of a new plugin, which builds and runs as it is", command_new},
    {"check", "check that a plugin keeps the contract", command_check},
    {"explain", "explain an error code: cause, cure, example", command_explain},
    {"show", "show what is in a results file: its tree, a tensor, a curve", command_show},
    {"report", "make one HTML page of a results file, with pictures", command_report},
    {"diff", "compare two results files number by number", command_diff},
    {"schema", "print the JSON Schema of configs, for editors and validators", command_schema},
    {0},
};
