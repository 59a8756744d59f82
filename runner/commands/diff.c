/* pe-run diff A B */
#include "commands/commands.h"
#include "commands/output.h"
#include "commands/usage.h"
#include "results/diff_results.h"
#include "results/read_results.h"

#include <math.h>
#include <stdlib.h>

enum { OPTION_FORMAT = 0x100, OPTION_TOLERANCE, OPTION_ALL };

struct arguments {
  enum table_format format;
  const char *first, *second;
  double tolerance;
  int all;
};

static const struct argp_option options[] = {
    {"tolerance", OPTION_TOLERANCE, "T", 0, "numbers may differ by T max(1, |a|, |b|) (default: 0)", 1},
    {"all", OPTION_ALL, NULL, 0, "list tensors that are equal as well", 1},
    {"format", OPTION_FORMAT, "FORMAT", 0, "as table, json, csv or md", 1},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  char *end;
  switch (key) {
  case OPTION_FORMAT:
    a->format = output_format(argument, state);
    return 0;
  case OPTION_ALL:
    a->all = 1;
    return 0;
  case OPTION_TOLERANCE:
    a->tolerance = strtod(argument, &end);
    if (end == argument || *end || !isfinite(a->tolerance) || a->tolerance < 0) {
      argp_error(state, "--tolerance: '%s' is not a number of at least 0", argument);
    }
    return 0;
  case ARGP_KEY_ARG:
    if (a->second) {
      argp_error(state, "too many arguments: '%s'", argument);
    }
    *(a->first ? &a->second : &a->first) = argument;
    return 0;
  case ARGP_KEY_END:
    if (!a->second) {
      argp_error(state, "two RESULTS files are needed");
    }
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "RESULTS RESULTS",
    .doc = "Compare two results files: for each tensor the largest absolute and relative difference and the largest "
           "distance in units in the last place, what stands in one of them only, and what differs in the plan.\v"
           "Exit code 1 where a tensor differs by more than the tolerance or has no counterpart. A plan that differs "
           "is shown, but is no failure by itself.",
};

static int show_diff(const struct arguments *a, const struct results_diff *diff, struct error *err) {
  struct table_style style = output_style(a->format);
  bool terminal = a->format == TABLE_TERMINAL;
  int status = 0;
  if (table_rows(&diff->tensors) || !terminal) {
    status = table_show(&diff->tensors, &style, stdout, err);
  }
  if (!status && (table_rows(&diff->facts) || !terminal)) {
    status = table_show(&diff->facts, &style, stdout, err);
  }
  if (status || !terminal) {
    return status;
  }
  if (!diff->apart && !diff->unmatched) {
    printf("%s: %zu tensors\n", table_rows(&diff->tensors) > 0 && !a->all ? "within the tolerance" : "equal",
           diff->compared);
  } else {
    printf("%zu of %zu tensors apart, %zu without a counterpart\n", diff->apart, diff->compared, diff->unmatched);
  }
  return 0;
}

static int compare(const struct arguments *a, const struct results_file *first, const struct results_file *second,
                   bool *differ, struct error *err) {
  struct results_diff diff;
  int status = results_compare(first, second, a->tolerance, a->all != 0, &diff, err);
  status = status ? status : show_diff(a, &diff, err);
  *differ = diff.apart || diff.unmatched;
  results_diff_free(&diff);
  return status;
}

int command_diff(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {0};
  command_parse(&argp, argc, argv, &a);
  struct results_read first, second;
  if (results_read(a.first, &first, &err)) {
    return command_fail(&err);
  }
  if (results_read(a.second, &second, &err)) {
    results_read_free(&first);
    return command_fail(&err);
  }
  bool differ = false;
  int status = compare(&a, &first.file, &second.file, &differ, &err);
  results_read_free(&first);
  results_read_free(&second);
  return status ? command_fail(&err) : differ;
}
