#include "config_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof array / sizeof *array)

static const char *const layouts[] = {"half", "interleaved", NULL};
static const char *const masks[] = {"none", "causal", NULL};
static const char *const saves[] = {"attention_weights", "logits", "q", "k", NULL};

static const struct key_spec sinusoidal_keys[] = {
    {.key = "base", .doc = "theta", .type = KEY_REAL, .min = 1, .max = INFINITY, .fallback = "10000"},
    {.key = "layout", .doc = "order", .type = KEY_CHOICE, .fallback = "half", .choices = layouts},
};
static const struct key_spec rope_keys[] = {
    {.key = "base", .doc = "theta", .type = KEY_REAL, .min = 1, .max = INFINITY, .fallback = "10000"},
    {.key = "layout", .doc = "order", .type = KEY_CHOICE, .fallback = "half", .choices = layouts},
    {.key = "rotary_dim", .doc = "channels turned", .type = KEY_INT, .flags = KEY_OPTIONAL, .min = 0, .max = 4096},
    {.key = "mscale_all", .doc = "a switch", .type = KEY_BOOL, .fallback = "false"},
    {.key = "factors",
     .doc = "one per pair",
     .type = KEY_REAL_LIST,
     .flags = KEY_OPTIONAL,
     .min = 0,
     .max = 100,
     .list_min = 2,
     .list_max = 4},
    {.key = "share",
     .doc = "a fraction, or one per head",
     .type = KEY_REAL,
     .flags = KEY_AUTO | KEY_OR_LIST,
     .min = 0,
     .max = 1,
     .fallback = "auto"},
};
static const struct key_spec learned_keys[] = {
    {.key = "max_positions", .doc = "rows", .type = KEY_INT, .flags = KEY_REQUIRED, .min = 1, .max = 65536},
};

static char table_name[] = "table", table_doc[] = "rows of the table";
static struct scheme_tensor_info learned_tensors[] = {{.name = table_name, .doc = table_doc}};

static char none_id[] = "none", sinusoidal_id[] = "sinusoidal", rope_id[] = "rope", learned_id[] = "learned";
static char empty[] = "";
static const struct scheme_info schemes[] = {
    {.id = none_id, .title = empty, .params = {.name = "none"}, .path = empty},
    {.id = sinusoidal_id,
     .title = empty,
     .params = {.name = "sinusoidal", .keys = sinusoidal_keys, .count = COUNT(sinusoidal_keys)},
     .path = empty},
    {.id = rope_id,
     .title = empty,
     .params = {.name = "rope", .keys = rope_keys, .count = COUNT(rope_keys)},
     .path = empty},
    {.id = learned_id,
     .title = empty,
     .params = {.name = "learned", .keys = learned_keys, .count = COUNT(learned_keys)},
     .tensors = learned_tensors,
     .n_tensors = 1,
     .path = empty},
};
static const char *const scheme_ids[] = {"none", "sinusoidal", "rope", "learned", NULL};

static const struct key_spec extrapolation_keys[] = {
    {.key = "train_length",
     .doc = "training length",
     .type = KEY_INT,
     .flags = KEY_AUTO,
     .min = 1,
     .max = 1e9,
     .fallback = "auto"},
    {.key = "lengths",
     .doc = "lengths",
     .type = KEY_INT_LIST,
     .min = 1,
     .max = INFINITY,
     .fallback = "[128, 256]",
     .list_min = 1},
    {.key = "queries", .doc = "last queries", .type = KEY_INT, .min = 1, .max = 4096, .fallback = "32"},
    {.key = "mask", .doc = "mask", .type = KEY_CHOICE, .fallback = "causal", .choices = masks},
    {.key = "save", .doc = "tensors", .type = KEY_CHOICE_LIST, .flags = KEY_OPTIONAL, .choices = saves, .list_min = 1},
};
static const struct key_spec attention_keys[] = {
    {.key = "mask", .doc = "masks", .type = KEY_CHOICE_LIST, .fallback = "[none]", .choices = masks, .list_min = 1},
};
static const struct key_table extrapolation_table = {
    .name = "extrapolation", .keys = extrapolation_keys, .count = COUNT(extrapolation_keys)};
static const struct key_table attention_table = {
    .name = "attention", .keys = attention_keys, .count = COUNT(attention_keys)};
static const struct experiment_info extrapolation = {
    .id = "extrapolation", .keys = &extrapolation_table, .wants_control = true};
static const struct experiment_info equivariance = {
    .id = "equivariance", .keys = &attention_table, .wants_control = true};
static const struct experiment_info attention = {.id = "attention", .keys = &attention_table};
static const struct experiment_info *const experiments[] = {&extrapolation, &equivariance, &attention, NULL};

static const struct scheme_info *find(void *context, const char *id, const char *plugin, struct error *err) {
  (void)context;
  if (plugin && strcmp(plugin, "plugins/own.so")) {
    error_set(err, ERROR_PLUGIN_NOT_FOUND, "%s: No such file or directory", plugin);
    return NULL;
  }
  for (size_t i = 0; i < COUNT(schemes); i++) {
    if (!strcmp(schemes[i].id, id)) {
      return &schemes[i];
    }
  }
  error_set(err, ERROR_CONFIG_NAME, "no plugin has the scheme '%s'", id);
  return NULL;
}

struct plan_request config_fixture_request(const char *text, const char *const *overrides, size_t n_overrides) {
  return (struct plan_request){.text = text,
                               .overrides = overrides,
                               .n_overrides = n_overrides,
                               .schemes = {.find = find, .ids = scheme_ids},
                               .experiments = experiments};
}

char *config_fixture_outcome(const struct plan_request *request) {
  struct diagnostics diagnostics = {0};
  struct plan *plan = plan_load(request, &diagnostics);
  char *text = NULL;
  size_t size = 0;
  struct error err;
  if (plan) {
    text = plan_print(plan, true, &err);
  } else {
    FILE *stream = open_memstream(&text, &size);
    diagnostics_print(&diagnostics, stream);
    fclose(stream);
  }
  plan_free(plan);
  diagnostics_free(&diagnostics);
  return text;
}

void config_fixture_check(const struct plan_request *request) {
  char *outcome = config_fixture_outcome(request);
  if (!strncmp(outcome, "title: ", 7)) {
    struct plan_request again = config_fixture_request(outcome, NULL, 0);
    char *second = config_fixture_outcome(&again);
    if (strcmp(outcome, second)) {
      fprintf(stderr, "%s\nis read again as\n%s\n", outcome, second);
      abort();
    }
    free(second);
  }
  free(outcome);
}
