#include "jobs/conclude.h"

#include "base/memory.h"
#include "jobs/decide.h"
#include "jobs/expect.h"
#include "jobs/grid.h"
#include "jobs/job_key.h"
#include "jobs/stack.h"

#include <stdlib.h>

/* What is left of a record whose tensors are in another one. */
static void strip(struct record *record) {
  struct record rest = {.seed = record->seed, .status = record->status};
  record_free(record);
  *record = rest;
}

/* Records of one experiment and scheme over its seeds, in the plan's order, become one. Theirs are released, so that
 * memory holds each number once. */
static int stack_seeds(const struct plan *plan, const struct run *run, size_t experiment, size_t scheme,
                       struct record *out, struct error *err) {
  const struct record **parts = memory_new(plan->n_jobs, sizeof *parts, "records", err);
  struct record **own = parts ? memory_new(plan->n_jobs, sizeof *own, "records", err) : NULL;
  int status = own ? 0 : (int)err->code;
  size_t count = 0;
  for (size_t i = 0; !status && i < plan->n_jobs; i++) {
    if (plan->jobs[i].experiment == experiment && plan->jobs[i].scheme == scheme) {
      own[count] = &run->records[i];
      parts[count++] = &run->records[i];
    }
  }
  if (!status && count == 1) { /* as it is */
    *out = *own[0];
    *own[0] = (struct record){.seed = out->seed, .status = out->status};
  } else if (!status) {
    status = record_stack(parts, count, out, err);
    for (size_t i = 0; i < count; i++) {
      strip(own[i]);
    }
  }
  free(own);
  free(parts);
  return status;
}

static int conclude_experiment(const struct plan *plan, const struct run *run, size_t index, struct run_experiment *out,
                               struct error *err) {
  const struct plan_experiment *entry = &plan->experiments[index];
  out->schemes = memory_new(plan->n_schemes, sizeof *out->schemes, "records", err);
  const struct record **records = out->schemes ? memory_new(plan->n_schemes, sizeof *records, "records", err) : NULL;
  int status = records ? 0 : (int)err->code;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    status = stack_seeds(plan, run, index, s, &out->schemes[s], err);
    records[s] = &out->schemes[s];
  }
  const struct experiment *experiment = experiment_find(entry->info->id);
  if (!status && experiment->conclude) {
    status = experiment->conclude(plan, entry, records, &out->conclusion, err);
  }
  free(records);
  return status;
}

/* An experiment's records for the decision. */
static struct decide_source source_of(const struct plan_experiment *entry, const struct run_experiment *run) {
  struct decide_source source = {.experiment = entry->label, .records = run->schemes, .trained = entry->info->trains};
  for (size_t i = 0; i < run->conclusion.n_comparisons && source.trained && !source.learned; i++) {
    const struct attributes *attributes = &run->conclusion.comparisons[i].attributes;
    const struct attribute *learned = attributes_find(attributes, "learned");
    const struct attribute *length = attributes_find(attributes, "train_length");
    source.learned = learned && length ? learned->text : NULL;
    source.train_length = length ? length->real : 0;
  }
  return source;
}

/* The key of what was decided, beside the verdict: whoever has the same one has the same decision. */
static int sign(const struct plan *plan, struct run *run, const struct evidence *evidence, struct error *err) {
  char key[HASH_TEXT];
  int status = decision_key(plan, run->digests, evidence->digest, key, err);
  return status ? status : attributes_set_text(&run->decision.conclusion.comparisons[0].attributes, "key", key, err);
}

/* What the plan decides, from the records of all experiments. */
static int decide(const struct plan *plan, struct run *run, struct error *err) {
  struct decide_source *sources = memory_new(plan->n_experiments + 1, sizeof *sources, "decision", err);
  struct evidence evidence = {0};
  run->decision.schemes = sources ? memory_new(plan->n_schemes, sizeof *run->decision.schemes, "records", err) : NULL;
  int status = run->decision.schemes ? 0 : (int)err->code;
  size_t n = plan->n_experiments;
  for (size_t i = 0; !status && i < n; i++) {
    sources[i] = source_of(&plan->experiments[i], &run->experiments[i]);
  }
  if (!status && plan->decision->trained) {
    status = evidence_open(plan, &evidence, err);
    sources[n++] =
        (struct decide_source){PLAN_TRAINED, evidence.records, true, evidence.train_length, evidence.learned};
  }
  struct decide_result result = {.plan = plan};
  status = status ? status : decide_judge(plan, sources, n, &result, err);
  if (!status) {
    result.evidence = evidence.records ? &evidence : NULL;
    run->n_broken += result.unjudged;
    status = decide_write(&result, run->decision.schemes, &run->decision.conclusion, err);
    decide_free(&result);
  }
  status = status ? status : sign(plan, run, &evidence, err);
  evidence_close(&evidence);
  free(sources);
  return status;
}

int run_conclude(const struct plan *plan, struct run *run, struct error *err) {
  run->experiments = memory_new(plan->n_experiments, sizeof *run->experiments, "experiments", err);
  if (!run->experiments) {
    return err->code;
  }
  for (size_t i = 0; i < plan->n_experiments; i++) {
    int status = conclude_experiment(plan, run, i, &run->experiments[i], err);
    if (status) {
      return status;
    }
  }
  int status = run_expect(plan, run, err);
  status = status ? status : grid_conclude(plan, run, &run->grid, err);
  return !status && plan->decision ? decide(plan, run, err) : status;
}

void run_free(const struct plan *plan, struct run *run) {
  for (size_t i = 0; run->records && i < plan->n_jobs; i++) {
    record_free(&run->records[i]);
  }
  for (size_t i = 0; run->experiments && i < plan->n_experiments; i++) {
    for (size_t s = 0; run->experiments[i].schemes && s < plan->n_schemes; s++) {
      record_free(&run->experiments[i].schemes[s]);
    }
    free(run->experiments[i].schemes);
    conclusion_free(&run->experiments[i].conclusion);
  }
  for (size_t s = 0; run->decision.schemes && s < plan->n_schemes; s++) {
    record_free(&run->decision.schemes[s]);
  }
  free(run->decision.schemes);
  conclusion_free(&run->decision.conclusion);
  conclusion_free(&run->grid);
  free(run->records);
  free(run->digests);
  free(run->experiments);
  *run = (struct run){0};
}
