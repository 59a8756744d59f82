#include "config/node.h"

#include "config/reader.h"
#include "config/yaml_tree.h"

#include <string.h>

struct node *node_new(struct reader *reader, enum node_kind kind, const struct node *at) {
  struct node *node = arena_new(&reader->arena, sizeof *node);
  if (node) {
    node->kind = kind;
    node->text = "";
    node->height = kind == NODE_SCALAR ? 0 : 1;
    node->source = at->source;
    node->line = at->line;
    node->column = at->column;
  }
  return node;
}

struct node *node_new_text(struct reader *reader, const char *text, const struct node *at) {
  struct node *node = node_new(reader, NODE_SCALAR, at);
  if (node) {
    node->text = text;
    node->quoted = true;
  }
  return node;
}

struct node *node_copy(struct reader *reader, const struct node *node, const struct node *at) {
  if (++reader->nodes > TREE_MAX_NODES) {
    reader_report(reader, ERROR_CONFIG_LIMIT, at, NULL, "more than %d values, copies counted", TREE_MAX_NODES);
    return NULL;
  }
  struct node *copy = node_new(reader, node->kind, node);
  if (!copy) {
    return NULL;
  }
  copy->text = node->text;
  copy->quoted = node->quoted;
  for (size_t i = 0; i < node->count; i++) {
    struct node *item = node_copy(reader, node->items[i], at);
    bool added = item && (node->kind == NODE_LIST ? node_append(reader, copy, item)
                                                  : node_put(reader, copy, node->keys[i], item));
    if (!added) {
      return NULL;
    }
  }
  return copy;
}

static bool grow(struct reader *reader, struct node *node) {
  if (node->count < node->capacity) {
    return true;
  }
  size_t capacity = node->capacity ? 2 * node->capacity : 4;
  struct node **items = arena_array(&reader->arena, capacity, sizeof *items);
  struct node **keys = node->kind == NODE_MAPPING ? arena_array(&reader->arena, capacity, sizeof *keys) : NULL;
  if (!items || (node->kind == NODE_MAPPING && !keys)) {
    return false;
  }
  if (node->count) {
    memcpy(items, node->items, node->count * sizeof *items);
  }
  if (keys && node->count) {
    memcpy(keys, node->keys, node->count * sizeof *keys);
  }
  node->items = items;
  node->keys = keys;
  node->capacity = capacity;
  return true;
}

static void note_height(struct node *node, const struct node *item) {
  if (item->height + 1 > node->height) {
    node->height = item->height + 1;
  }
}

bool node_append(struct reader *reader, struct node *list, struct node *item) {
  if (!grow(reader, list)) {
    return false;
  }
  list->items[list->count++] = item;
  note_height(list, item);
  return true;
}

bool node_put(struct reader *reader, struct node *mapping, struct node *key, struct node *value) {
  if (!grow(reader, mapping)) {
    return false;
  }
  mapping->keys[mapping->count] = key;
  mapping->items[mapping->count++] = value;
  note_height(mapping, value);
  return true;
}

bool node_set(struct reader *reader, struct node *mapping, const char *key, struct node *value, const struct node *at) {
  size_t index = node_find(mapping, key);
  bool has = index < mapping->count;
  if (has && value) {
    mapping->items[index] = value;
    note_height(mapping, value);
    return true;
  }
  if (has) {
    size_t behind = mapping->count - index - 1;
    memmove(&mapping->items[index], &mapping->items[index + 1], behind * sizeof *mapping->items);
    memmove(&mapping->keys[index], &mapping->keys[index + 1], behind * sizeof *mapping->keys);
    mapping->count--;
    return true;
  }
  if (!value) {
    return true;
  }
  struct node *name = node_new_text(reader, key, at);
  return name && node_put(reader, mapping, name, value);
}

size_t node_find(const struct node *mapping, const char *key) {
  for (size_t i = 0; i < mapping->count; i++) {
    if (!strcmp(mapping->keys[i]->text, key)) {
      return i;
    }
  }
  return (size_t)-1;
}

struct node *node_get(const struct node *mapping, const char *key) {
  size_t at = node_find(mapping, key);
  return at < mapping->count ? mapping->items[at] : NULL;
}

bool node_is_null(const struct node *node) {
  static const char *const words[] = {"", "~", "null", "Null", "NULL"};
  if (node->kind != NODE_SCALAR || node->quoted) {
    return false;
  }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!strcmp(node->text, words[i])) {
      return true;
    }
  }
  return false;
}
