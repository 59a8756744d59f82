#include "commands/run_options.h"

#include "base/text.h"
#include "commands/commands.h"
#include "commands/session.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  OPTION_REFERENCE = 0x200,
  OPTION_THREADS,
  OPTION_TIMEOUT,
  OPTION_STALL,
  OPTION_MEMORY,
  OPTION_ONLY,
  OPTION_EXCLUDE,
  OPTION_DRY_RUN,
  OPTION_FAIL_FAST,
  OPTION_RETRIES,
  OPTION_SHARD,
  OPTION_FRESH,
  OPTION_CHECKPOINT,
  OPTION_IN_PROCESS
};

static const double ONE_HOUR = 3600;

static const struct argp_option common_options[] = {
    {"output", 'o', "FILE", 0, "where the results go, relative to the current folder: the same as output=FILE", 1},
    {"quiet", 'q', NULL, 0, "no progress", 1},
    {"reference", OPTION_REFERENCE, NULL, 0, "attention in plain float64 arithmetic (slow)", 1},
    {"in-process", OPTION_IN_PROCESS, NULL, 0,
     "everything in one process, for the debugger: a plugin that crashes takes pe-run with it", 5},
    {0}};

static const struct argp_option run_options[] = {
    {"jobs", 'j', "N", 0, "worker processes (default: one per core); results do not depend on it", 2},
    {"threads", OPTION_THREADS, "N", 0, "threads of all workers together (default: cores)", 2},
    {"timeout", OPTION_TIMEOUT, "TIME", 0, "give a job up after TIME: 90s, 10m, 2h; 0: never (default)", 2},
    {"stall", OPTION_STALL, "TIME", 0, "give a job up that makes no progress for TIME; 0: never (default: 1h)", 2},
    {"memory", OPTION_MEMORY, "SIZE", 0,
     "memory for a job: 512M, 4G; 0: no limit (default: its share of the machine's)", 2},
    {"only", OPTION_ONLY, "GLOB", 0,
     "only jobs that match: experiment/label/seed, experiment/label, or a name of either (may be given again)", 3},
    {"exclude", OPTION_EXCLUDE, "GLOB", 0, "no jobs that match (may be given again)", 3},
    {"shard", OPTION_SHARD, "I/N", 0,
     "do part I (0 to N-1) of N of the jobs; `pe-run join` makes the output. auto: I and N from Slurm or MPI", 3},
    {"dry-run", OPTION_DRY_RUN, NULL, 0,
     "list the jobs, whether each is kept, and estimates of operations and bytes; do nothing", 3},
    {"fresh", OPTION_FRESH, NULL, 0, "do every job again, whatever is finished", 4},
    {"fail-fast", OPTION_FAIL_FAST, NULL, 0, "stop at the first job that fails", 4},
    {"retries", OPTION_RETRIES, "N", 0, "try a job that fails N times more", 4},
    {"checkpoint", OPTION_CHECKPOINT, "TIME", 0, "write the output every TIME with what is there, marked partial", 4},
    {0}};

static bool read_number(const char *text, double *number, const char **rest) {
  char *end;
  if (!isdigit((unsigned char)text[0]) && text[0] != '.') {
    return false;
  }
  *number = strtod(text, &end);
  *rest = end;
  return end != text && isfinite(*number);
}

bool duration_read(const char *text, double *seconds) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
  const char *rest;
  double number;
  if (!read_number(text, &number, &rest)) {
    return false;
  }
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (!strcmp(rest, units[i].unit)) {
      *seconds = number * units[i].seconds;
      return *seconds < 1e9;
    }
  }
  return false;
}

bool size_read(const char *text, size_t *bytes) {
  static const char letters[] = "KMGT";
  const char *rest;
  double number;
  if (!read_number(text, &number, &rest)) {
    return false;
  }
  const char *letter = *rest ? strchr(letters, toupper((unsigned char)*rest)) : NULL;
  if (letter) {
    number *= ldexp(1, 10 * (int)(letter - letters + 1));
    rest++;
    rest += !strncmp(rest, "iB", 2) ? 2 : *rest == 'B';
  }
  if (*rest || number >= 0x1p60) {
    return false;
  }
  *bytes = (size_t)number;
  return true;
}

static void whole_number(const struct argp_state *state, const char *option, const char *text, unsigned long most,
                         unsigned *out) {
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  if (!isdigit((unsigned char)*text) || *end || n > most) {
    argp_error(state, "--%s: '%s' is not a whole number up to %lu", option, text, most);
  }
  *out = (unsigned)n;
}

char *output_override(const char *file) {
  struct text text = {0};
  struct error ignored;
  text_append(&text, "output=\"");
  for (const char *c = file; *c; c++) {
    if (*c == '"' || *c == '\\') {
      text_append(&text, "\\");
    }
    if ((unsigned char)*c < 0x20 || *c == 0x7f) {
      text_printf(&text, "\\x%02x", (unsigned)*c);
    } else {
      text_append_bytes(&text, c, 1);
    }
  }
  text_append(&text, "\"");
  return text_take(&text, &ignored);
}

static void take_output(struct run_options *o, const char *file, const struct argp_state *state) {
  if (!*file) {
    argp_error(state, "--output: no file named");
  }
  session_once(state, "output", &o->output_file, file);
  o->output = output_override(file);
  if (!o->output) {
    argp_failure(state, 70, 0, "--output: memory is not to be had");
  }
  o->overrides[o->n_overrides++] = o->output;
}

/* Two places for one output: which of them is meant? */
static void check_output(const struct run_options *o, const struct argp_state *state) {
  for (size_t i = 0; i < o->n_overrides; i++) {
    if (o->output && o->overrides[i] != o->output && !strncmp(o->overrides[i], "output=", strlen("output="))) {
      argp_error(state, "--output %s and %s are both given: leave one out", o->output_file, o->overrides[i]);
    }
  }
}

static error_t parse_common(int key, char *argument, struct argp_state *state) {
  struct run_options *o = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &o->session;
    return 0;
  case 'o':
    take_output(o, argument, state);
    return 0;
  case 'q':
    o->quiet = 1;
    return 0;
  case OPTION_REFERENCE:
    o->execute.reference = true;
    return 0;
  case OPTION_IN_PROCESS:
    o->in_process = 1;
    return 0;
  case ARGP_KEY_ARG:
    if (!o->config) {
      o->config = argument;
    } else {
      o->overrides[o->n_overrides++] = argument;
    }
    return 0;
  case ARGP_KEY_END:
    if (!o->config) {
      argp_error(state, "no CONFIG given");
    }
    check_output(o, state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child common_children[] = {{&session_argp, 0, NULL, 0}, {0}};
const struct argp run_common_argp = {.options = common_options, .parser = parse_common, .children = common_children};

static void add_pattern(const struct argp_state *state, const char *pattern, const char **patterns, size_t *count) {
  if (*count == MOST_PATTERNS) {
    argp_error(state, "at most %d patterns", MOST_PATTERNS);
  }
  patterns[(*count)++] = pattern;
}

static void read_shard(const struct argp_state *state, const char *text, struct shard *shard) {
  const char *given = strcmp(text, "auto") ? text : command_environment.shard;
  if (!*given) {
    argp_error(state, "--shard auto: neither Slurm nor MPI says which part this process is");
  }
  if (!shard_read(given, shard)) {
    argp_error(state, "--shard: '%s' is not I/N with 0 <= I < N", given);
  }
}

/* A worker's share of the machine's memory; a small one is no limit that anybody meant. */
static size_t usual_memory(unsigned workers) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE), cores = sysconf(_SC_NPROCESSORS_ONLN);
  size_t least = (size_t)1 << 30;
  size_t share = pages > 0 && size > 0 ? (size_t)pages / (workers ? workers : cores > 0 ? (unsigned)cores : 1) : 0;
  return share * (size_t)size > least ? share * (size_t)size : least;
}

static error_t parse_run(int key, char *argument, struct argp_state *state) {
  struct run_options *o = state->input;
  struct execute_setting *execute = &o->execute;
  unsigned n;
  switch (key) {
  case ARGP_KEY_INIT:
    execute->stall = ONE_HOUR;
    execute->memory = SIZE_MAX;
    return 0;
  case 'j':
    whole_number(state, "jobs", argument, 1024, &execute->workers);
    return 0;
  case OPTION_THREADS:
    whole_number(state, "threads", argument, 1024, &n);
    if (n < 1) {
      argp_error(state, "--threads: '%s' is not a whole number from 1 to 1024", argument);
    }
    execute->threads = n;
    return 0;
  case OPTION_TIMEOUT:
    if (!duration_read(argument, &execute->timeout)) {
      argp_error(state, "--timeout: '%s' is no time such as 90s, 10m or 2h", argument);
    }
    return 0;
  case OPTION_STALL:
    if (!duration_read(argument, &execute->stall)) {
      argp_error(state, "--stall: '%s' is no time such as 90s, 10m or 2h", argument);
    }
    return 0;
  case OPTION_MEMORY:
    if (!size_read(argument, &execute->memory)) {
      argp_error(state, "--memory: '%s' is no size such as 512M or 4G", argument);
    }
    return 0;
  case OPTION_ONLY:
    add_pattern(state, argument, o->only, &execute->selection.n_only);
    return 0;
  case OPTION_EXCLUDE:
    add_pattern(state, argument, o->exclude, &execute->selection.n_exclude);
    return 0;
  case OPTION_DRY_RUN:
    o->dry_run = 1;
    return 0;
  case OPTION_SHARD:
    read_shard(state, argument, &execute->selection.shard);
    return 0;
  case OPTION_FRESH:
    execute->fresh = true;
    return 0;
  case OPTION_FAIL_FAST:
    execute->fail_fast = true;
    return 0;
  case OPTION_RETRIES:
    whole_number(state, "retries", argument, 1000, &execute->retries);
    return 0;
  case OPTION_CHECKPOINT:
    if (!duration_read(argument, &execute->checkpoint) || execute->checkpoint < 1) {
      argp_error(state, "--checkpoint: '%s' is no time of at least a second, such as 30s or 10m", argument);
    }
    return 0;
  case ARGP_KEY_END:
    execute->memory = execute->memory == SIZE_MAX ? usual_memory(execute->workers) : execute->memory;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

const struct argp run_argp = {.options = run_options, .parser = parse_run};
