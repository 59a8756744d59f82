/* pe-run schema: one JSON Schema of configs, from the runner's tables and those of the plugins that are found. */
#include "commands/commands.h"
#include "commands/schema_keys.h"
#include "commands/session.h"
#include "commands/usage.h"
#include "experiments/experiment.h"

#include "base/json_text.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct session_options *options = state->input;
  if (key == ARGP_KEY_INIT) {
    state->child_inputs[0] = options;
    return 0;
  }
  if (key == ARGP_KEY_ARG) {
    argp_error(state, "schema takes no argument: '%s'", argument);
  }
  return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .parser = parse,
    .doc = "Print the JSON Schema (draft 07) of configs, with a branch for each scheme that is found and each "
           "experiment. An editor that knows YAML completes and checks keys by it: the first line of a config names "
           "it, `# yaml-language-server: $schema=PATH`.",
    .children = children,
};

/* Sections in which exactly one of some keys stands. */
static const struct {
  const char *section;
  const char *keys[8];
} exclusive[] = {
    {"model", {"weights", "matrix", "random", "qk", "embeddings"}},
    {"tokens", {"ids", "text", "file", "corpus"}},
};

static int add_exclusive(json_t *section, const char *name) {
  for (size_t i = 0; i < sizeof exclusive / sizeof *exclusive; i++) {
    if (strcmp(exclusive[i].section, name) != 0) {
      continue;
    }
    json_t *one_of = json_array();
    for (size_t k = 0; exclusive[i].keys[k]; k++) {
      json_array_append_new(one_of, json_pack("{s:[s]}", "required", exclusive[i].keys[k]));
    }
    return json_object_set_new(section, "oneOf", one_of);
  }
  return 0;
}

/* ---- entries: a name, or a mapping with the name's keys and those that stand beside it ---- */

/* The mapping form. Steals `keys`, the schema of what stands below the name. */
static json_t *entry_of(const char *id, const char *title, json_t *keys, const struct key_table *beside) {
  json_t *schema = schema_of_table(beside);
  json_t *properties = json_object_get(schema, "properties"), *required = json_object_get(schema, "required");
  json_t *empty_or_keys = schema_any_of(keys, json_pack("{s:s}", "type", "null"));
  int failed = !schema || !empty_or_keys || json_object_set_new(empty_or_keys, "description", json_string(title)) ||
               json_object_set(properties, id, empty_or_keys) || json_array_append_new(required, json_string(id)) ||
               json_object_set_new(schema, "title", json_string(id)) ||
               json_object_set_new(schema, "description", json_string(title));
  json_decref(empty_or_keys);
  if (failed) {
    json_decref(schema);
    return NULL;
  }
  return schema;
}

/* A scheme of a plugin that the schema does not know, named by `plugin:`; its own keys are not checked. */
static json_t *entry_of_stranger(void) {
  json_t *schema = schema_of_table(config_scheme_entry_table());
  json_t *others = json_pack("{s:[s,s]}", "type", "object", "null");
  int failed = !schema || json_array_append_new(json_object_get(schema, "required"), json_string("plugin")) ||
               json_object_set_new(schema, "additionalProperties", others) ||
               json_object_set_new(schema, "minProperties", json_integer(2)) ||
               json_object_set_new(schema, "title", json_string("a scheme of another plugin"));
  if (failed) {
    json_decref(schema);
    return NULL;
  }
  return schema;
}

/* The list of entries: `names` and `branches` are arrays, stolen. */
static json_t *entries_of(const char *doc, json_t *names, json_t *branches) {
  if (json_array_insert_new(branches, 0, json_pack("{s:o}", "enum", names))) {
    json_decref(branches);
    return NULL;
  }
  return json_pack("{s:s,s:s,s:i,s:{s:o}}", "type", "array", "description", doc, "minItems", 1, "items", "anyOf",
                   branches);
}

/* Parameters and tensors of a scheme stand side by side. */
static json_t *keys_of_scheme(const struct scheme_info *info) {
  json_t *schema = schema_of_table(&info->params);
  json_t *properties = json_object_get(schema, "properties");
  int failed = !schema;
  for (size_t i = 0; !failed && i < info->n_tensors; i++) {
    struct key_spec key = {.key = info->tensors[i].name,
                           .doc = info->tensors[i].doc,
                           .type = KEY_TENSOR,
                           .min = -INFINITY,
                           .max = INFINITY};
    json_t *one = schema_of_table(&(struct key_table){.name = info->id, .doc = "", .keys = &key, .count = 1});
    failed = json_object_update(properties, json_object_get(one, "properties"));
    json_decref(one);
  }
  if (failed) {
    json_decref(schema);
    return NULL;
  }
  return schema;
}

static json_t *scheme_entries(const char *doc, const struct scheme *const *schemes, size_t count) {
  json_t *names = json_array(), *branches = json_array();
  for (size_t i = 0; i < count; i++) {
    const struct scheme_info *info = &schemes[i]->info;
    json_array_append_new(names, json_string(info->id));
    json_array_append_new(branches, entry_of(info->id, info->title, keys_of_scheme(info), config_scheme_entry_table()));
  }
  json_array_append_new(branches, entry_of_stranger());
  bool whole = json_array_size(names) == count && json_array_size(branches) == count + 1;
  json_t *entries = entries_of(doc, names, branches);
  if (!whole) {
    json_decref(entries);
    return NULL;
  }
  return entries;
}

static json_t *experiment_entries(const char *doc) {
  json_t *names = json_array(), *branches = json_array();
  size_t count = 0;
  for (const struct experiment_info *const *info = experiment_infos(); *info; info++, count++) {
    json_array_append_new(names, json_string((*info)->id));
    json_array_append_new(branches, entry_of((*info)->id, (*info)->title, schema_of_table((*info)->keys),
                                             config_experiment_entry_table()));
  }
  bool whole = json_array_size(names) == count && json_array_size(branches) == count;
  json_t *entries = entries_of(doc, names, branches);
  if (!whole) {
    json_decref(entries);
    return NULL;
  }
  return entries;
}

/* ---- the whole ---- */

static const char *doc_of(const char *key) {
  const struct key_table *root = config_root_table();
  for (size_t i = 0; i < root->count; i++) {
    if (!strcmp(root->keys[i].key, key)) {
      return root->keys[i].doc;
    }
  }
  return "";
}

static json_t *whole_schema(const struct scheme *const *schemes, size_t count) {
  json_t *root = schema_of_table(config_root_table());
  json_t *properties = json_object_get(root, "properties");
  json_t *model = json_object_get(properties, "model");
  json_t *tokens = json_object_get(json_object_get(model, "properties"), "tokens");
  json_t *sweep = json_pack("{s:s,s:s,s:{s:s,s:i}}", "type", "object", "description", doc_of("sweep"),
                            "additionalProperties", "type", "array", "minItems", 1);
  int failed = !root || add_exclusive(model, "model") || add_exclusive(tokens, "tokens") ||
               json_object_set_new(properties, "schemes", scheme_entries(doc_of("schemes"), schemes, count)) ||
               json_object_set_new(properties, "experiments", experiment_entries(doc_of("experiments"))) ||
               json_object_set_new(properties, "sweep", sweep);
  json_t *whole = json_pack("{s:s,s:s,s:{s:o}}", "$schema", "http://json-schema.org/draft-07/schema#", "title",
                            "A config of pe-run", "definitions", "numbers", schema_numbers());
  failed = failed || !whole || json_object_update(whole, root);
  json_decref(root);
  if (failed) {
    json_decref(whole);
    return NULL;
  }
  return whole;
}

static int print_schema(struct session *session, struct error *err) {
  const struct scheme *const *schemes;
  size_t count;
  int status = host_list(session->host, &schemes, &count, NULL, err);
  if (status) {
    return status;
  }
  json_t *schema = whole_schema(schemes, count);
  char *text = json_to_text(schema, JSON_INDENT(1) | JSON_REAL_PRECISION(15), err);
  json_decref(schema);
  if (!text) {
    return error_set(err, ERROR_MEMORY, "no memory for the schema of %zu schemes", count);
  }
  printf("%s\n", text);
  free(text);
  return 0;
}

int command_schema(int argc, char **argv) {
  struct error err = {0};
  struct session_options options = {0};
  command_parse(&argp, argc, argv, &options);
  struct session session;
  int code = session_open(&options, &session);
  if (code) {
    return code;
  }
  int status = print_schema(&session, &err);
  session_close(&session);
  return status ? command_fail(&err) : 0;
}
