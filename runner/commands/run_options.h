/* The options of commands that carry out a plan: run and join. */
#ifndef PE_COMMANDS_RUN_OPTIONS_H
#define PE_COMMANDS_RUN_OPTIONS_H

#include "commands/session.h"
#include "jobs/execute.h"

enum { MOST_PATTERNS = 64 };

struct run_options {
  struct session_options session;
  const char *config;
  const char **overrides; /* the caller's, with room for every argument */
  size_t n_overrides;
  const char *output_file; /* of --output, as given */
  char *output;            /* the override that it stands for; to be freed */
  int quiet, dry_run, in_process;
  struct execute_setting execute; /* what is not an option is filled in by the command */
  const char *only[MOST_PATTERNS], *exclude[MOST_PATTERNS];
};

/* argp children, in this order: options of both commands; those of run alone. Their input is a struct run_options. */
extern const struct argp run_common_argp;
extern const struct argp run_argp;

/* FILE of --output as an override: output="FILE", a YAML text that no byte of FILE can end. To be freed; NULL without
 * memory. */
char *output_override(const char *file);

/* "90", "90s", "1.5m", "2h" as seconds; "512M", "4G", "4GiB" as bytes. False: something else. */
bool duration_read(const char *text, double *seconds);
bool size_read(const char *text, size_t *bytes);

#endif
