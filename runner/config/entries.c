#include "config/entries.h"

#include "config/keys_read.h"
#include "config/labels.h"
#include "config/node.h"

#include <string.h>

static bool is_sibling(const struct entry_list *list, const char *key) {
  for (size_t i = 0; i < list->siblings->count; i++) {
    if (!strcmp(list->siblings->keys[i].key, key)) {
      return true;
    }
  }
  return false;
}

static bool is_known(const struct entry_list *list, const char *id) {
  for (const char *const *known = list->ids; *known; known++) {
    if (!strcmp(*known, id)) {
      return true;
    }
  }
  return false;
}

static bool normalise_list(struct reader *reader, struct node *entries) {
  for (size_t i = 0; entries && entries->kind == NODE_LIST && i < entries->count; i++) {
    struct node *name = entries->items[i];
    if (name->kind != NODE_SCALAR || node_is_null(name)) {
      continue;
    }
    struct node *whole = node_new(reader, NODE_MAPPING, name), *nothing = node_new(reader, NODE_SCALAR, name);
    if (!whole || !nothing || !node_put(reader, whole, name, nothing)) {
      return false;
    }
    entries->items[i] = whole;
  }
  return true;
}

bool entries_normalise(struct reader *reader, struct node *root) {
  return normalise_list(reader, node_get(root, "schemes")) && normalise_list(reader, node_get(root, "experiments"));
}

const struct node *entry_name(const struct entry_list *list, const struct node *entry) {
  for (size_t i = 0; entry->kind == NODE_MAPPING && i < entry->count; i++) {
    if (!is_sibling(list, entry->keys[i]->text)) {
      return entry->keys[i];
    }
  }
  return NULL;
}

const char *entry_label(const struct entry_list *list, const struct node *entry) {
  const struct node *label = entry->kind == NODE_MAPPING ? node_get(entry, "label") : NULL;
  if (label && label->kind == NODE_SCALAR && !node_is_null(label)) {
    return label->text;
  }
  const struct node *name = entry_name(list, entry);
  return name ? name->text : NULL;
}

/* The key that names the scheme: where several are no siblings, the first known name. */
static const struct node *best_name(const struct entry_list *list, const struct node *node) {
  for (size_t i = 0; i < node->count; i++) {
    if (!is_sibling(list, node->keys[i]->text) && is_known(list, node->keys[i]->text)) {
      return node->keys[i];
    }
  }
  return entry_name(list, node);
}

static void report_extra_key(struct reader *reader, const struct entry_list *list, const struct entry *entry,
                             const struct node *key) {
  const char *path = reader_path(reader, entry->path, key->text);
  if (is_known(list, key->text)) {
    reader_report(reader, ERROR_CONFIG_CONFLICT, key, path, "a second %s in one entry; start an entry with '- '",
                  list->what);
    return;
  }
  const char *names[8] = {NULL}, *all = "";
  for (size_t i = 0; i < list->siblings->count && i + 1 < sizeof names / sizeof *names; i++) {
    names[i] = list->siblings->keys[i].key;
    all = arena_printf(&reader->arena, "%s%s%s", all, i ? ", " : "", names[i]);
  }
  const char *hint = reader_hint(reader, key->text, names);
  reader_report(reader, ERROR_CONFIG_UNKNOWN_KEY, key, path, "unknown key%s",
                hint[0] ? hint
                        : arena_printf(&reader->arena,
                                       "; keys of %s stand below it, indented deeper than its name; beside it may "
                                       "stand: %s",
                                       entry->name->text, all));
}

bool entry_read(struct reader *reader, const struct entry_list *list, const struct node *node, size_t index,
                struct entry *out) {
  const char *place = arena_printf(&reader->arena, "%s[%zu]", list->key, index);
  if (node->kind != NODE_MAPPING) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, place, "is %s; an entry is 'name' or 'name: {key: value}'",
                  node->kind == NODE_LIST ? "a list" : "empty");
    return false;
  }
  const struct node *name = best_name(list, node);
  if (!name) {
    reader_report(reader, ERROR_CONFIG_MISSING, node, place, "names no %s; an entry is 'name: {key: value}'",
                  list->what);
    return false;
  }
  struct node *beside = node_new(reader, NODE_MAPPING, node);
  const struct node *keys = node_get(node, name->text);
  *out = (struct entry){.name = name, .node = node, .beside = beside, .label = name->text, .label_node = name};
  const struct node *label = node_get(node, "label");
  if (label && label->kind == NODE_SCALAR && !node_is_null(label)) {
    out->label = label->text;
    out->label_node = label;
  }
  out->path = arena_printf(&reader->arena, "%s.%s", list->key, node->text[0] ? node->text : out->label);
  for (size_t i = 0; i < node->count; i++) {
    if (node->keys[i] == name) {
      continue;
    }
    if (!is_sibling(list, node->keys[i]->text)) {
      report_extra_key(reader, list, out, node->keys[i]);
    } else if (!beside || !node_put(reader, beside, node->keys[i], node->items[i])) {
      return false;
    }
  }
  if (!node_is_null(keys) && keys->kind != NODE_MAPPING) {
    reader_report(reader, ERROR_CONFIG_TYPE, keys, out->path, "is %s; allowed: {key: value}", node_kind_name(keys));
    return false;
  }
  out->keys = node_is_null(keys) ? NULL : keys;
  return true;
}

void entries_check_labels(struct reader *reader, const struct entry *entries, size_t count, bool of_experiments) {
  for (size_t i = 0; i < count; i++) {
    const struct entry *entry = &entries[i];
    if (entry->unknown || !label_check(reader, entry->label, of_experiments, entry->label_node, entry->path)) {
      continue;
    }
    for (size_t j = 0; j < i; j++) {
      if (!strcmp(entries[j].label, entry->label)) {
        const char *first = entries[j].label_node->line > 0
                                ? arena_printf(&reader->arena, " (first in line %d)", entries[j].label_node->line)
                                : "";
        reader_report(reader, ERROR_CONFIG_LABEL, entry->label_node, entry->path,
                      "the label '%s' stands twice%s; give one of them another with 'label: NAME'", entry->label,
                      first);
        break;
      }
    }
  }
}
