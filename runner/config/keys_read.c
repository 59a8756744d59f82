#include "config/keys_read.h"

#include "base/memory.h"
#include "config/yaml_tree.h"

#include <stdlib.h>
#include <string.h>

static const struct key_spec *find_spec(const struct key_table *table, const char *key) {
  for (size_t i = 0; i < table->count; i++) {
    if (!strcmp(table->keys[i].key, key)) {
      return &table->keys[i];
    }
  }
  return NULL;
}

bool keys_has_unknown(const struct key_table *table, const struct node *mapping) {
  for (size_t i = 0; mapping->kind == NODE_MAPPING && i < mapping->count; i++) {
    if (!find_spec(table, mapping->keys[i]->text)) {
      return true;
    }
  }
  return false;
}

static void report_unknown(struct reader *reader, const struct key_table *table, const struct node *key,
                           const char *path) {
  const char **names = arena_array(&reader->arena, table->count + 1, sizeof *names);
  const char *all = "";
  if (!names) {
    return;
  }
  for (size_t i = 0; i < table->count; i++) {
    names[i] = table->keys[i].key;
    all = arena_printf(&reader->arena, "%s%s%s", all, i ? ", " : "", names[i]);
  }
  const char *hint = reader_hint(reader, key->text, names);
  if (!hint[0]) {
    hint = table->count ? arena_printf(&reader->arena, "; known: %s", all) : "; there are none here";
  }
  reader_report(reader, ERROR_CONFIG_UNKNOWN_KEY, key, reader_path(reader, path, key->text), "unknown key%s", hint);
}

/* One word or number: its tree is itself. */
static bool is_plain_word(const char *text) {
  return text[0] && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")];
}

/* The default, read as if it stood in a config. */
static bool read_fallback(struct reader *reader, const struct key_spec *spec, const char *path,
                          struct key_value *value) {
  if (!spec->fallback) {
    struct node nothing = {.source = &(struct source){.place = path, .text = "", .is_fallback = true}, .text = ""};
    return key_read_value(reader, spec, &nothing, path, value);
  }
  struct source *source = arena_new(&reader->arena, sizeof *source);
  if (!source) {
    return false;
  }
  *source = (struct source){.place = arena_printf(&reader->arena, "default of %s", path),
                            .text = spec->fallback,
                            .length = strlen(spec->fallback),
                            .is_fallback = true};
  struct node word = {.kind = NODE_SCALAR, .text = spec->fallback, .source = source, .column = 1};
  const struct node *node = is_plain_word(spec->fallback) ? &word : tree_parse(reader, source, 0);
  return node && key_read_value(reader, spec, node, path, value);
}

static void read_key(struct reader *reader, const struct key_spec *spec, const struct node *node, const struct node *at,
                     const char *section, struct key_value *value) {
  const char *path = reader_path(reader, section, spec->key);
  bool good = false;
  if (node) {
    good = key_read_value(reader, spec, node, path, value);
    value->by_user = true;
    value->line = node->source->argument ? -node->source->argument : node->line;
    value->column = node->column;
  } else if (spec->flags & KEY_REQUIRED) {
    reader_report(reader, ERROR_CONFIG_MISSING, at, section, "%s is missing (%s); allowed: %s", spec->key, spec->doc,
                  key_allowed(reader, spec));
  } else if (!(spec->flags & KEY_OPTIONAL)) {
    good = read_fallback(reader, spec, path, value);
  }
  if (!good) {
    struct key_value kept = {.by_user = value->by_user, .line = value->line, .column = value->column};
    key_value_clear(value);
    *value = kept;
  }
  value->given = good;
}

struct section *keys_read(struct reader *reader, const struct key_table *table, const struct node *mapping,
                          const struct node *at, const char *path) {
  struct error err;
  struct section *section = memory_new(1, sizeof *section, table->name, &err);
  struct key_value *values = section ? memory_new(table->count, sizeof *values, table->name, &err) : NULL;
  if (!values) {
    free(section);
    reader->arena.failed = true;
    return NULL;
  }
  section->table = table;
  section->values = values;
  for (size_t i = 0; mapping && i < mapping->count; i++) {
    if (!find_spec(table, mapping->keys[i]->text)) {
      report_unknown(reader, table, mapping->keys[i], path);
    }
  }
  for (size_t i = 0; i < table->count; i++) {
    const struct node *node = mapping ? node_get(mapping, table->keys[i].key) : NULL;
    read_key(reader, &table->keys[i], node, mapping ? mapping : at, path, &values[i]);
  }
  return section;
}
