/* pe-run check */
#include "host/check/check.h"
#include "commands/commands.h"
#include "commands/output.h"
#include "commands/session.h"
#include "commands/usage.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  OPTION_LEVEL = 'l',
  OPTION_ONLY = 'o',
  OPTION_ALL = 'a',
  OPTION_IN_PROCESS = 0x200,
  OPTION_SEED,
  OPTION_TIMEOUT,
  OPTION_LIST,
  OPTION_TRUST,
  OPTION_FORMAT
};

static const char *const level_names[] = {[CHECK_QUICK] = "quick", [CHECK_FULL] = "full", [CHECK_DEEP] = "deep"};

struct arguments {
  const char *plugin;
  struct check_options options;
  enum table_format format;
  int all, list;
};

static enum check_level level_of(const char *text, struct argp_state *state) {
  for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
    if (!strcmp(text, level_names[i])) {
      return (enum check_level)i;
    }
  }
  argp_error(state, "--level: '%s' is none of quick, full, deep", text);
  return CHECK_QUICK;
}

static error_t parse_argument(char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  if (a->plugin) {
    argp_error(state, "one plugin at a time: '%s' and '%s' are given", a->plugin, argument);
  }
  a->plugin = argument;
  return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case OPTION_LEVEL:
    a->options.level = level_of(argument, state);
    return 0;
  case OPTION_ONLY:
    a->options.only = argument;
    return 0;
  case OPTION_ALL:
    a->all = 1;
    return 0;
  case OPTION_IN_PROCESS:
    a->options.in_process = true;
    return 0;
  case OPTION_SEED:
    a->options.seed = (uint64_t)session_number(state, "seed", argument, 0, 9007199254740991.0);
    return 0;
  case OPTION_TIMEOUT:
    a->options.time_limit = session_number(state, "timeout", argument, 1, 86400);
    return 0;
  case OPTION_LIST:
    a->list = 1;
    return 0;
  case OPTION_TRUST:
    a->options.trust = true;
    return 0;
  case OPTION_FORMAT:
    a->format = output_format(argument, state);
    return 0;
  case ARGP_KEY_ARG:
    return parse_argument(argument, state);
  case ARGP_KEY_END:
    if (!a->plugin && !a->list) {
      argp_error(state, "no plugin is given");
    }
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"level", OPTION_LEVEL, "LEVEL", 0, "how much is tried: quick, full (default) or deep", 0},
    {"only", OPTION_ONLY, "ID", 0, "one check, or all whose id begins with ID and a point", 0},
    {"all", OPTION_ALL, NULL, 0, "show the checks that pass, too", 0},
    {"list", OPTION_LIST, NULL, 0, "list the checks and what each of them proves", 0},
    {"seed", OPTION_SEED, "N", 0, "of everything that is random (default 1); the same seed tries the same", 0},
    {"timeout", OPTION_TIMEOUT, "SECONDS", 0, "limit of one check on one scheme (default 10; deep 120)", 0},
    {"in-process", OPTION_IN_PROCESS, NULL, 0, "in this process, for a debugger: a crash ends it all", 0},
    {"trust-plugin-dir", OPTION_TRUST, NULL, 0, "accept a plugin from a place that others can write to", 10},
    {"format", OPTION_FORMAT, "FORMAT", 0, "results as table, json, csv or md", 10},
    {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "PLUGIN.so",
    .doc =
        "Check that a plugin keeps the contract of pe/plugin.h. Each check runs in a process of its own and proves one "
        "sentence of the contract, or shows the smallest input at which it does not hold.\v"
        "Exit code 0: nothing failed; 1: a check failed; 3: the plugin cannot be loaded.",
};

/* ---- what is shown ---- */

struct listener {
  const struct arguments *arguments;
  struct table table;
  struct error err;
  int status;   /* of filling the table */
  bool refused; /* the file or its loading failed */
};

static void add_row(struct listener *listener, const struct check_result *result) {
  struct table *table = &listener->table;
  struct error *err = &listener->err;
  int status = listener->status;
  status = status ? status : table_text(table, err, "%s", result->scheme);
  status = status ? status : table_text(table, err, "%s", result->id);
  status = status ? status : table_text(table, err, "%s", check_outcome_name(result->outcome));
  status = status ? status : table_text(table, err, "%s", result->text[0] ? result->text : result->proves);
  listener->status = status;
}

static void hear(void *context, const struct check_result *result) {
  struct listener *listener = context;
  bool failed = result->outcome == CHECK_FAIL || result->outcome == CHECK_CRASHED;
  bool is_loading = !strcmp(result->id, "file") || !strcmp(result->id, "load");
  listener->refused = listener->refused || (failed && is_loading);
  bool worth = failed || result->outcome == CHECK_WARN || listener->arguments->all ||
               listener->arguments->format != TABLE_TERMINAL;
  if (worth) {
    add_row(listener, result);
  }
}

static int make_columns(struct table *table, bool with_outcome, struct error *err) {
  int status = with_outcome ? table_column(table, "scheme", "scheme", false, false, err) : 0;
  status = status ? status : table_column(table, "check", "check", false, false, err);
  if (with_outcome) {
    status = status ? status : table_column(table, "outcome", "outcome", false, false, err);
  }
  return status ? status : table_column(table, "says", "says", false, true, err);
}

static void summarise(const struct arguments *a, const struct check_summary *summary, char *text, size_t size) {
  snprintf(text, size, "%s, level %s, seed %llu: %zu passed, %zu failed, %zu crashed, %zu warnings, %zu do not apply",
           a->plugin, level_names[a->options.level], (unsigned long long)a->options.seed, summary->count[CHECK_PASS],
           summary->count[CHECK_FAIL], summary->count[CHECK_CRASHED], summary->count[CHECK_WARN],
           summary->count[CHECK_SKIP]);
}

static int list_checks(const struct arguments *a, struct error *err) {
  struct table table = {0};
  struct table_style style = output_style(a->format);
  int status = make_columns(&table, false, err);
  for (size_t i = 0; i < check_count() && !status; i++) {
    struct check_description check = check_describe(i);
    status = table_text(&table, err, "%s", check.id);
    status = status ? status : table_text(&table, err, "%s", check.proves);
  }
  status = status ? status : table_show(&table, &style, stdout, err);
  table_free(&table);
  return status;
}

static int show(const struct arguments *a, struct table *table, const struct check_summary *summary,
                struct error *err) {
  struct table_style style = output_style(a->format);
  char text[700];
  summarise(a, summary, text, sizeof text);
  int status = 0;
  if (a->format != TABLE_TERMINAL) {
    status = table_note(table, err, "%s", text);
    return status ? status : table_show(table, &style, stdout, err);
  }
  if (table_rows(table)) {
    status = table_show(table, &style, stdout, err);
  }
  printf("%s\n", text);
  return status;
}

static int check(const struct arguments *a, int *code, struct error *err) {
  struct listener listener = {.arguments = a};
  struct check_summary summary;
  int status = make_columns(&listener.table, true, err);
  if (!status) {
    status = check_plugin(a->plugin, &a->options, hear, &listener, &summary, err);
  }
  if (!status && listener.status) {
    *err = listener.err;
    status = listener.status;
  }
  if (!status) {
    status = show(a, &listener.table, &summary, err);
    *code = listener.refused ? 3 : summary.count[CHECK_FAIL] + summary.count[CHECK_CRASHED] > 0;
  }
  table_free(&listener.table);
  return status;
}

int command_check(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {.options = {.level = CHECK_FULL, .seed = 1}};
  command_parse(&argp, argc, argv, &a);
  int code = 0;
  int status = a.list ? list_checks(&a, &err) : check(&a, &code, &err);
  return status ? command_fail(&err) : code;
}
