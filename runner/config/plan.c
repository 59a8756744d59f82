#include "config/plan.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>

char *plan_job_id(const struct plan *plan, const struct job *job, struct error *err) {
  struct text text = {0};
  text_printf(&text, "%s/%s", plan->experiments[job->experiment].label, plan->schemes[job->scheme].label);
  if (plan->experiments[job->experiment].n_seeds > 1) {
    text_printf(&text, "/%" PRIu64, job->seed);
  }
  return text_take(&text, err);
}

static void scheme_free(struct plan_scheme *scheme) {
  for (size_t i = 0; scheme->tensors && i < scheme->info->n_tensors; i++) {
    key_value_clear(&scheme->tensors[i]);
  }
  free(scheme->tensors);
  section_free(scheme->params);
  free(scheme->plugin);
  free(scheme->weights);
  free(scheme->other_scheme);
}

static void decision_free(struct plan_decision *decision) {
  if (!decision) {
    return;
  }
  for (size_t i = 0; i < decision->n_conditions; i++) {
    free(decision->conditions[i].measure.text);
  }
  if (decision->rank) {
    free(decision->rank->measure.text);
  }
  free(decision->conditions);
  free(decision->rank);
  free(decision->stated);
  section_free(decision->keys);
  free(decision);
}

void plan_free(struct plan *plan) {
  if (!plan) {
    return;
  }
  for (size_t i = 0; i < plan->n_schemes; i++) {
    scheme_free(&plan->schemes[i]);
  }
  for (size_t i = 0; i < plan->n_experiments; i++) {
    section_free(plan->experiments[i].keys);
    free(plan->experiments[i].weights);
  }
  for (size_t i = 0; i < plan->n_expectations; i++) {
    free(plan->expectations[i].text);
  }
  free(plan->expectations);
  decision_free(plan->decision);
  free(plan->schemes);
  free(plan->experiments);
  free(plan->jobs);
  section_free(plan->model);
  free(plan->title);
  free(plan->output);
  free(plan->config_path);
  free(plan->config_text);
  free(plan);
}
