/* pe-run report RESULTS [-o PAGE] */
#include "results/report.h"
#include "commands/commands.h"
#include "commands/session.h"
#include "commands/usage.h"
#include "results/read_results.h"
#include "results/replace.h"

#include "base/text.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_PNG = 0x100, OPTION_SVG };

struct arguments {
  const char *file, *output, *png, *svg;
};

static const struct argp_option options[] = {
    {"output", 'o', "PAGE", 0, "where the page goes (default: RESULTS with .html instead of .h5)", 1},
    {"png", OPTION_PNG, "DIR", 0, "write the pictures as PNG files into DIR instead", 1},
    {"svg", OPTION_SVG, "DIR", 0, "write the pictures as SVG files into DIR instead", 1},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case 'o':
    session_once(state, "output", &a->output, argument);
    return 0;
  case OPTION_PNG:
    session_once(state, "png", &a->png, argument);
    return 0;
  case OPTION_SVG:
    session_once(state, "svg", &a->svg, argument);
    return 0;
  case ARGP_KEY_ARG:
    if (a->file) {
      argp_error(state, "too many arguments: '%s'", argument);
    }
    a->file = argument;
    return 0;
  case ARGP_KEY_END:
    if (!a->file) {
      argp_error(state, "no RESULTS file given");
    }
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "RESULTS",
    .doc = "Make one HTML page of a results file: the question and what follows, a picture and a table for each "
           "experiment, where it comes from. The page needs no network.\v"
           "Pictures are drawn by gnuplot; without it the page has its tables.",
};

/* "results/a.h5" -> "results/a.html" */
static char *page_path(const struct arguments *a, struct error *err) {
  struct text path = {0};
  size_t length = strlen(a->file);
  bool has_ending = length > 3 && !strcmp(a->file + length - 3, ".h5");
  if (a->output) {
    text_append(&path, a->output);
  } else {
    text_append_bytes(&path, a->file, has_ending ? length - 3 : length);
    text_append(&path, ".html");
  }
  return text_take(&path, err);
}

static int write_page(const struct arguments *a, const struct results_file *file, struct error *err) {
  char *path = page_path(a, err);
  bool may = path && results_may_replace(path, REPLACE_PAGE, err) == 0;
  char *page = may ? report_page(file, err) : NULL;
  int status = page ? results_put(path, page, strlen(page), err) : (int)err->code;
  if (!status) {
    printf("%s\n", path);
  }
  free(page);
  free(path);
  return status;
}

static int write_pictures(const struct results_file *file, const char *folder, bool png, struct error *err) {
  size_t count;
  if (report_pictures(file, folder, png, &count, err)) {
    return err->code;
  }
  printf("%s: %zu pictures\n", folder, count);
  return 0;
}

static int report(const struct arguments *a, struct error *err) {
  struct results_read results;
  if (results_read(a->file, &results, err)) {
    return err->code;
  }
  int status = 0;
  if (a->png) {
    status = write_pictures(&results.file, a->png, true, err);
  }
  if (!status && a->svg) {
    status = write_pictures(&results.file, a->svg, false, err);
  }
  if (!status && (a->output || (!a->png && !a->svg))) {
    status = write_page(a, &results.file, err);
  }
  results_read_free(&results);
  return status;
}

int command_report(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {0};
  command_parse(&argp, argc, argv, &a);
  return report(&a, &err) ? command_fail(&err) : 0;
}
