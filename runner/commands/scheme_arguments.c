#include "commands/scheme_arguments.h"

#include "base/memory.h"
#include "base/text.h"
#include "commands/guard.h"
#include "config/plan.h"
#include "config/section_text.h"
#include "input/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct scheme *find(struct session *session, const struct scheme_arguments *arguments, struct error *err) {
  const struct scheme *scheme = host_find(session->host, arguments->id, arguments->plugin, err);
  if (!scheme && err->code == ERROR_CONFIG_NAME) {
    const char *near = config_nearest(arguments->id, session->ids);
    if (near) {
      error_set(err, ERROR_CONFIG_NAME, "'%s' is not a known scheme; did you mean '%s'?", arguments->id, near);
    } else {
      error_set(err, ERROR_CONFIG_NAME, "'%s' is not a known scheme; `pe-run list` names them", arguments->id);
    }
  }
  return scheme;
}

/* "a=1 b=x" as the flow mapping {a: 1, b: x}. */
static char *settings_text(const struct scheme_arguments *arguments, struct error *err) {
  struct text text = {0};
  text_append(&text, "{");
  for (size_t i = 0; i < arguments->n_settings; i++) {
    const char *setting = arguments->settings[i], *equals = strchr(setting, '=');
    if (!equals || equals == setting) {
      text_free(&text);
      error_set(err, ERROR_OVERRIDE, "argument '%s' is not KEY=VALUE", setting);
      return NULL;
    }
    text_append(&text, i ? ", " : "");
    text_append_bytes(&text, setting, (size_t)(equals - setting));
    text_printf(&text, ": %s", equals + 1);
  }
  text_append(&text, "}");
  return text_take(&text, err);
}

/* Parameters and tensors stand side by side, as in a config. The keys are to be freed. */
static struct key_spec *all_keys(const struct scheme_info *info, struct error *err) {
  size_t n_params = info->params.count;
  struct key_spec *keys = memory_new(n_params + info->n_tensors, sizeof *keys, "parameters", err);
  for (size_t i = 0; keys && i < n_params; i++) {
    keys[i] = info->params.keys[i];
  }
  for (size_t i = 0; keys && i < info->n_tensors; i++) {
    keys[n_params + i] = (struct key_spec){.key = info->tensors[i].name,
                                           .doc = info->tensors[i].doc,
                                           .type = KEY_TENSOR,
                                           .flags = KEY_OPTIONAL,
                                           .min = -INFINITY,
                                           .max = INFINITY};
  }
  return keys;
}

/* Take a section of both apart: it is released, its values live on. */
static int share_out(struct section *whole, const struct scheme_info *info, struct scheme_choice *choice,
                     struct error *err) {
  size_t n_params = info->params.count;
  choice->params = memory_new(1, sizeof *choice->params, "parameters", err);
  struct key_value *values = choice->params ? memory_new(n_params, sizeof *values, "parameters", err) : NULL;
  choice->tensors = values ? memory_new(info->n_tensors, sizeof *choice->tensors, "tensors", err) : NULL;
  if (!choice->tensors) {
    free(values);
    free(choice->params);
    choice->params = NULL;
    section_free(whole);
    return err->code;
  }
  for (size_t i = 0; i < whole->table->count; i++) {
    *(i < n_params ? &values[i] : &choice->tensors[i - n_params]) = whole->values[i];
  }
  *choice->params = (struct section){.table = &info->params, .values = values};
  free(whole->values);
  free(whole);
  return 0;
}

int scheme_choose(struct session *session, const struct scheme_arguments *arguments, struct scheme_choice *choice,
                  struct error *err) {
  *choice = (struct scheme_choice){.scheme = find(session, arguments, err)};
  char *text = choice->scheme ? settings_text(arguments, err) : NULL;
  const struct scheme_info *info = choice->scheme ? &choice->scheme->info : NULL;
  guard_uses(info ? info->path : "", false);
  struct key_spec *keys = text ? all_keys(info, err) : NULL;
  int status = keys ? 0 : (int)err->code;
  if (!status) {
    struct key_table table = {
        .name = info->id, .doc = info->title, .keys = keys, .count = info->params.count + info->n_tensors};
    struct section *whole = config_section_from_text(&table, text, info->id, err);
    status = whole ? share_out(whole, info, choice, err) : (int)err->code;
  }
  free(keys);
  free(text);
  return status;
}

void scheme_choice_free(struct scheme_choice *choice) {
  for (size_t i = 0; choice->tensors && i < choice->scheme->info.n_tensors; i++) {
    key_value_clear(&choice->tensors[i]);
  }
  free(choice->tensors);
  section_free(choice->params);
  *choice = (struct scheme_choice){0};
}

static void print_warning(void *context, const char *text) {
  (void)context;
  fflush(stdout);
  fprintf(stderr, "pe-run: warning: %s\n", text);
}

struct given_tensor {
  float *data;
  char *from;
};

static int read_tensors(const struct scheme_choice *choice, struct tensor_source *sources, struct given_tensor *given,
                        struct error *err) {
  int status = 0;
  for (size_t i = 0; !status && i < choice->scheme->info.n_tensors; i++) {
    if (!choice->tensors[i].given) {
      continue;
    }
    unsigned rank;
    status = model_read_tensor(&choice->tensors[i], &given[i].data, sources[i].shape.dim, &rank, &given[i].from, err);
    sources[i].shape.rank = status ? 0 : rank;
    sources[i].data = given[i].data;
    sources[i].from = given[i].from;
  }
  return status;
}

struct instance *scheme_instance(const struct scheme_choice *choice, const pe_shape *shape, uint64_t seed,
                                 struct error *err) {
  size_t count = choice->scheme->info.n_tensors;
  struct tensor_source *sources = memory_new(count, sizeof *sources, "tensors", err);
  struct given_tensor *given = sources ? memory_new(count, sizeof *given, "tensors", err) : NULL;
  struct instance *instance = NULL;
  if (given && !read_tensors(choice, sources, given, err)) {
    struct instance_request request = {.scheme = choice->scheme,
                                       .shape = *shape,
                                       .params = choice->params,
                                       .tensors = sources,
                                       .seed = seed,
                                       .warn = choice->quiet ? NULL : print_warning};
    request.shape.struct_size = sizeof request.shape;
    instance = instance_new(&request, err);
  }
  for (size_t i = 0; given && i < count; i++) {
    free(given[i].data);
    free(given[i].from);
  }
  free(given);
  free(sources);
  return instance;
}

char *scheme_parameters(const struct scheme_choice *choice, struct error *err) {
  return config_section_to_json(choice->params, err);
}
