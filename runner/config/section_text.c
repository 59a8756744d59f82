#include "config/section_text.h"

#include "base/json_text.h"
#include "base/memory.h"
#include "config/keys_read.h"
#include "config/yaml_tree.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct section *config_section_from_text(const struct key_table *table, const char *text, const char *what,
                                         struct error *err) {
  struct diagnostics diagnostics = {0};
  struct reader reader = {.diagnostics = &diagnostics, .folder = ""};
  struct source source = {.place = what, .text = text, .length = strlen(text)};
  struct section *section = NULL;
  struct node *tree = source_check(&reader, &source) ? tree_parse(&reader, &source, 0) : NULL;
  if (tree && tree->kind != NODE_MAPPING) {
    reader_report(&reader, ERROR_CONFIG_TYPE, tree, what, "a mapping of keys to values is needed");
  } else if (tree) {
    section = keys_read(&reader, table, tree, tree, table->name);
  }
  if (diagnostics.count) {
    error_set(err, diagnostics.items[0].code, "%s: %s", what, diagnostics.items[0].text);
  } else if (!section) {
    error_set(err, ERROR_MEMORY, "%s: memory is not to be had", what);
  }
  if (diagnostics.count) {
    section_free(section);
    section = NULL;
  }
  arena_free(&reader.arena);
  diagnostics_free(&diagnostics);
  return section;
}

static json_t *numbers_json(const struct key_value *value) {
  json_t *list = json_array();
  for (size_t i = 0; list && i < value->count; i++) {
    if (json_array_append_new(list, json_real(value->list[i]))) {
      json_decref(list);
      return NULL;
    }
  }
  return list;
}

static json_t *value_json(const struct key_spec *spec, const struct key_value *value) {
  if (value->is_auto) {
    return json_string("auto");
  }
  if (value->list) {
    return numbers_json(value);
  }
  switch (spec->type) {
  case KEY_BOOL:
    return json_boolean(value->integer);
  case KEY_INT:
    return json_integer(value->integer);
  case KEY_REAL:
    return json_real(value->real);
  case KEY_CHOICE:
    return json_string(spec->choices[value->integer]);
  case KEY_INT_LIST:
  case KEY_REAL_LIST:
    return json_array();
  case KEY_TEXT:
  case KEY_PATH:
  case KEY_TENSOR:
    return json_string(value->text ? value->text : "");
  default:
    return json_null(); /* parameters of schemes have no other types */
  }
}

char *config_section_to_json(const struct section *section, struct error *err) {
  json_t *object = json_object();
  for (size_t i = 0; object && section && i < section->table->count; i++) {
    if (section->values[i].given && json_object_set_new(object, section->table->keys[i].key,
                                                        value_json(&section->table->keys[i], &section->values[i]))) {
      json_decref(object);
      object = NULL;
    }
  }
  char *text = json_to_text(object, JSON_REAL_PRECISION(17), err);
  json_decref(object);
  return text;
}

static bool texts_equal(const char *a, const char *b) {
  return a == b || (a && b && !strcmp(a, b));
}

static bool values_equal(const struct key_value *a, const struct key_value *b) {
  if (a->given != b->given || a->is_auto != b->is_auto || a->count != b->count) {
    return false;
  }
  for (size_t i = 0; a->list && b->list && i < a->count; i++) {
    if (a->list[i] != b->list[i]) {
      return false;
    }
  }
  return !a->list == !b->list && a->integer == b->integer && a->real == b->real && texts_equal(a->text, b->text);
}

bool section_equal(const struct section *a, const struct section *b) {
  if (a->table->count != b->table->count) {
    return false;
  }
  for (size_t i = 0; i < a->table->count; i++) {
    if (strcmp(a->table->keys[i].key, b->table->keys[i].key) || !values_equal(&a->values[i], &b->values[i])) {
      return false;
    }
  }
  return true;
}
