/* The commands: one file each, one table that lists them. A command gets the arguments after its name and returns the
 * process's exit code.
 */
#ifndef PE_COMMANDS_COMMANDS_H
#define PE_COMMANDS_COMMANDS_H

#include "base/error.h"

#include <stdbool.h>

struct command {
  const char *name;
  const char *summary;               /* one line for --help */
  int (*run)(int argc, char **argv); /* argv[0] is "pe-run NAME" */
};

/* Ended by a NULL name. */
extern const struct command command_table[];

int command_run(int argc, char **argv);
int command_join(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_list(int argc, char **argv);
int command_describe(int argc, char **argv);
int command_show(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_apply(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_new(int argc, char **argv);
int command_schema(int argc, char **argv);
int command_check(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_vectors(int argc, char **argv);
int command_report(int argc, char **argv);

/* What the environment says, read once by main.c. */
struct command_environment {
  const char *plugin_path;      /* PE_PLUGIN_PATH; "" where it is not set */
  int no_color;                 /* NO_COLOR is set and not empty */
  int width;                    /* columns of the terminal on stdout; 0: none */
  char shard[48];               /* "I/N" by Slurm or MPI; "" : neither says */
  bool guarded;                 /* this is the process that runs plugins, and another one looks on */
  const char *const *variables; /* all of it, ended by NULL, for the processes that pe-run starts */
};
extern struct command_environment command_environment;

/* Print "pe-run: error[E0301]: sentence" and return the exit code. */
int command_fail(const struct error *err);

#endif
