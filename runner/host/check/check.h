/* The contract of pe/plugin.h as a program: what a plugin's author runs before anyone else does.
 *
 * Each check runs in a child process with limits of time and memory; the caller's process never loads the plugin. A
 * check proves one sentence of the contract on every scheme of the plugin, or shows the smallest input at which it does
 * not hold. Everything random follows from the seed.
 */
#ifndef PE_HOST_CHECK_CHECK_H
#define PE_HOST_CHECK_CHECK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum check_outcome {
  CHECK_PASS,
  CHECK_WARN,   /* allowed, but look at it */
  CHECK_SKIP,   /* does not apply, or another check's failure stands in its way */
  CHECK_FAIL,   /* the contract is broken */
  CHECK_CRASHED /* and the process with it: a signal, an exit, no end */
};

/* "pass", "warn", "skip", "fail", "crashed". */
const char *check_outcome_name(enum check_outcome outcome);

/* How much is tried: sizes, parameter values, repetitions. */
enum check_level { CHECK_QUICK, CHECK_FULL, CHECK_DEEP };

enum { CHECK_TEXT = 900, CHECK_SCHEME = 72 };

struct check_result {
  const char *id;            /* "split.rows" */
  const char *proves;        /* one line */
  char scheme[CHECK_SCHEME]; /* id; "" for the plugin as a whole */
  enum check_outcome outcome;
  char text[CHECK_TEXT]; /* why not CHECK_PASS, with the input that shows it; "" where there is nothing to say */
};

struct check_options {
  enum check_level level;
  const char *only; /* id of one check, or its beginning up to a point ("split"); NULL: all */
  bool in_process;  /* no children, for a debugger: what a plugin does to the process is done to the caller's */
  bool trust;       /* as host_options.trust_directories */
  uint64_t seed;
  double time_limit; /* seconds per check and scheme; 0: 10, at CHECK_DEEP 120 */
};

struct check_summary {
  size_t count[CHECK_CRASHED + 1]; /* results by outcome */
};

/* Run the checks on the plugin at `path`; report(context) hears every result as it comes. Checks that need a plugin
 * that can be loaded are left out once it cannot. 0 with *summary filled, whatever the plugin is worth; ERROR_USAGE
 * where `only` names no check; ERROR_INTERNAL or ERROR_MEMORY where checking itself fails. Unless in_process, the
 * calling process must have a single thread. */
int check_plugin(const char *path, const struct check_options *options,
                 void (*report)(void *context, const struct check_result *result), void *context,
                 struct check_summary *summary, struct error *err);

/* All checks, in the order they run. */
struct check_description {
  const char *id, *proves;
};
size_t check_count(void);
struct check_description check_describe(size_t which);

#endif
