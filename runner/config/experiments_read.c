#include "config/plan_parts.h"

#include "base/memory.h"
#include "config/keys_read.h"

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
    section_free(keys_read(reader, list->siblings, entry->beside, entry->node, entry->path));
    experiment->info = find(reader, request, list, entry);
    entry->unknown = !experiment->info;
    if (experiment->info) {
      experiment->keys = keys_read(reader, experiment->info->keys, entry->keys, entry->name, entry->path);
    }
  }
  plan->n_experiments = count;
  entries_check_labels(reader, read, count, true);
}
