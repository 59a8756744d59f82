#include "jobs/job_run.h"

#include "config/section_text.h"
#include "experiments/common.h"
#include "experiments/experiment.h"
#include "results/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_positions_text(const struct plan_scheme *scheme, char out[JOB_VARIANT]) {
  static const char *const names[] = {
      [POSITION_AS_IS] = "",      [POSITION_OFFSET] = "offset", [POSITION_DIVIDE] = "divide",
      [POSITION_CLAMP] = "clamp", [POSITION_WRAP] = "wrap",     [POSITION_SHUFFLED] = "shuffled"};
  const struct position_map *map = &scheme->map;
  if (map->kind == POSITION_AS_IS || map->kind == POSITION_SHUFFLED) {
    snprintf(out, JOB_VARIANT, "%s", names[map->kind]);
  } else if (map->automatic) {
    snprintf(out, JOB_VARIANT, "%s: auto", names[map->kind]);
  } else {
    snprintf(out, JOB_VARIANT, "%s: %.17g", names[map->kind], map->value);
  }
}

void job_layers_text(const struct plan_scheme *scheme, char out[JOB_VARIANT]) {
  out[0] = '\0';
  if (scheme->other_every) {
    snprintf(out, JOB_VARIANT, "every %zu: %s", scheme->other_every, scheme->other_scheme);
  }
}

static int name_variant(const struct plan_scheme *scheme, struct attributes *attributes, struct error *err) {
  char positions[JOB_VARIANT], layers[JOB_VARIANT];
  job_positions_text(scheme, positions);
  job_layers_text(scheme, layers);
  int status = positions[0] ? attributes_set_text(attributes, "positions", positions, err) : 0;
  return !status && layers[0] ? attributes_set_text(attributes, "layers", layers, err) : status;
}

int job_record_name(const struct plan *plan, const struct job *job, struct record *record, struct error *err) {
  const struct plan_experiment *experiment = &plan->experiments[job->experiment];
  const struct plan_scheme *scheme = &plan->schemes[job->scheme];
  const struct scheme_info *info = scheme->info;
  *record = (struct record){.seed = job->seed, .status = RECORD_NOT_RUN};
  snprintf(record->experiment, sizeof record->experiment, "%s", experiment->label);
  snprintf(record->label, sizeof record->label, "%s", scheme->label);
  snprintf(record->title, sizeof record->title, "%s: %s", experiment->label, scheme->label);
  char *params = config_section_to_json(scheme->params, err);
  if (!params) {
    return err->code;
  }
  struct attributes *attributes = &record->attributes;
  int status = attributes_set_text(attributes, "scheme", info->id, err);
  status = status ? status : attributes_set_text(attributes, "scheme_title", info->title, err);
  status = status ? status : attributes_set_text(attributes, "reference", info->reference, err);
  status = status ? status : attributes_set_int(attributes, "scheme_version", info->version, err);
  status = status ? status : attributes_set_text(attributes, "plugin", info->plugin_name, err);
  status = status ? status : attributes_set_text(attributes, "plugin_version", info->plugin_version, err);
  status = status ? status : attributes_set_text(attributes, "plugin_sha256", info->sha256, err);
  status = status ? status : attributes_set_text(attributes, "params", params, err);
  status = status ? status : name_variant(scheme, attributes, err);
  free(params);
  return status;
}

/* A scheme that is meant for a causal mask runs without one, but says so. */
static int warn_of_mask(const struct job_setting *setting, const struct plan_experiment *experiment,
                        const struct plan_scheme *scheme, const struct model *model, const struct instance *instance,
                        struct record *record, struct error *err) {
  if (!(instance_traits(instance) & PE_TRAIT_CAUSAL_ONLY)) {
    return 0;
  }
  bool without = true; /* relative_position scores all pairs */
  for (size_t i = 0; i < experiment->info->keys->count; i++) {
    const struct key_value *mask = &experiment->keys->values[i];
    if (strcmp(experiment->info->keys->keys[i].key, "mask")) {
      continue;
    }
    without = mask->is_auto ? !model->trained.mask || strcmp(model->trained.mask, "causal") != 0 : false;
    for (size_t m = 0; !mask->is_auto && m < mask->count; m++) {
      without = without || mask->list[m] == 0;
    }
    without = without || (!mask->is_auto && mask->count == 0 && mask->integer == 0);
  }
  if (!without) {
    return 0;
  }
  char text[320];
  snprintf(text, sizeof text, "%s/%s: this scheme is meant for a causal mask; without one future keys are biased too",
           experiment->label, scheme->label);
  if (setting->messages.warn) {
    setting->messages.warn(setting->messages.context, text);
  }
  return attributes_set_text(&record->attributes, "warning", text, err);
}

/* An experiment that trains makes its own models and instances. */
static int run_training(const struct job_setting *setting, const struct job *job, struct record *record,
                        struct error *err) {
  const struct plan *plan = setting->plan;
  const struct plan_experiment *entry = &plan->experiments[job->experiment];
  const struct plan_scheme *scheme = &plan->schemes[job->scheme];
  struct given_tensors given = {0};
  const struct scheme *plugin = job_find_scheme(setting->host, scheme->info, err);
  int status = plugin ? given_tensors_read(scheme, &given, err) : (int)err->code;
  enum scheme_role role = scheme->info->sites ? ROLE_MODEL : ROLE_CONTROL;
  status = status ? status : attributes_set_text(&record->attributes, "role", scheme_role_name(role), err);
  if (!status) {
    struct experiment_context context = {.plan = plan,
                                         .entry = entry,
                                         .scheme_entry = scheme,
                                         .role = role,
                                         .seed = job->seed,
                                         .host = setting->host,
                                         .plugin = plugin,
                                         .tensors = given.sources,
                                         .state_path = setting->state_path,
                                         .pool = setting->pool,
                                         .progress = setting->progress,
                                         .progress_context = setting->progress_context};
    status = experiment_find(entry->info->id)->run(&context, record, err);
  }
  given_tensors_free(&given);
  return status;
}

static int run_experiment(const struct job_setting *setting, const struct job *job, const struct model *model,
                          struct record *record, struct error *err) {
  const struct plan *plan = setting->plan;
  const struct plan_experiment *entry = &plan->experiments[job->experiment];
  const struct plan_scheme *scheme = &plan->schemes[job->scheme];
  struct job_instances instances;
  if (entry->info->trains) {
    return run_training(setting, job, record, err);
  }
  if (scheme->other_every) {
    return error_set(err, ERROR_JOB_SETUP,
                     "%s: layers: %s looks at one layer; mixed stacks exist where models are trained "
                     "(length_generalization)",
                     scheme->label, entry->info->id);
  }
  int status = job_instances_new(setting->host, scheme, model, job_train_length(entry, model), job->seed,
                                 experiment_find(entry->info->id)->wants_shuffled, &setting->messages, &instances, err);
  if (status) {
    return status;
  }
  struct experiment_context context = {
      .plan = plan,
      .entry = entry,
      .scheme_entry = scheme,
      .role = instances.role,
      .seed = job->seed,
      .model = model,
      .scheme = instances.scheme,
      .none = instances.none,
      .shuffled = instances.shuffled,
      .trained = instances.trained,
      .pool = setting->pool,
      .projections = setting->projections,
      .reference = setting->reference,
      .progress = setting->progress,
      .progress_context = setting->progress_context,
  };
  status = attributes_set_text(&record->attributes, "role", scheme_role_name(instances.role), err);
  if (!status && model->trained.scheme && model->trained.scheme[0]) {
    status = attributes_set_text(&record->attributes, "trained_with", model->trained.scheme, err);
  }
  if (!status) {
    status = warn_of_mask(setting, entry, scheme, model, instances.scheme, record, err);
  }
  if (!status && model->d_model == 0 && (instance_sites(instances.scheme) & PE_SITE_EMBED) &&
      instance_sites(instances.scheme) == PE_SITE_EMBED) {
    status = error_set(err, ERROR_JOB_SETUP,
                       "%s is added to the input, which given q and k do not have: only schemes on q and k or on the "
                       "scores can act here",
                       scheme->label);
  }
  if (!status) {
    status = experiment_find(entry->info->id)->run(&context, record, err);
  }
  if (!status && model) {
    status = save_token_ids(model, record, err);
  }
  job_instances_free(&instances);
  return status;
}

/* Text of a plugin may be cut or no UTF-8 at all; a record holds what a file can hold. */
static int tidy(struct error *failure, struct error *err) {
  char *clean = printable_utf8(failure->text, err);
  if (!clean) {
    return err->code;
  }
  size_t length = strlen(clean), most = sizeof failure->text - 1;
  while (length > most || ((unsigned char)clean[length] & 0xc0) == 0x80) {
    length--;
  }
  memcpy(failure->text, clean, length);
  failure->text[length] = '\0';
  free(clean);
  return 0;
}

int job_record_fail(struct record *record, const struct error *failure, struct error *err) {
  record->error = *failure;
  if (tidy(&record->error, err)) {
    return err->code;
  }
  record->status = failure->code == ERROR_UNDEFINED ? RECORD_UNDEFINED : RECORD_FAILED;
  return attributes_set_text(&record->attributes, "message", record->error.text, err);
}

int job_run(const struct job_setting *setting, const struct job *job, const struct model *model, struct record *record,
            struct error *err) {
  int status = job_record_name(setting->plan, job, record, err);
  if (status) {
    return status;
  }
  struct error failure = {0};
  if (run_experiment(setting, job, model, record, &failure)) {
    if (failure.code == ERROR_MEMORY) {
      failure.code = ERROR_JOB_MEMORY; /* the job's own want, not that of the run */
    }
    return job_record_fail(record, &failure, err);
  }
  record->status = RECORD_MEASURED;
  return 0;
}
