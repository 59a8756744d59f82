#include "commands/dry_run.h"

#include "base/memory.h"

#include <stdlib.h>

static int fill(const struct plan *plan, const bool *selected, const bool *held, struct table *table,
                struct error *err) {
  size_t n_selected = 0, n_held = 0;
  int status = table_title(table, err, "Jobs of this run");
  status = status ? status : table_column(table, "job", "job", false, false, err);
  status = status ? status : table_column(table, "state", "state", false, false, err);
  for (size_t i = 0; !status && i < plan->n_jobs; i++) {
    char *id = selected[i] ? plan_job_id(plan, &plan->jobs[i], err) : NULL;
    if (!selected[i]) {
      continue;
    }
    status = id ? table_text(table, err, "%s", id) : (int)err->code;
    status = status ? status : table_text(table, err, "%s", held[i] ? "kept" : "to do");
    n_selected++;
    n_held += held[i];
    free(id);
  }
  return status ? status
                : table_note(table, err, "%zu of %zu jobs selected: %zu kept, %zu to do", n_selected, plan->n_jobs,
                             n_held, n_selected - n_held);
}

int dry_run(const struct plan *plan, const struct run_options *options, struct error *err) {
  struct table table = {0};
  bool *selected = memory_new(plan->n_jobs, sizeof *selected, "jobs", err);
  bool *held = selected ? memory_new(plan->n_jobs, sizeof *held, "jobs", err) : NULL;
  int status = held ? execute_look(plan, &options->execute, selected, held, err) : (int)err->code;
  status = status ? status : fill(plan, selected, held, &table, err);
  status = status ? status : table_show(&table, &options->execute.style, stdout, err);
  table_free(&table);
  free(held);
  free(selected);
  return status;
}
