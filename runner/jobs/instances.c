#include "jobs/instances.h"

#include "base/memory.h"
#include "config/section_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double job_train_length(const struct plan_experiment *experiment, const struct model *model) {
  for (size_t i = 0; i < experiment->info->keys->count; i++) {
    const struct key_value *value = &experiment->keys->values[i];
    if (!strcmp(experiment->info->keys->keys[i].key, "train_length") && value->given && !value->is_auto) {
      return (double)value->integer;
    }
  }
  return model->trained.max_length;
}

static pe_shape shape_of(const struct model *model, double train_length) {
  return (pe_shape){.struct_size = sizeof(pe_shape),
                    .n_layers = (uint32_t)model->n_layers,
                    .n_heads = (uint32_t)model->n_heads,
                    .n_kv_heads = (uint32_t)model->n_kv_heads,
                    .d_model = (uint32_t)model->d_model,
                    .head_dim = (uint32_t)model->head_dim,
                    .train_len = train_length};
}

void given_tensors_free(struct given_tensors *given) {
  for (size_t i = 0; i < given->count; i++) {
    if (given->sources) {
      free((void *)(uintptr_t)given->sources[i].data);
    }
    if (given->from) {
      free(given->from[i]);
    }
  }
  free(given->sources);
  free(given->from);
}

static int read_tensor(const struct plan_scheme *entry, size_t i, struct given_tensors *given, struct error *err) {
  float *data = NULL;
  unsigned rank = 0;
  struct tensor_source *source = &given->sources[i];
  int status = 0;
  if (entry->tensors && entry->tensors[i].given) {
    status = model_read_tensor(&entry->tensors[i], &data, source->shape.dim, &rank, &given->from[i], err);
  } else if (entry->weights) {
    status =
        model_read_scheme_tensor(entry->weights, entry->info->tensors[i].name, &data, source->shape.dim, &rank, err);
    given->from[i] = status ? NULL : memory_copy_text(entry->weights, err);
    status = status ? status : (given->from[i] ? 0 : (int)err->code);
  }
  source->data = data;
  source->shape.rank = rank;
  source->from = given->from[i];
  return status;
}

int given_tensors_read(const struct plan_scheme *entry, struct given_tensors *given, struct error *err) {
  given->count = entry->info->n_tensors;
  given->sources = memory_new(given->count, sizeof *given->sources, "tensors", err);
  given->from = given->sources ? memory_new(given->count, sizeof *given->from, "tensors", err) : NULL;
  if (!given->from) {
    return err->code;
  }
  for (size_t i = 0; i < given->count; i++) {
    int status = read_tensor(entry, i, given, err);
    if (status) {
      return status;
    }
  }
  return 0;
}

static struct instance *make(const struct scheme *scheme, const struct section *params,
                             const struct tensor_source *tensors, struct position_map map, const struct model *model,
                             double train_length, uint64_t seed, const struct job_messages *messages,
                             struct error *err) {
  struct instance_request request = {
      .scheme = scheme,
      .shape = shape_of(model, train_length),
      .params = params,
      .tensors = tensors,
      .map = map,
      .seed = seed,
      .warn = messages ? messages->warn : NULL,
      .warn_context = messages ? messages->context : NULL,
  };
  return instance_new(&request, err);
}

/* What training made of the scheme's tensors, where nobody gave others: /scheme of the weights file. */
static int add_trained_tensors(const struct model *model, const struct scheme_info *info, struct given_tensors *given,
                               struct error *err) {
  int status = 0;
  for (size_t i = 0; !status && model->trained.file[0] && i < given->count; i++) {
    struct tensor_source *source = &given->sources[i];
    char name[128];
    float *data = NULL;
    if (source->data) {
      continue;
    }
    snprintf(name, sizeof name, "scheme/%s", info->tensors[i].name);
    status = model_read_scheme_tensor(model->trained.file, name, &data, source->shape.dim, &source->shape.rank, err);
    if (data) {
      source->data = data;
      given->from[i] = memory_copy_text(model->trained.file, err);
      source->from = given->from[i];
      status = given->from[i] ? 0 : (int)err->code;
    }
  }
  return status;
}

static int trained_tensors_read(const struct model *model, const struct scheme_info *info, struct given_tensors *given,
                                struct error *err) {
  given->count = info->n_tensors;
  given->sources = memory_new(given->count, sizeof *given->sources, "tensors", err);
  given->from = given->sources ? memory_new(given->count, sizeof *given->from, "tensors", err) : NULL;
  return given->from ? add_trained_tensors(model, info, given, err) : (int)err->code;
}

/* The scheme the weights were trained with, and whether the entry is that scheme with those parameters. */
static int make_trained(struct host *host, const struct plan_scheme *entry, const struct model *model, uint64_t seed,
                        struct instance **out, bool *same, struct error *err) {
  const struct trained_with *trained = &model->trained;
  *same = false;
  *out = NULL;
  if (!trained->scheme || !*trained->scheme) {
    return 0;
  }
  const struct scheme *scheme = host_find(host, trained->scheme, NULL, err);
  if (!scheme) {
    return err->code;
  }
  const char *parameters = trained->parameters && *trained->parameters ? trained->parameters : "{}";
  struct section *params = config_section_from_text(&scheme->info.params, parameters, "trained_with_parameters", err);
  if (!params) {
    return err->code;
  }
  *same = !strcmp(entry->info->id, trained->scheme) && section_equal(params, entry->params);
  struct given_tensors tensors = {0};
  int status = trained_tensors_read(model, &scheme->info, &tensors, err);
  if (!status) {
    *out = make(scheme, params, tensors.sources, (struct position_map){0}, model, trained->max_length, seed, NULL, err);
    status = *out ? 0 : (int)err->code;
  }
  given_tensors_free(&tensors);
  section_free(params);
  return status;
}

/* Whether the config gives any of the scheme's tensors. */
static bool gives_tensors(const struct given_tensors *given) {
  for (size_t i = 0; i < given->count; i++) {
    if (given->sources[i].data) {
      return true;
    }
  }
  return false;
}

static enum scheme_role role_of(const struct plan_scheme *entry, bool known, bool same) {
  if (!entry->info->sites && entry->map.kind == POSITION_AS_IS) {
    return ROLE_CONTROL;
  }
  if (!known) {
    return ROLE_UNTRAINED;
  }
  return !same ? ROLE_SWAPPED_IN : entry->map.kind == POSITION_AS_IS ? ROLE_MODEL : ROLE_MAPPED;
}

/* Where the scheme under test is the control, or made as the trained one was (`as_trained`, position map aside), it
 * stands for it, too: what is the same need not be computed twice. */
static void share(const struct plan_scheme *entry, bool as_trained, struct job_instances *instances) {
  struct instance *scheme = instances->scheme;
  if (entry->map.kind != POSITION_AS_IS) {
    return;
  }
  if (instance_scheme(scheme) == instance_scheme(instances->none)) {
    instance_free(instances->none);
    instances->none = scheme;
  }
  if (as_trained && instances->trained && instance_scheme(scheme) == instance_scheme(instances->trained)) {
    instance_free(instances->trained);
    instances->trained = scheme;
  }
}

const struct scheme *job_find_scheme(struct host *host, const struct scheme_info *info, struct error *err) {
  const struct scheme *scheme = host_find(host, info->id, info->path[0] ? info->path : NULL, err);
  if (scheme && strcmp(scheme->info.sha256, info->sha256) != 0) {
    error_set(err, ERROR_PLUGIN_LOAD, "%s: the plugin was changed while pe-run was running: run again", info->path);
    return NULL;
  }
  return scheme;
}

int job_instances_new(struct host *host, const struct plan_scheme *entry, const struct model *model,
                      double train_length, uint64_t seed, bool with_shuffled, const struct job_messages *messages,
                      struct job_instances *out, struct error *err) {
  *out = (struct job_instances){0};
  struct given_tensors given = {0};
  bool same = false, own_tensors = false;
  const struct scheme *scheme = job_find_scheme(host, entry->info, err);
  int status = scheme ? given_tensors_read(entry, &given, err) : (int)err->code;
  status = status ? status : make_trained(host, entry, model, seed, &out->trained, &same, err);
  if (!status && same) {
    own_tensors = gives_tensors(&given);
    status = add_trained_tensors(model, entry->info, &given, err);
  }
  if (!status) {
    out->scheme = make(scheme, entry->params, given.sources, entry->map, model, train_length, seed, messages, err);
    status = out->scheme ? 0 : (int)err->code;
  }
  if (!status && with_shuffled && entry->map.kind == POSITION_AS_IS && entry->info->sites) {
    out->shuffled = make(scheme, entry->params, given.sources, (struct position_map){.kind = POSITION_SHUFFLED}, model,
                         train_length, seed, NULL, err);
    status = out->shuffled ? 0 : (int)err->code;
  }
  if (!status) {
    out->none = make(host_none(), NULL, NULL, (struct position_map){0}, model, train_length, seed, NULL, err);
    status = out->none ? 0 : (int)err->code;
  }
  if (!status) {
    share(entry, same && !own_tensors && train_length == model->trained.max_length, out);
    out->role = role_of(entry, out->trained != NULL, same);
  } else {
    job_instances_free(out);
  }
  given_tensors_free(&given);
  return status;
}

void job_instances_free(struct job_instances *instances) {
  if (instances->none != instances->scheme) {
    instance_free(instances->none);
  }
  if (instances->trained != instances->scheme) {
    instance_free(instances->trained);
  }
  instance_free(instances->shuffled);
  instance_free(instances->scheme);
  *instances = (struct job_instances){0};
}
