/* pe-run show RESULTS [PATH] */
#include "commands/commands.h"
#include "commands/output.h"
#include "commands/usage.h"
#include "config/plan.h"
#include "results/printable.h"
#include "results/read_results.h"
#include "results/record_group.h"
#include "results/show_results.h"
#include "results/stored_tables.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { OPTION_FORMAT = 0x100, PLAIN_WIDTH = 80, MOST_GRID_COLUMNS = 12, MOST_ROWS = 64, PATH_PARTS = 3 };

struct arguments {
  enum table_format format;
  const char *file, *path;
};

static const struct argp_option options[] = {
    {"format", OPTION_FORMAT, "FORMAT", 0, "as table, json, csv or md; a tensor is then printed whole", 1}, {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case OPTION_FORMAT:
    a->format = output_format(argument, state);
    return 0;
  case ARGP_KEY_ARG:
    if (a->path) {
      argp_error(state, "too many arguments: '%s'", argument);
    }
    *(a->file ? &a->path : &a->file) = argument;
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
    .args_doc = "RESULTS [PATH]",
    .doc = "Show what is in a results file. PATH is an EXPERIMENT, a record EXPERIMENT/SCHEME (or "
           "EXPERIMENT/comparison), a tensor EXPERIMENT/SCHEME/TENSOR, or run/TEXT.\v"
           "Curves are drawn by gnuplot where it is installed. --format csv prints every element of a tensor.",
};

/* Print a table that `fill` made, whether or not it could make it whole. */
static int print(struct table *table, int filled, const struct arguments *a, struct error *err) {
  struct table_style style = output_style(a->format);
  int status = filled ? filled : table_show(table, &style, stdout, err);
  table_free(table);
  return status;
}

/* A curve is an extra: without gnuplot a line says so. */
static void print_curves(const struct record *record, const struct tensor *tensor) {
  struct error err;
  int width = command_environment.width > 0 ? command_environment.width : PLAIN_WIDTH;
  char *curves = show_curves(record, tensor, width, &err);
  printf("%s\n", curves ? curves : err.text);
  free(curves);
}

static bool is_curve(const struct tensor *tensor) {
  bool real = tensor && (tensor->element == ELEMENT_F32 || tensor->element == ELEMENT_F64);
  return real && tensor->rank == 1 && tensor->count > 1;
}

static int show_one_tensor(const struct arguments *a, const struct record *record, const struct tensor *tensor,
                           struct error *err) {
  struct table table = {0};
  if (a->format != TABLE_TERMINAL) {
    return print(&table, show_values(record, tensor, &table, err), a, err);
  }
  int status = print(&table, show_tensor(record, tensor, &table, err), a, err);
  bool grid = tensor->rank == 2 && tensor->axis[1].length <= MOST_GRID_COLUMNS && tensor->axis[0].length <= MOST_ROWS;
  if (!status && grid) {
    printf("\n");
    status = print(&table, show_grid(record, tensor, &table, err), a, err);
  } else if (!status && tensor->count <= MOST_ROWS) {
    printf("\n");
    status = print(&table, show_values(record, tensor, &table, err), a, err);
  } else if (!status) {
    printf("\n%zu values: --format csv prints them all.\n", tensor->count);
  }
  if (!status && is_curve(tensor)) {
    print_curves(record, tensor);
  }
  return status;
}

static int show_one_record(const struct arguments *a, const struct record *record, struct error *err) {
  struct table table = {0};
  int status = 0;
  if (a->format == TABLE_TERMINAL) {
    status = print(&table, show_attributes(record, &table, err), a, err);
    printf("\n");
  }
  status = status ? status : print(&table, show_record(record, a->format == TABLE_TERMINAL, &table, err), a, err);
  if (!status && a->format == TABLE_TERMINAL && is_curve(record_shown(record))) {
    print_curves(record, record_shown(record));
  }
  return status;
}

/* A text as it is, without what would steer a terminal. */
static int show_text(const struct results_text *text, struct error *err) {
  for (const char *rest = text->text; *rest;) {
    size_t length = strcspn(rest, "\n");
    char *line = memory_new(length + 1, 1, "text", err);
    if (!line) {
      return err->code;
    }
    memcpy(line, rest, length);
    char *clean = printable_line(line, err);
    free(line);
    if (!clean) {
      return err->code;
    }
    printf("%s\n", clean);
    free(clean);
    rest += length + (rest[length] == '\n');
  }
  return 0;
}

/* What there would have been instead of `name`. */
static int nothing_named(const struct arguments *a, const char *name, const char *const *names, struct error *err) {
  const char *near = config_nearest(name, names);
  return error_set(err, ERROR_USAGE, "%s: there is no '%s'%s%s%s; `pe-run show %s` lists what there is", a->file,
                   a->path, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "", a->file);
}

static int show_in_record(const struct arguments *a, const struct record *record, const char *name, struct error *err) {
  const struct tensor *tensor = name ? record_find(record, name) : NULL;
  if (!name || tensor) {
    return name ? show_one_tensor(a, record, tensor, err) : show_one_record(a, record, err);
  }
  const char **names = memory_new(record->count + 1, sizeof *names, "names", err);
  for (size_t i = 0; names && i < record->count; i++) {
    names[i] = record->tensors[i].name;
  }
  int status = names ? nothing_named(a, name, names, err) : (int)err->code;
  free(names);
  return status;
}

/* What the run printed for this experiment. */
static int print_stored_tables(const struct arguments *a, const struct results_file *file, const char *experiment,
                               struct error *err) {
  const struct results_text *text = results_find_text(file, "tables");
  struct stored_tables tables;
  if (!text) {
    return 0;
  }
  if (stored_tables_read(text->text, &tables, err)) {
    return err->code;
  }
  const struct experiment_tables *found = stored_tables_find(&tables, experiment);
  struct table_style style = output_style(a->format);
  int status = 0;
  for (size_t i = 0; found && !status && i < found->count; i++) {
    status = table_show(&found->tables[i], &style, stdout, err);
    printf("\n");
  }
  stored_tables_free(&tables);
  return status;
}

/* For people the run's own table and one per record, which is narrower; for programs one of all tensors. */
static int show_one_experiment(const struct arguments *a, const struct results_file *file,
                               const struct results_experiment *experiment, struct error *err) {
  struct table table = {0};
  if (a->format != TABLE_TERMINAL) {
    return print(&table, show_experiment(experiment, &table, err), a, err);
  }
  int status = print_stored_tables(a, file, experiment->label, err);
  for (size_t i = 0; !status && i < experiment->count; i++) {
    printf("%s", i ? "\n" : "");
    status = print(&table, show_record(experiment->records[i], a->format == TABLE_TERMINAL, &table, err), a, err);
  }
  return status;
}

static int show_in_experiment(const struct arguments *a, const struct results_file *file,
                              const struct results_experiment *experiment, char *part[PATH_PARTS], struct error *err) {
  if (!part[1]) {
    return show_one_experiment(a, file, experiment, err);
  }
  const struct record *record = results_find(file, part[0], part[1]);
  if (record) {
    return show_in_record(a, record, part[2], err);
  }
  const char **names = memory_new(experiment->count + 1, sizeof *names, "names", err);
  for (size_t i = 0; names && i < experiment->count; i++) {
    names[i] = experiment->records[i]->label;
  }
  int status = names ? nothing_named(a, part[1], names, err) : (int)err->code;
  free(names);
  return status;
}

static int show_in_run(const struct arguments *a, const struct results_file *file, const char *name,
                       struct error *err) {
  const struct results_text *text = results_find_text(file, name);
  if (text) {
    return show_text(text, err);
  }
  const char **names = memory_new(file->n_texts + 1, sizeof *names, "names", err);
  for (size_t i = 0; names && i < file->n_texts; i++) {
    names[i] = file->texts[i].name;
  }
  int status = names ? nothing_named(a, name, names, err) : (int)err->code;
  free(names);
  return status;
}

static int show_path(const struct arguments *a, const struct results_file *file, char *part[PATH_PARTS],
                     struct error *err) {
  struct table table = {0};
  if (!part[0] || (!strcmp(part[0], "run") && !part[1])) {
    return print(&table, a->format == TABLE_TERMINAL ? show_tree(file, &table, err) : show_file(file, &table, err), a,
                 err);
  }
  if (!strcmp(part[0], "run")) {
    return show_in_run(a, file, part[1], err);
  }
  for (size_t i = 0; i < file->n_experiments; i++) {
    if (!strcmp(file->experiments[i].label, part[0])) {
      return show_in_experiment(a, file, &file->experiments[i], part, err);
    }
  }
  const char **names = memory_new(file->n_experiments + 1, sizeof *names, "names", err);
  for (size_t i = 0; names && i < file->n_experiments; i++) {
    names[i] = file->experiments[i].label;
  }
  int status = names ? nothing_named(a, part[0], names, err) : (int)err->code;
  free(names);
  return status;
}

/* Cut "a/b/c" at its slashes; empty parts are left out. */
static int cut_path(const struct arguments *a, char *path, char *part[PATH_PARTS], struct error *err) {
  size_t count = 0;
  char *rest = NULL;
  for (char *next = strtok_r(path, "/", &rest); next; next = strtok_r(NULL, "/", &rest)) {
    if (count == PATH_PARTS) {
      return error_set(err, ERROR_USAGE, "'%s' has more than three parts; a tensor is EXPERIMENT/SCHEME/TENSOR",
                       a->path);
    }
    part[count++] = next;
  }
  return 0;
}

static int show(const struct arguments *a, struct error *err) {
  struct results_read results;
  char *part[PATH_PARTS] = {NULL};
  char *path = memory_copy_text(a->path ? a->path : "", err);
  int status = path ? cut_path(a, path, part, err) : (int)err->code;
  status = status ? status : results_read(a->file, &results, err);
  if (!status) {
    status = show_path(a, &results.file, part, err);
    results_read_free(&results);
  }
  free(path);
  return status;
}

int command_show(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {0};
  command_parse(&argp, argc, argv, &a);
  return show(&a, &err) ? command_fail(&err) : 0;
}
