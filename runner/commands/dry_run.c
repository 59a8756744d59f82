#include "commands/dry_run.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* "3.4 G", "120 k", "-" where it is not known. */
static int put_amount(struct table *table, double amount, struct error *err) {
  static const char prefixes[] = " kMGTPE";
  size_t prefix = 0;
  double shown = amount;
  char text[40] = "-";
  while (shown >= 1000 && prefix + 2 < sizeof prefixes) {
    shown /= 1000;
    prefix++;
  }
  if (!isnan(amount) && prefix) {
    snprintf(text, sizeof text, "%.3g %c", shown, prefixes[prefix]);
  } else if (!isnan(amount)) {
    snprintf(text, sizeof text, "%.3g", shown);
  }
  return table_number_as(table, amount, err, "%s", text);
}

static int put_job(const struct plan *plan, size_t job, const struct job_outlook *outlook, struct table *table,
                   struct error *err) {
  char *id = plan_job_id(plan, &plan->jobs[job], err);
  int status = id ? table_text(table, err, "%s", id) : (int)err->code;
  status = status ? status : table_text(table, err, "%s", outlook->held ? "kept" : "to do");
  status = status ? status : put_amount(table, outlook->estimate.operations, err);
  status = status ? status : put_amount(table, outlook->estimate.bytes, err);
  free(id);
  return status;
}

static int fill(const struct plan *plan, const struct job_outlook *outlook, struct table *table, struct error *err) {
  size_t n_selected = 0, n_held = 0;
  double operations = 0, bytes = 0;
  int status = table_title(table, err, "Jobs of this run");
  status = status ? status : table_column(table, "job", "job", false, false, err);
  status = status ? status : table_column(table, "state", "state", false, false, err);
  status = status ? status : table_column(table, "operations", "operations", true, false, err);
  status = status ? status : table_column(table, "bytes", "bytes", true, false, err);
  for (size_t i = 0; !status && i < plan->n_jobs; i++) {
    if (!outlook[i].selected) {
      continue;
    }
    status = put_job(plan, i, &outlook[i], table, err);
    n_selected++;
    n_held += outlook[i].held;
    if (!outlook[i].held && !isnan(outlook[i].estimate.operations)) {
      operations += outlook[i].estimate.operations;
      bytes = fmax(bytes, outlook[i].estimate.bytes);
    }
  }
  status = status ? status
                  : table_note(table, err, "%zu of %zu jobs selected: %zu kept, %zu to do", n_selected, plan->n_jobs,
                               n_held, n_selected - n_held);
  return status
             ? status
             : table_note(table, err,
                          "Estimates: floating-point operations of projections, attention and training, and bytes of "
                          "the tensors that a job holds at once; the scheme's own work is left out. To do: %.3g "
                          "operations in all, %.3g bytes in the largest job",
                          operations, bytes);
}

int dry_run(const struct plan *plan, const struct run_options *options, struct error *err) {
  struct table table = {0};
  struct job_outlook *outlook = memory_new(plan->n_jobs, sizeof *outlook, "jobs", err);
  int status = outlook ? execute_look(plan, &options->execute, outlook, err) : (int)err->code;
  status = status ? status : fill(plan, outlook, &table, err);
  status = status ? status : table_show(&table, &options->execute.style, stdout, err);
  table_free(&table);
  free(outlook);
  return status;
}
