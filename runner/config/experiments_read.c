#include "config/plan_parts.h"

#include "base/memory.h"
#include "config/keys_read.h"
#include "config/yaml_tree.h"

#include <stdio.h>
#include <string.h>

static const struct experiment_info *find(struct reader *reader, const struct plan_request *request,
                                          const struct entry_list *list, const struct entry *entry) {
  for (size_t i = 0; request->experiments[i]; i++) {
    if (!strcmp(request->experiments[i]->id, entry->name->text)) {
      return request->experiments[i];
    }
  }
  const char *all = "";
  for (size_t i = 0; list->ids[i]; i++) {
    all = arena_printf(&reader->arena, "%s%s%s", all, i ? ", " : "", list->ids[i]);
  }
  const char *hint = reader_hint(reader, entry->name->text, list->ids);
  reader_report(reader, ERROR_CONFIG_NAME, entry->name, entry->path, "unknown experiment '%.80s'%s", entry->name->text,
                hint[0] ? hint : arena_printf(&reader->arena, "; known: %s", all));
  return NULL;
}

/* A model of its own goes in the place of the model's weights, whose other keys it shares. */
static void take_weights(struct reader *reader, struct section *beside, const struct entry *entry,
                         const struct plan *plan, struct plan_experiment *out) {
  for (size_t i = 0; beside && i < beside->table->count; i++) {
    if (!strcmp(beside->table->keys[i].key, "weights") && beside->values[i].given) {
      out->weights = beside->values[i].text;
      beside->values[i].text = NULL;
    }
  }
  if (out->weights && (!plan->model || !section_get(plan->model, "weights")->given)) {
    reader_report(reader, ERROR_CONFIG_CONFLICT, entry->node, entry->path,
                  "weights stand in the place of model.weights, which this config does not have");
  }
}

/* Experiments on models of their own make a grid, which has that name in the results. */
static void refuse_grid(struct reader *reader, const struct entry_list *list, const struct node *entries,
                        const struct plan *plan) {
  bool any = false, taken = false;
  for (size_t i = 0; i < plan->n_experiments; i++) {
    any = any || plan->experiments[i].weights;
    taken = taken || !strcmp(plan->experiments[i].label, "grid");
  }
  if (any && taken) {
    reader_report(
        reader, ERROR_CONFIG_LABEL, entries, list->key,
        "an experiment has the label 'grid', which stands for experiments on several models side by side in the "
        "results: give it another with label:");
  }
}

void experiments_read(struct reader *reader, const struct plan_request *request, const struct entry_list *list,
                      const struct node *entries, struct plan *plan) {
  struct error err;
  struct entry *read = arena_array(&reader->arena, entries->count + 1, sizeof *read);
  plan->experiments = memory_new(entries->count, sizeof *plan->experiments, "experiments", &err);
  if (!read || !plan->experiments) {
    reader->arena.failed = true;
    return;
  }
  size_t count = 0;
  for (size_t i = 0; i < entries->count; i++) {
    struct entry *entry = &read[count];
    if (!entry_read(reader, list, entries->items[i], i, entry)) {
      continue;
    }
    struct plan_experiment *experiment = &plan->experiments[count++];
    snprintf(experiment->label, sizeof experiment->label, "%s", entry->label);
    /* The label itself is read by entry_read; this finds what is wrong with its type. */
    struct section *beside = keys_read(reader, list->siblings, entry->beside, entry->node, entry->path);
    take_weights(reader, beside, entry, plan, experiment);
    section_free(beside);
    experiment->info = find(reader, request, list, entry);
    entry->unknown = !experiment->info;
    if (experiment->info) {
      experiment->keys = keys_read(reader, experiment->info->keys, entry->keys, entry->name, entry->path);
    }
  }
  plan->n_experiments = count;
  refuse_grid(reader, list, entries, plan);
  entries_check_labels(reader, read, count, true);
}
