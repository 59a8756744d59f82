#include "experiments/experiment.h"
#include "experiments/experiments.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct experiment *const experiments[] = {
    &experiment_encoding,  &experiment_equivariance, &experiment_relative_position,     &experiment_extrapolation,
    &experiment_attention, &experiment_claims,       &experiment_length_generalization, NULL};

static const struct experiment_info *const infos[] = {&experiment_encoding.info,
                                                      &experiment_equivariance.info,
                                                      &experiment_relative_position.info,
                                                      &experiment_extrapolation.info,
                                                      &experiment_attention.info,
                                                      &experiment_claims.info,
                                                      &experiment_length_generalization.info,
                                                      NULL};

static const char *const role_names[] = {
    [ROLE_CONTROL] = "control",       [ROLE_MODEL] = "the model",     [ROLE_MAPPED] = "the model, positions mapped",
    [ROLE_SWAPPED_IN] = "swapped in", [ROLE_UNTRAINED] = "untrained",
};

const struct experiment *const *experiment_list(void) {
  return experiments;
}

const struct experiment_info *const *experiment_infos(void) {
  return infos;
}

const struct experiment *experiment_find(const char *id) {
  for (size_t i = 0; experiments[i]; i++) {
    if (!strcmp(experiments[i]->info.id, id)) {
      return experiments[i];
    }
  }
  return NULL;
}

uint64_t experiment_default_seeds(const char *id) {
  const struct experiment *experiment = experiment_find(id);
  return experiment && experiment->default_seeds ? experiment->default_seeds : 1;
}

void experiment_scheme_defaults(const struct plan_experiment *entry, const struct scheme_info *scheme,
                                struct section *params) {
  const struct experiment *experiment = experiment_find(entry->info->id);
  if (experiment && experiment->scheme_defaults) {
    experiment->scheme_defaults(entry->keys, scheme, params);
  }
}

int experiment_check(const struct plan *plan, const struct plan_experiment *entry, struct error *err) {
  const struct experiment *experiment = experiment_find(entry->info->id);
  return experiment && experiment->check ? experiment->check(plan, entry, err) : 0;
}

const char *scheme_role_name(enum scheme_role role) {
  return role_names[role];
}

enum scheme_role record_role(const struct record *record) {
  const struct attribute *attribute = attributes_find(&record->attributes, "role");
  for (size_t i = 0; attribute && i < sizeof role_names / sizeof *role_names; i++) {
    if (!strcmp(attribute->text, role_names[i])) {
      return (enum scheme_role)i;
    }
  }
  assert(!attribute);
  return ROLE_UNTRAINED;
}

void conclusion_free(struct conclusion *conclusion) {
  for (size_t i = 0; i < conclusion->n_comparisons; i++) {
    record_free(&conclusion->comparisons[i]);
  }
  for (size_t i = 0; i < conclusion->n_tables; i++) {
    table_free(&conclusion->tables[i]);
  }
  free(conclusion->comparisons);
  free(conclusion->tables);
  *conclusion = (struct conclusion){0};
}
