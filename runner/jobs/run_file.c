#include "jobs/run_file.h"

#include "base/hash.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "jobs/provenance.h"
#include "results/results.h"
#include "results/stored_tables.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_TEXTS = 2 };

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

/* What was decided, as one more experiment. `records` has room for the schemes and the comparisons. */
static void collect_decision(const struct plan *plan, const struct run *run, struct results_experiment *out,
                             const struct record **records) {
  *out =
      (struct results_experiment){.label = "decision", .title = plan->title, .records = records, .shown = "comparison"};
  for (size_t s = 0; s < plan->n_schemes; s++) {
    records[out->count++] = &run->decision.schemes[s];
  }
  for (size_t c = 0; c < run->decision.conclusion.n_comparisons; c++) {
    records[out->count++] = &run->decision.conclusion.comparisons[c];
  }
}

/* The grids, as one more experiment. `records` has room for them. */
static void collect_grid(const struct run *run, struct results_experiment *out, const struct record **records) {
  *out = (struct results_experiment){
      .label = "grid", .title = "Trained with x applied", .records = records, .shown = run->grid.comparisons[0].label};
  for (size_t c = 0; c < run->grid.n_comparisons; c++) {
    records[out->count++] = &run->grid.comparisons[c];
  }
}

/* The tables of all experiments as a text for the file. NULL with ERROR_MEMORY. */
static char *tables_text(const struct plan *plan, const struct run *run, struct error *err) {
  size_t count = plan->n_experiments;
  struct experiment_tables *list = memory_new(count + 2, sizeof *list, "tables", err);
  for (size_t i = 0; list && i < plan->n_experiments; i++) {
    const struct conclusion *conclusion = &run->experiments[i].conclusion;
    list[i] = (struct experiment_tables){plan->experiments[i].label, conclusion->tables, conclusion->n_tables};
  }
  if (list && run->grid.n_tables) {
    list[count++] = (struct experiment_tables){"grid", run->grid.tables, run->grid.n_tables};
  }
  if (list && plan->decision) {
    const struct conclusion *conclusion = &run->decision.conclusion;
    list[count++] = (struct experiment_tables){"decision", conclusion->tables, conclusion->n_tables};
  }
  char *text = list ? stored_tables_write(list, count, err) : NULL;
  free(list);
  return text;
}

/* Which jobs can be taken from the file again, by their keys. NULL with ERROR_MEMORY. */
static char *jobs_text(const struct plan *plan, const struct run_job *jobs, const char *environment,
                       struct error *err) {
  char made_by[HASH_TEXT];
  if (hash_bytes(environment, strlen(environment), made_by, err)) {
    return NULL;
  }
  json_t *list = json_array();
  for (size_t i = 0; list && i < plan->n_jobs; i++) {
    const struct job *job = &plan->jobs[i];
    if (!jobs[i].key[0]) {
      continue;
    }
    /* place: among the seeds of the record, which are one after the other. Seeds beyond int64 keep their bits, as
     * everywhere in the file. */
    json_t *item = json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s}", "experiment",
                             plan->experiments[job->experiment].label, "scheme", plan->schemes[job->scheme].label,
                             "seed", (json_int_t)job->seed, "place", (json_int_t)(job->seed - plan->seed), "key",
                             jobs[i].key, "digest", jobs[i].digest, "environment", made_by);
    if (!item || json_array_append_new(list, item)) {
      json_decref(list);
      list = NULL;
    }
  }
  char *text = json_to_text(list, JSON_INDENT(1), err);
  json_decref(list);
  if (!text) {
    error_set(err, ERROR_MEMORY, "the list of jobs: memory is not to be had");
  }
  return text;
}

static int write_file(const struct plan *plan, const struct run_file *file,
                      const struct results_experiment *experiments, size_t n_experiments,
                      const struct provenance *provenance, const char *tables, const char *jobs, struct error *err) {
  struct results_text texts[PROVENANCE_TEXTS + MORE_TEXTS];
  memcpy(texts, provenance->texts, provenance->count * sizeof *texts);
  texts[provenance->count] = (struct results_text){.name = "tables", .text = tables, .json = true};
  texts[provenance->count + 1] = (struct results_text){.name = "jobs", .text = jobs, .json = true};
  const struct results_file results = {.title = plan->title,
                                       .status = file->whole ? "complete" : "partial",
                                       .experiments = experiments,
                                       .n_experiments = n_experiments,
                                       .shown = plan->experiments[0].label,
                                       .texts = texts,
                                       .n_texts = provenance->count + MORE_TEXTS};
  return results_write_checked(file->path, &results, err);
}

int run_file_write(const struct plan *plan, const struct run *run, const struct run_file *file, struct error *err) {
  size_t most = 0;
  for (size_t i = 0; i < plan->n_experiments; i++) {
    most += plan->n_schemes + run->experiments[i].conclusion.n_comparisons;
  }
  struct provenance provenance = {0};
  struct results_experiment *experiments = memory_new(plan->n_experiments + 2, sizeof *experiments, "results", err);
  const struct record **records =
      experiments
          ? memory_new(most + run->grid.n_comparisons + plan->n_schemes + run->decision.conclusion.n_comparisons,
                       sizeof *records, "results", err)
          : NULL;
  char *tables = records ? tables_text(plan, run, err) : NULL;
  char *jobs = tables ? jobs_text(plan, file->jobs, file->environment, err) : NULL;
  int status = jobs ? provenance_collect(plan, file->environment, &provenance, err) : (int)err->code;
  if (!status) {
    size_t n = plan->n_experiments;
    collect(plan, run, experiments, records);
    if (run->grid.n_comparisons) {
      collect_grid(run, &experiments[n++], records + most);
    }
    if (plan->decision) {
      collect_decision(plan, run, &experiments[n++], records + most + run->grid.n_comparisons);
    }
    status = write_file(plan, file, experiments, n, &provenance, tables, jobs, err);
  }
  provenance_free(&provenance);
  free(jobs);
  free(tables);
  free(records);
  free(experiments);
  return status;
}
