#include "config/plan_parts.h"

#include "base/memory.h"
#include "config/keys_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parameters and tensors of a scheme stand side by side in a config: one table of both, in the arena. */
static struct key_table *whole_table(struct reader *reader, const struct scheme_info *info) {
  size_t n_params = info->params.count;
  struct key_table *table = arena_new(&reader->arena, sizeof *table);
  struct key_spec *keys = arena_array(&reader->arena, n_params + info->n_tensors + 1, sizeof *keys);
  if (!table || !keys) {
    return NULL;
  }
  if (n_params) {
    memcpy(keys, info->params.keys, n_params * sizeof *keys);
  }
  for (size_t i = 0; i < info->n_tensors; i++) {
    keys[n_params + i] = (struct key_spec){.key = info->tensors[i].name,
                                           .doc = info->tensors[i].doc,
                                           .type = KEY_TENSOR,
                                           .flags = KEY_OPTIONAL,
                                           .min = -INFINITY,
                                           .max = INFINITY};
  }
  *table = (struct key_table){.name = info->id, .doc = info->title, .keys = keys, .count = n_params + info->n_tensors};
  return table;
}

/* Hand the values of the whole table over to the scheme: parameters as a section, tensors as a list. */
static bool share_out(struct reader *reader, struct section *whole, struct plan_scheme *scheme) {
  const struct scheme_info *info = scheme->info;
  struct error err;
  struct section *params = memory_new(1, sizeof *params, "parameters", &err);
  struct key_value *values = memory_new(info->params.count, sizeof *values, "parameters", &err);
  struct key_value *tensors = memory_new(info->n_tensors, sizeof *tensors, "tensors", &err);
  if (!params || !values || !tensors) {
    free(params);
    free(values);
    free(tensors);
    section_free(whole);
    reader->arena.failed = true;
    return false;
  }
  memcpy(values, whole->values, info->params.count * sizeof *values);
  memcpy(tensors, whole->values + info->params.count, info->n_tensors * sizeof *tensors);
  *params = (struct section){.table = &info->params, .values = values};
  scheme->params = params;
  scheme->tensors = tensors;
  free(whole->values);
  free(whole);
  return true;
}

static void read_map(struct reader *reader, const struct section *section, const struct node *node, const char *path,
                     struct position_map *map) {
  static const struct {
    const char *key;
    enum position_map_kind kind;
  } kinds[] = {{"offset", POSITION_OFFSET},
               {"divide", POSITION_DIVIDE},
               {"clamp", POSITION_CLAMP},
               {"wrap", POSITION_WRAP},
               {"shuffled", POSITION_SHUFFLED}};
  size_t count = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const struct key_value *value = section_get(section, kinds[i].key);
    if (!value->by_user) {
      continue;
    }
    count++;
    *map = (struct position_map){.kind = kinds[i].kind, .automatic = value->is_auto, .value = value->real};
    if (kinds[i].kind == POSITION_SHUFFLED) {
      *map = (struct position_map){.kind = value->integer ? POSITION_SHUFFLED : POSITION_AS_IS};
    }
  }
  if (count > 1 || (count == 0 && !keys_has_unknown(section->table, node))) {
    reader_report(reader, count ? ERROR_CONFIG_CONFLICT : ERROR_CONFIG_MISSING, node, path,
                  "needs exactly one of offset, divide, clamp, wrap, shuffled");
  }
}

/* Take a text out of a section. */
static char *take_text(struct section *section, const char *key) {
  for (size_t i = 0; i < section->table->count; i++) {
    if (!strcmp(section->table->keys[i].key, key)) {
      char *text = section->values[i].text;
      section->values[i].text = NULL;
      return text;
    }
  }
  return NULL;
}

static const struct scheme_info *find(struct reader *reader, const struct plan_request *request,
                                      const struct entry *entry, const struct plan_scheme *scheme) {
  struct error err = {0};
  const struct scheme_source *source = &request->schemes;
  const struct scheme_info *info = source->find(source->context, entry->name->text, scheme->plugin, &err);
  if (info) {
    return info;
  }
  const struct node *plugin = node_get(entry->beside, "plugin");
  if (err.code == ERROR_CONFIG_NAME && !plugin) {
    const char *hint = reader_hint(reader, entry->name->text, source->ids);
    reader_report(reader, err.code, entry->name, entry->path, "unknown scheme '%.80s'%s", entry->name->text,
                  hint[0] ? hint : "; pe-run list shows those there are");
  } else {
    reader_report(reader, err.code, plugin ? plugin : entry->name, entry->path, "%s", err.text);
  }
  return NULL;
}

static void read_beside(struct reader *reader, const struct entry *entry, struct plan_scheme *scheme) {
  struct section *beside = keys_read(reader, config_scheme_entry_table(), entry->beside, entry->node, entry->path);
  if (!beside) {
    return;
  }
  snprintf(scheme->label, sizeof scheme->label, "%s", entry->label);
  scheme->plugin = take_text(beside, "plugin");
  scheme->weights = take_text(beside, "weights");
  const struct key_value *layers = section_get(beside, "layers");
  if (layers->given) {
    scheme->other_every = (size_t)section_get(layers->section, "every")->integer;
    scheme->other_scheme = take_text(layers->section, "scheme");
  }
  const struct key_value *positions = section_get(beside, "positions");
  if (positions->given) {
    read_map(reader, positions->section, node_get(entry->beside, "positions"),
             reader_path(reader, entry->path, "positions"), &scheme->map);
  }
  section_free(beside);
}

static void read_scheme(struct reader *reader, const struct plan_request *request, struct entry *entry,
                        struct plan_scheme *scheme) {
  read_beside(reader, entry, scheme);
  const struct node *plugin = node_get(entry->beside, "plugin");
  if (plugin && !scheme->plugin) {
    return; /* reported */
  }
  scheme->info = find(reader, request, entry, scheme);
  entry->unknown = !scheme->info;
  struct key_table *table = scheme->info ? whole_table(reader, scheme->info) : NULL;
  struct section *whole = table ? keys_read(reader, table, entry->keys, entry->name, entry->path) : NULL;
  if (whole) {
    share_out(reader, whole, scheme);
  }
}

void schemes_read(struct reader *reader, const struct plan_request *request, const struct entry_list *list,
                  const struct node *entries, struct plan *plan) {
  struct error err;
  struct entry *read = arena_array(&reader->arena, entries->count + 1, sizeof *read);
  /* One more, for the control. */
  plan->schemes = memory_new(entries->count + 1, sizeof *plan->schemes, "schemes", &err);
  if (!read || !plan->schemes) {
    reader->arena.failed = true;
    return;
  }
  size_t count = 0;
  for (size_t i = 0; i < entries->count; i++) {
    if (entry_read(reader, list, entries->items[i], i, &read[count])) {
      read_scheme(reader, request, &read[count], &plan->schemes[count]);
      count++;
    }
  }
  plan->n_schemes = count;
  entries_check_labels(reader, read, count, false);
}

static bool is_control(const struct plan_scheme *scheme) {
  return scheme->info && !strcmp(scheme->info->id, "none");
}

void control_add(struct reader *reader, const struct plan_request *request, const struct node *root,
                 struct plan *plan) {
  bool wanted = false;
  for (size_t i = 0; i < plan->n_experiments; i++) {
    wanted = wanted || (plan->experiments[i].info && plan->experiments[i].info->wants_control);
  }
  const struct plan_scheme *taken = NULL;
  for (size_t i = 0; i < plan->n_schemes; i++) {
    if (is_control(&plan->schemes[i])) {
      return;
    }
    taken = strcmp(plan->schemes[i].label, "none") ? taken : &plan->schemes[i];
  }
  if (!wanted) {
    return;
  }
  if (taken) {
    reader_report(reader, ERROR_CONFIG_LABEL, node_get(root, "schemes"), "schemes",
                  "the label 'none' is the control's, which is run as well; give the scheme another");
    return;
  }
  struct error err = {0};
  struct plan_scheme *control = &plan->schemes[plan->n_schemes];
  control->info = request->schemes.find(request->schemes.context, "none", NULL, &err);
  if (!control->info) {
    reader_report(reader, err.code, root, "schemes", "%s", err.text);
    return;
  }
  plan->n_schemes++;
  control->implied = true;
  snprintf(control->label, sizeof control->label, "none");
  struct section *whole = keys_read(reader, &control->info->params, NULL, root, "schemes.none");
  if (whole) {
    share_out(reader, whole, control);
  }
}
