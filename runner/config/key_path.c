#include "config/key_path.h"

#include "config/plan.h"

#include <string.h>

/* Report a fault of a path. */
#define REPORT(finder, ...) reader_report((finder)->reader, (finder)->code, (finder)->at, NULL, __VA_ARGS__)

/* "[12]" at text: its index and length. 0: it is none. */
static size_t parse_index(const char *text, size_t length, size_t *index) {
  size_t at = 1, value = 0;
  while (at < length && text[at] >= '0' && text[at] <= '9' && at < 8) {
    value = value * 10 + (size_t)(text[at++] - '0');
  }
  if (at == 1 || at == length || text[at] != ']') {
    return 0;
  }
  *index = value;
  return at + 1;
}

bool key_path_parse(const struct key_path_finder *finder, const char *text, size_t length, struct key_path *out) {
  *out = (struct key_path){0};
  for (size_t at = 0; at < length || out->count == 0;) {
    if (out->count == KEY_PATH_MAX) {
      REPORT(finder, "the key '%.*s' has more than %d parts", (int)length, text, KEY_PATH_MAX);
      return false;
    }
    struct key_part *part = &out->parts[out->count++];
    size_t width = 0;
    if (at < length && text[at] == '[') {
      width = parse_index(text + at, length - at, &part->index);
    } else {
      while (at + width < length && text[at + width] != '.' && text[at + width] != '[') {
        width++;
      }
      part->name = arena_copy(&finder->reader->arena, text + at, width);
      if (!part->name) {
        return false;
      }
    }
    at += width;
    bool dot = at < length && text[at] == '.';
    if (!width || (dot && at + 1 == length) || (at < length && !dot && text[at] != '[')) {
      REPORT(finder, "the key '%.*s' is not a path such as rope.base or schemes[0].base", (int)length, text);
      return false;
    }
    at += dot;
  }
  return true;
}

const char *key_path_text(struct reader *reader, const struct key_path *path) {
  const char *text = "";
  for (size_t i = 0; i < path->count; i++) {
    const struct key_part *part = &path->parts[i];
    text = part->name ? arena_printf(&reader->arena, "%s%s%s", text, i ? "." : "", part->name)
                      : arena_printf(&reader->arena, "%s[%zu]", text, part->index);
  }
  return text;
}

static bool is_root_key(const char *name) {
  const struct key_table *table = config_root_table();
  for (size_t i = 0; i < table->count; i++) {
    if (!strcmp(table->keys[i].key, name)) {
      return true;
    }
  }
  return false;
}

static const struct node *entries_of(const struct key_path_finder *finder, const struct entry_list *list) {
  const struct node *entries = node_get(finder->root, list->key);
  return entries && entries->kind == NODE_LIST ? entries : NULL;
}

/* Entries with that label; *index is the first one's. */
static size_t count_label(const struct key_path_finder *finder, const struct entry_list *list, const char *label,
                          size_t *index) {
  const struct node *entries = entries_of(finder, list);
  size_t found = 0;
  for (size_t i = 0; entries && i < entries->count; i++) {
    const char *other = entry_label(list, entries->items[i]);
    if (other && !strcmp(other, label)) {
      *index = found++ ? *index : i;
    }
  }
  return found;
}

/* Names for a hint: labels of one list (or both: list NULL), and the keys of the config. */
static const char *label_hint(const struct key_path_finder *finder, const struct entry_list *list, const char *name) {
  const struct entry_list *lists[] = {finder->schemes, finder->experiments};
  const struct key_table *table = config_root_table();
  size_t count = 0, most = table->count + 1;
  for (size_t i = 0; i < 2; i++) {
    const struct node *entries = entries_of(finder, lists[i]);
    most += entries ? entries->count : 0;
  }
  const char **names = arena_array(&finder->reader->arena, most, sizeof *names);
  if (!names) {
    return "";
  }
  for (size_t i = 0; i < 2; i++) {
    const struct node *entries = !list || list == lists[i] ? entries_of(finder, lists[i]) : NULL;
    for (size_t j = 0; entries && j < entries->count; j++) {
      const char *label = entry_label(lists[i], entries->items[j]);
      if (label) {
        names[count++] = label;
      }
    }
  }
  for (size_t i = 0; !list && i < table->count; i++) {
    names[count++] = table->keys[i].key;
  }
  return reader_hint(finder->reader, name, names);
}

/* The target at an entry: its siblings stand in the entry itself, everything else below its name. */
static bool target_entry(const struct key_path_finder *finder, const struct entry_list *list, size_t index,
                         const struct key_path *path, size_t used, struct key_target *out) {
  const struct node *entries = entries_of(finder, list);
  struct node *entry = entries->items[index];
  const struct node *name = entry_name(list, entry);
  if (entry->kind != NODE_MAPPING || !name) {
    REPORT(finder, "%s[%zu] is not an entry that keys can be set in", list->key, index);
    return false;
  }
  *out = (struct key_target){.node = entry, .list = list, .index = index};
  bool beside = false;
  for (size_t i = 0; used < path->count && path->parts[used].name && i < list->siblings->count; i++) {
    beside = beside || !strcmp(list->siblings->keys[i].key, path->parts[used].name);
  }
  if (!beside) {
    out->path.parts[out->path.count++] = (struct key_part){.name = name->text};
  }
  for (size_t i = used; i < path->count && out->path.count < KEY_PATH_MAX; i++) {
    out->path.parts[out->path.count++] = path->parts[i];
  }
  return true;
}

/* schemes.LABEL... or schemes[INDEX]... */
static bool find_in_list(const struct key_path_finder *finder, const struct entry_list *list,
                         const struct key_path *path, struct key_target *out) {
  const struct node *entries = entries_of(finder, list);
  const struct key_part *part = &path->parts[1];
  size_t count = entries ? entries->count : 0, index = part->index;
  if (!part->name && index >= count) {
    REPORT(finder, "%s[%zu] is not there: the config has %zu %s%s, counted from 0", list->key, index, count, list->what,
           count == 1 ? "" : "s");
    return false;
  }
  if (part->name) {
    size_t found = count_label(finder, list, part->name, &index);
    if (found == 0) {
      REPORT(finder, "the config has no %s '%s'%s", list->what, part->name, label_hint(finder, list, part->name));
      return false;
    }
    if (found > 1) {
      REPORT(finder, "the label '%s' stands %zu times; use an index, such as %s[%zu]", part->name, found, list->key,
             index);
      return false;
    }
  }
  return target_entry(finder, list, index, path, 2, out);
}

bool key_path_find(const struct key_path_finder *finder, const struct key_path *path, struct key_target *out) {
  const char *first = path->parts[0].name;
  const struct entry_list *lists[] = {finder->schemes, finder->experiments};
  if (!first) {
    REPORT(finder, "the key '%s' starts with an index; write schemes[0] or experiments[0]",
           key_path_text(finder->reader, path));
    return false;
  }
  for (size_t i = 0; i < 2; i++) {
    if (!strcmp(first, lists[i]->key) && path->count > 1) {
      return find_in_list(finder, lists[i], path, out);
    }
  }
  if (is_root_key(first)) {
    *out = (struct key_target){.node = finder->root, .path = *path};
    return true;
  }
  size_t index[2] = {0, 0}, found[2];
  for (size_t i = 0; i < 2; i++) {
    found[i] = count_label(finder, lists[i], first, &index[i]);
  }
  if (found[0] && found[1]) {
    REPORT(finder, "'%s' is both a scheme and an experiment; write schemes.%s or experiments.%s", first, first, first);
    return false;
  }
  if (!found[0] && !found[1]) {
    REPORT(finder, "'%s' is neither a key of the config nor a label in it%s", first, label_hint(finder, NULL, first));
    return false;
  }
  size_t which = found[0] ? 0 : 1;
  if (found[which] > 1) {
    REPORT(finder, "the label '%s' stands %zu times; use an index, such as %s[%zu]", first, found[which],
           lists[which]->key, index[which]);
    return false;
  }
  return target_entry(finder, lists[which], index[which], path, 1, out);
}

/* The node that part `i` of the path names in `node`, made where it is missing. NULL after a report. */
static struct node *step(const struct key_path_finder *finder, struct node *node, const struct key_path *path,
                         size_t i) {
  const struct key_part *part = &path->parts[i];
  struct key_path so_far = *path;
  so_far.count = i;
  const char *shown = key_path_text(finder->reader, &so_far);
  if (!part->name) {
    if (node->kind != NODE_LIST || part->index >= node->count) {
      REPORT(finder, "%s[%zu] is not there: %s %s", shown, part->index, shown,
             node->kind == NODE_LIST ? arena_printf(&finder->reader->arena, "has %zu elements", node->count)
                                     : "is not a list");
      return NULL;
    }
    return node->items[part->index];
  }
  if (node->kind != NODE_MAPPING) {
    REPORT(finder, "%s is %s and has no key '%s'", shown, node->kind == NODE_LIST ? "a list" : "a single value",
           part->name);
    return NULL;
  }
  struct node *next = node_get(node, part->name);
  if (!next || (node_is_null(next) && i + 1 < path->count && path->parts[i + 1].name)) {
    next = node_new(finder->reader, NODE_MAPPING, finder->at);
    if (!next || !node_set(finder->reader, node, part->name, next, finder->at)) {
      return NULL;
    }
  }
  return next;
}

const struct node *key_path_get(const struct key_target *target) {
  const struct node *node = target->node;
  for (size_t i = 0; node && i < target->path.count; i++) {
    const struct key_part *part = &target->path.parts[i];
    if (part->name) {
      node = node->kind == NODE_MAPPING ? node_get(node, part->name) : NULL;
    } else {
      node = node->kind == NODE_LIST && part->index < node->count ? node->items[part->index] : NULL;
    }
  }
  return node;
}

bool key_path_set(const struct key_path_finder *finder, const struct key_target *target, struct node *value) {
  const struct key_path *path = &target->path;
  struct node *node = target->node;
  for (size_t i = 0; i + 1 < path->count; i++) {
    node = step(finder, node, path, i);
    if (!node) {
      return false;
    }
  }
  const struct key_part *last = &path->parts[path->count - 1];
  if (last->name && node->kind == NODE_MAPPING) {
    return node_set(finder->reader, node, last->name, value, finder->at);
  }
  if (!last->name && node->kind == NODE_LIST && last->index < node->count && value) {
    node->items[last->index] = value;
    return true;
  }
  if (!last->name && !value) {
    REPORT(finder, "an element of a list cannot be taken away; give the list anew");
    return false;
  }
  return step(finder, node, path, path->count - 1) != NULL;
}
