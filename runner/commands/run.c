/* pe-run run CONFIG [key=value ...] */
#include "jobs/run.h"
#include "commands/commands.h"
#include "commands/provenance.h"
#include "commands/session.h"
#include "commands/without_file.h"
#include "experiments/experiment.h"
#include "results/results.h"
#include "results/stored_tables.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
  struct session_options session;
  const char *config;
  const char **overrides;
  size_t n_overrides;
  int quiet, reference;
  unsigned threads; /* 0: as many as cores */
};

enum { OPTION_REFERENCE = 0x200, OPTION_THREADS };

static const struct argp_option options[] = {
    {"quiet", 'q', NULL, 0, "no progress", 1},
    {"reference", OPTION_REFERENCE, NULL, 0, "attention in plain float64 arithmetic (slow)", 1},
    {"threads", OPTION_THREADS, "N", 0, "threads to use (default: cores); results do not depend on it", 1},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->session;
    return 0;
  case 'q':
    a->quiet = 1;
    return 0;
  case OPTION_REFERENCE:
    a->reference = 1;
    return 0;
  case OPTION_THREADS: {
    char *end;
    unsigned long n = strtoul(argument, &end, 10);
    if (*end || *argument == '-' || n < 1 || n > 1024) {
      argp_error(state, "--threads: '%s' is not a whole number from 1 to 1024", argument);
    }
    a->threads = (unsigned)n;
    return 0;
  }
  case ARGP_KEY_ARG:
    if (!a->config) {
      a->config = argument;
    } else {
      a->overrides[a->n_overrides++] = argument;
    }
    return 0;
  case ARGP_KEY_END:
    if (!a->config) {
      argp_error(state, "no CONFIG given");
    }
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "CONFIG [KEY=VALUE ...]",
    .doc = "Run the experiments of a YAML config on its schemes; print a table each and write one HDF5 file.\v"
           "KEY=VALUE overrides a key of the config: seed=7 extrapolation.lengths=[512,1024] rope.base=5e5.\n"
           "Without a file, an experiment is run on schemes with random weights: extrapolation rope alibi "
           "lengths=[128,512].\n"
           "Exit codes: 0 all jobs done, 1 a job failed or an expectation did not hold, 2 usage or config, 3 a plugin "
           "was refused, 4 a file could not be "
           "read or written, 70 internal error.",
    .children = children,
};

/* The experiments as the results file wants them: scheme records, then comparisons that hold anything. */
static void collect(const struct plan *plan, const struct run *run, struct results_experiment *experiments,
                    const struct record **records) {
  for (size_t i = 0; i < plan->n_experiments; i++) {
    const struct run_experiment *from = &run->experiments[i];
    struct results_experiment *to = &experiments[i];
    *to = (struct results_experiment){.label = plan->experiments[i].label,
                                      .title = plan->experiments[i].info->title,
                                      .records = records,
                                      .shown = plan->schemes[0].label};
    for (size_t s = 0; s < plan->n_schemes; s++) {
      if (from->schemes[s].status != RECORD_NOT_RUN) {
        records[to->count++] = &from->schemes[s];
      }
    }
    for (size_t c = 0; c < from->conclusion.n_comparisons; c++) {
      if (from->conclusion.comparisons[c].count) {
        records[to->count++] = &from->conclusion.comparisons[c];
        to->shown = "comparison";
      }
    }
    records += to->count;
  }
}

/* The tables of all experiments as a text for the file. NULL with ERROR_MEMORY. */
static char *tables_text(const struct plan *plan, const struct run *run, struct error *err) {
  struct experiment_tables *list = memory_new(plan->n_experiments, sizeof *list, "tables", err);
  for (size_t i = 0; list && i < plan->n_experiments; i++) {
    const struct conclusion *conclusion = &run->experiments[i].conclusion;
    list[i] = (struct experiment_tables){plan->experiments[i].label, conclusion->tables, conclusion->n_tables};
  }
  char *text = list ? stored_tables_write(list, plan->n_experiments, err) : NULL;
  free(list);
  return text;
}

static int write_results(const struct plan *plan, const struct run *run, struct session *session, struct error *err) {
  size_t most = plan->n_schemes;
  for (size_t i = 0; i < plan->n_experiments; i++) {
    most = most > plan->n_schemes + run->experiments[i].conclusion.n_comparisons
               ? most
               : plan->n_schemes + run->experiments[i].conclusion.n_comparisons;
  }
  struct results_experiment *experiments = memory_new(plan->n_experiments, sizeof *experiments, "results", err);
  const struct record **records =
      experiments ? memory_new(plan->n_experiments, most * sizeof *records, "results", err) : NULL;
  struct provenance provenance = {0};
  int status = records ? 0 : (int)err->code;
  if (!status) {
    collect(plan, run, experiments, records);
    status = provenance_collect(plan, session->host, &provenance, err);
  }
  char *tables = status ? NULL : tables_text(plan, run, err);
  status = status ? status : (tables ? 0 : (int)err->code);
  if (!status) {
    struct results_text texts[PROVENANCE_TEXTS + 1];
    memcpy(texts, provenance.texts, provenance.count * sizeof *texts);
    texts[provenance.count] = (struct results_text){.name = "tables", .text = tables, .json = true};
    struct results_file file = {.title = plan->title,
                                .status = "complete",
                                .experiments = experiments,
                                .n_experiments = plan->n_experiments,
                                .shown = plan->experiments[0].label,
                                .texts = texts,
                                .n_texts = provenance.count + 1};
    status = results_write(plan->output, &file, err);
  }
  free(tables);
  provenance_free(&provenance);
  free(experiments);
  free(records);
  return status;
}

static int show_tables(const struct arguments *a, const struct plan *plan, const struct run *run, struct error *err) {
  struct table_style style = session_style(&a->session);
  for (size_t i = 0; i < plan->n_experiments; i++) {
    const struct conclusion *conclusion = &run->experiments[i].conclusion;
    for (size_t t = 0; t < conclusion->n_tables; t++) {
      if (table_rows(&conclusion->tables[t]) == 0) {
        continue;
      }
      int status = table_show(&conclusion->tables[t], &style, stdout, err);
      if (status) {
        return status;
      }
    }
  }
  return 0;
}

static void warn(void *context, const char *text) {
  if (context) {
    progress_say(context, text);
  } else {
    fprintf(stderr, "%s\n", text);
  }
}

/* Jobs that gave no numbers, said once more after the tables, where they are not scrolled away. */
static int tell_failures(const struct plan *plan, const struct run *run) {
  for (size_t i = 0; i < plan->n_jobs; i++) {
    const struct record *record = &run->records[i];
    if (record->status == RECORD_FAILED) {
      fprintf(stderr, "pe-run: %s/%s failed: error[%s]: %s\n", record->experiment, record->label,
              error_id(record->error.code), record->error.text);
    } else if (record->status == RECORD_UNDEFINED) {
      fprintf(stderr, "pe-run: %s/%s undefined: %s\n", record->experiment, record->label, record->error.text);
    }
  }
  return run->n_failed || run->n_broken ? 1 : 0;
}

static int run_plan(const struct arguments *a, const struct plan *plan, struct session *session) {
  struct error err = {0};
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  struct progress *progress = NULL;
  int status = results_prepare(plan->output, &err);
  if (!status && !a->quiet) {
    progress = progress_new(stderr, plan->n_jobs, isatty(STDERR_FILENO) != 0, &err);
    status = progress ? 0 : (int)err.code;
  }
  struct run_setting setting = {.host = session->host,
                                .threads = a->threads ? a->threads : (unsigned)(cores > 0 ? cores : 1),
                                .reference = a->reference != 0,
                                .messages = {warn, progress},
                                .progress = progress};
  struct run run = {0};
  status = status ? status : run_jobs(plan, &setting, &run, &err);
  status = status ? status : run_conclude(plan, &run, &err);
  progress_free(progress);
  status = status ? status : write_results(plan, &run, session, &err);
  status = status ? status : show_tables(a, plan, &run, &err);
  int code = status ? command_fail(&err) : tell_failures(plan, &run);
  if (!status && a->session.format == TABLE_TERMINAL) {
    printf("%s\n", plan->output);
  }
  run_free(plan, &run);
  return code;
}

/* The plan of a config file, or of a run without one: `extrapolation rope alibi lengths=[128,512]`. */
static struct plan *load(const struct arguments *a, struct session *session, int *code) {
  const struct experiment *experiment = experiment_find(a->config);
  if (!experiment || access(a->config, F_OK) == 0) {
    return session_plan(session, a->config, NULL, a->overrides, a->n_overrides, code);
  }
  struct error err = {0};
  struct without_file config;
  if (without_file_new(experiment, a->overrides, a->n_overrides, &config, &err)) {
    *code = command_fail(&err);
    return NULL;
  }
  struct plan *plan =
      session_plan(session, NULL, config.text, (const char *const *)config.overrides, config.n_overrides, code);
  without_file_free(&config);
  char *text = plan && !a->quiet ? plan_print(plan, true, &err) : NULL;
  if (text) {
    fprintf(stderr, "# The config of this run; `pe-run run` on it does the same.\n%s", text);
  }
  free(text);
  return plan;
}

int command_run(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {0};
  a.overrides = memory_new((size_t)argc, sizeof *a.overrides, "arguments", &err);
  if (!a.overrides) {
    return command_fail(&err);
  }
  argp_err_exit_status = 2;
  argp_parse(&argp, argc, argv, 0, NULL, &a);
  struct session session;
  int code = session_open(&a.session, &session);
  struct plan *plan = code ? NULL : load(&a, &session, &code);
  if (plan) {
    code = run_plan(&a, plan, &session);
  }
  plan_free(plan);
  session_close(&session);
  free(a.overrides);
  return code;
}
