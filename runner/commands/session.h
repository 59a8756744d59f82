/* What commands share: the plugins that can be found, the options that every command has, a plan from the command line.
 */
#ifndef PE_COMMANDS_SESSION_H
#define PE_COMMANDS_SESSION_H

#include "config/plan.h"
#include "host/host.h"
#include "jobs/catalogue.h"
#include "results/show_table.h"

#include <argp.h>

enum { MOST_PLUGIN_DIRECTORIES = 64 };

struct session_options {
  const char *plugin_directories[MOST_PLUGIN_DIRECTORIES]; /* of --plugin-dir */
  size_t n_plugin_directories;
  int trust_plugin_directories;
  int probe; /* leave plugins to another process; else they are loaded here, where they can be run */
  enum table_format format;
};

/* argp children: --plugin-dir, --trust-plugin-dir, --format. Their input is a struct session_options. */
extern const struct argp session_argp;

struct session {
  struct catalogue *catalogue;
  struct host *host;              /* without `probe`; else NULL */
  struct process_setting process; /* how to start others */
  char **owned;                   /* strings the host's options point to */
  size_t n_owned;
  const char **ids; /* of every scheme, ended by NULL: for hints */
};

/* Search order: --plugin-dir, PE_PLUGIN_PATH, the build's or the install's directory. Prints what is wrong and returns
 * an exit code, or 0. */
int session_open(const struct session_options *options, struct session *session);
void session_close(struct session *session);

/* Load a plan; prints what is wrong. NULL with *exit_code. `text` instead of `path` for a run without a file. */
struct plan *session_plan(struct session *session, const char *path, const char *text, const char *const *overrides,
                          size_t n_overrides, int *exit_code);

/* An option's argument as a whole number from min to max; otherwise a usage error by argp_error, which ends the
 * process.
 */
double session_number(struct argp_state *state, const char *option, const char *text, double min, double max);

/* An option that may stand once: *value = text; a usage error where *value is something already. */
void session_once(const struct argp_state *state, const char *option, const char **value, const char *text);

/* The style for tables on stdout. */
struct table_style session_style(const struct session_options *options);

#endif
