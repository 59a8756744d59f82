/* pe-run explain */
#include "base/text.h"
#include "commands/commands.h"
#include "commands/explanations.h"
#include "commands/output.h"
#include "commands/usage.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_FORMAT = 0x100, OPTION_ALL, USUAL_WIDTH = 80 };

struct arguments {
  bool wanted[ERROR_COUNT];
  int any;
  enum table_format format;
};

/* E0105, e105, 105, and as it stands in a message: error[E0105]. */
static enum error_code code_of(const char *text) {
  static const char prefix[] = "error[";
  text += strncmp(text, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
  text += toupper((unsigned char)*text) == 'E';
  char *end;
  unsigned long number = strtoul(text, &end, 10);
  if (!isdigit((unsigned char)*text) || (*end && strcmp(end, "]") != 0 && strcmp(end, "]:") != 0)) {
    return ERROR_NONE;
  }
  for (enum error_code code = ERROR_NONE + 1; code < ERROR_COUNT; code++) {
    if (strtoul(error_id(code) + 1, NULL, 10) == number) {
      return code;
    }
  }
  return ERROR_NONE;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  enum error_code code;
  switch (key) {
  case OPTION_FORMAT:
    a->format = output_format(argument, state);
    return 0;
  case OPTION_ALL:
    for (size_t i = 0; i < ERROR_COUNT; i++) {
      a->wanted[i] = i != ERROR_NONE;
    }
    a->any = 1;
    return 0;
  case ARGP_KEY_ARG:
    code = code_of(argument);
    if (code == ERROR_NONE) {
      argp_error(state, "no error has the code '%s'; `pe-run explain` lists them", argument);
    }
    a->wanted[code] = true;
    a->any = 1;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"all", OPTION_ALL, NULL, 0, "explain every code", 1},
    {"format", OPTION_FORMAT, "FORMAT", 0, "as text (table), json, csv or md", 10},
    {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[CODE ...]",
    .doc = "Explain an error code: what causes it, what to do, and an example that gives it. CODE is what stands in "
           "the message, such as E0105. Without CODE: list all codes with the exit code that each leads to.",
};

/* ---- as a table: the list, and machine formats ---- */

static int add_columns(struct table *table, bool whole, struct error *err) {
  int status = table_title(table, err, "Error codes");
  status = status ? status : table_column(table, "code", "code", false, false, err);
  status = status ? status : table_column(table, "exit_code", "exit code", true, false, err);
  status = status ? status : table_column(table, "title", "says that", false, true, err);
  if (whole) {
    status = status ? status : table_column(table, "cause", "cause", false, true, err);
    status = status ? status : table_column(table, "fix", "what to do", false, true, err);
    status = status ? status : table_column(table, "example", "example", false, true, err);
    status = status ? status : table_column(table, "says", "then says", false, true, err);
  }
  return status;
}

static int add_row(struct table *table, enum error_code code, bool whole, struct error *err) {
  const struct explanation *e = explanation_of(code);
  int status = table_text(table, err, "%s", error_id(code));
  status = status ? status : table_number(table, error_exit_code(code), err);
  status = status ? status : table_text(table, err, "%s", error_title(code));
  if (whole) {
    status = status ? status : table_text(table, err, "%s", e->cause);
    status = status ? status : table_text(table, err, "%s", e->fix);
    status = status ? status : table_text(table, err, "%s", e->example ? e->example : "");
    status = status ? status : table_text(table, err, "%s", e->says ? e->says : "");
  }
  return status;
}

static int show_table(const struct arguments *a, bool whole, struct error *err) {
  struct table table = {0};
  struct table_style style = output_style(a->format);
  int status = add_columns(&table, whole, err);
  for (enum error_code code = ERROR_NONE + 1; !status && code < ERROR_COUNT; code++) {
    status = a->wanted[code] || !a->any ? add_row(&table, code, whole, err) : 0;
  }
  if (!status && !whole) {
    status = table_note(&table, err, "`pe-run explain CODE` tells cause and cure.");
  }
  status = status ? status : table_show(&table, &style, stdout, err);
  table_free(&table);
  return status;
}

/* ---- as text ---- */

/* One paragraph, folded between words, every line after `indent` blanks. */
static void add_paragraph(struct text *text, const char *words, size_t indent, size_t width) {
  size_t column = 0;
  while (*words) {
    size_t length = strcspn(words, " ");
    bool fits = column + 1 + length <= width;
    if (column && !fits) {
      text_append(text, "\n");
      column = 0;
    }
    text_printf(text, "%*s%.*s", column ? 1 : (int)indent, "", (int)length, words);
    column += (column ? 1 : indent) + length;
    words += length + (words[length] == ' ');
  }
  text_append(text, "\n");
}

static void add_lines(struct text *text, const char *lines, const char *before) {
  while (*lines) {
    size_t length = strcspn(lines, "\n");
    text_printf(text, "%s%.*s\n", before, (int)length, lines);
    lines += length + (lines[length] == '\n');
  }
}

static void add_prose(struct text *text, enum error_code code, size_t width) {
  const struct explanation *e = explanation_of(code);
  text_printf(text, "%s: %s (exit code %d)\n\n", error_id(code), error_title(code), error_exit_code(code));
  add_paragraph(text, e->cause, 0, width);
  text_append(text, "\nWhat to do\n");
  add_paragraph(text, e->fix, 2, width);
  if (e->example) {
    text_printf(text, "\nExample%s\n", e->example[0] == '$' ? "" : ", config.yaml");
    add_lines(text, e->example, "    ");
    text_printf(text, "  says\n    error[%s]: %s\n", error_id(code), e->says);
  }
}

static void add_markdown(struct text *text, enum error_code code) {
  const struct explanation *e = explanation_of(code);
  text_printf(text, "## %s: %s\n\n", error_id(code), error_title(code));
  add_paragraph(text, e->cause, 0, 120);
  text_append(text, "\n");
  add_paragraph(text, e->fix, 0, 120);
  text_printf(text, "\nExit code %d.\n", error_exit_code(code));
  if (e->example) {
    text_printf(text, "\n```%s\n", e->example[0] == '$' ? "console" : "yaml");
    add_lines(text, e->example, "");
    text_printf(text, "```\n\n    error[%s]: %s\n", error_id(code), e->says);
  }
}

/* docs/errors.md begins so. */
static const char page_head[] =
    "# Errors\n\n"
    "Every message of an error names its code, as in `error[E0105]`. `pe-run explain E0105` prints what stands here;\n"
    "this page is made by `pe-run explain --all --format md`. Beside each example stand a `config.yaml` that is sound "
    "and\n"
    "the plugin that the example names; the tests run every one of them.\n\n"
    "| exit code | |\n| --- | --- |\n"
    "| 0 | all jobs are done and every `expect` held; \"undefined\" and \"does not hold\" are results |\n"
    "| 1 | finished, but a job failed or an expectation did not hold |\n"
    "| 2 | wrong use, or a config that is wrong or cannot be read |\n"
    "| 3 | a plugin was refused before the first job |\n"
    "| 4 | another file could not be read or written |\n"
    "| 5 | nothing was selected |\n"
    "| 6 | the output is in use by another pe-run |\n"
    "| 70 | out of memory, or an internal error |\n"
    "| 128 + n | ended by signal n; what was finished is kept |\n\n";

static int show_text(const struct arguments *a, struct error *err) {
  struct text text = {0};
  bool markdown = a->format == TABLE_MARKDOWN, whole = true, first = true;
  size_t width = command_environment.width > 20 && command_environment.width < 120 ? (size_t)command_environment.width
                                                                                   : USUAL_WIDTH;
  for (enum error_code code = ERROR_NONE + 1; code < ERROR_COUNT; code++) {
    whole = whole && a->wanted[code];
  }
  text_append(&text, markdown && whole ? page_head : "");
  for (enum error_code code = ERROR_NONE + 1; code < ERROR_COUNT; code++) {
    if (!a->wanted[code]) {
      continue;
    }
    text_append(&text, first ? "" : "\n");
    first = false;
    if (markdown) {
      add_markdown(&text, code);
    } else {
      add_prose(&text, code, width);
    }
  }
  char *all = text_take(&text, err);
  int status = all ? 0 : (int)err->code;
  if (!status && fputs(all, stdout) < 0) {
    status = error_set(err, ERROR_FILE_WRITE, "the explanation cannot be written to standard output");
  }
  free(all);
  return status;
}

int command_explain(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {0};
  command_parse(&argp, argc, argv, &a);
  bool machine = a.format == TABLE_JSON || a.format == TABLE_CSV;
  int status = a.any && !machine ? show_text(&a, &err) : show_table(&a, a.any, &err);
  return status ? command_fail(&err) : 0;
}
