#include "commands/schema_keys.h"

#include "config/number.h"

#include <math.h>
#include <string.h>

/* A whole number as such, so that 1024 is not written 1024.0. */
static json_t *number(double value) {
  bool whole = value == floor(value) && fabs(value) < 0x1p53;
  return whole ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *simple(const char *type) {
  return json_pack("{s:s}", "type", type);
}

json_t *schema_any_of(json_t *first, json_t *second) {
  return json_pack("{s:[o,o]}", "anyOf", first, second);
}

json_t *schema_numbers(void) {
  return json_pack("{s:s,s:{s:[{s:s},{s:s}]}}", "type", "array", "items", "anyOf", "type", "number", "$ref",
                   "#/definitions/numbers");
}

static json_t *number_in_range(const struct key_spec *spec, bool whole) {
  json_t *schema = simple(whole ? "integer" : "number");
  int failed = !schema;
  if (isfinite(spec->min)) {
    failed |= json_object_set_new(schema, "minimum", number(spec->min));
  }
  if (isfinite(spec->max)) {
    failed |= json_object_set_new(schema, "maximum", number(spec->max));
  }
  if (failed) {
    json_decref(schema);
    return NULL;
  }
  return schema;
}

static json_t *one_of_the_words(const struct key_spec *spec) {
  json_t *words = json_array();
  int failed = !words;
  for (size_t i = 0; spec->choices[i]; i++) {
    failed |= json_array_append_new(words, json_string(spec->choices[i]));
  }
  if (failed) {
    json_decref(words);
    return NULL;
  }
  return json_pack("{s:o}", "enum", words);
}

/* What YAML reads as a number or a boolean is text where text is meant. */
static json_t *any_text(void) {
  return json_pack("{s:[s,s,s]}", "type", "string", "number", "boolean");
}

static json_t *path(void) {
  return json_pack("{s:s,s:i}", "type", "string", "minLength", 1);
}

/* Steals `items`. */
static json_t *list_of(const struct key_spec *spec, json_t *items) {
  json_t *schema = json_pack("{s:s,s:o}", "type", "array", "items", items);
  int failed = !schema;
  if (spec->list_min) {
    failed |= json_object_set_new(schema, "minItems", json_integer((json_int_t)spec->list_min));
  }
  if (spec->list_max) {
    failed |= json_object_set_new(schema, "maxItems", json_integer((json_int_t)spec->list_max));
  }
  if (failed) {
    json_decref(schema);
    return NULL;
  }
  return schema;
}

static json_t *tensor(void) {
  return schema_any_of(path(), json_pack("{s:s}", "$ref", "#/definitions/numbers"));
}

static json_t *section(const struct key_spec *spec) {
  json_t *schema = schema_of_table(spec->section);
  /* The short form of positions: the list, or the file that has it. */
  return spec->flags & KEY_OR_LIST ? schema_any_of(schema, tensor()) : schema;
}

static json_t *value(const struct key_spec *spec) {
  bool or_list = (spec->flags & KEY_OR_LIST) != 0;
  json_t *schema;
  switch (spec->type) {
  case KEY_BOOL:
    return simple("boolean");
  case KEY_INT:
  case KEY_REAL:
    schema = number_in_range(spec, spec->type == KEY_INT);
    return or_list ? schema_any_of(schema, list_of(spec, number_in_range(spec, spec->type == KEY_INT))) : schema;
  case KEY_CHOICE:
    schema = one_of_the_words(spec);
    return or_list ? schema_any_of(schema, list_of(spec, number_in_range(spec, false))) : schema;
  case KEY_TEXT:
    return any_text();
  case KEY_PATH:
    return path();
  case KEY_INT_LIST:
    return list_of(spec, number_in_range(spec, true));
  case KEY_REAL_LIST:
    return list_of(spec, number_in_range(spec, false));
  case KEY_CHOICE_LIST:
    return schema_any_of(one_of_the_words(spec), list_of(spec, one_of_the_words(spec)));
  case KEY_TEXT_LIST:
    return schema_any_of(any_text(), list_of(spec, any_text()));
  case KEY_PATH_LIST:
    return schema_any_of(path(), list_of(spec, path()));
  case KEY_MATRIX:
    return json_pack("{s:s,s:i,s:{s:s,s:i,s:{s:s}}}", "type", "array", "minItems", 1, "items", "type", "array",
                     "minItems", 1, "items", "type", "number");
  case KEY_TENSOR:
    return tensor();
  case KEY_SECTION:
    return section(spec);
  case KEY_SECTIONS:
    return list_of(spec, schema_of_table(spec->section));
  case KEY_ENTRIES:
  case KEY_SWEEP:
    break;
  }
  return json_object();
}

/* The default as an editor would insert it. */
static json_t *default_value(const struct key_spec *spec) {
  struct number parsed;
  if (spec->type == KEY_BOOL) {
    return json_boolean(strcmp(spec->fallback, "true") == 0);
  }
  bool may_be_number = spec->type == KEY_INT || spec->type == KEY_REAL;
  if (may_be_number && number_parse(spec->fallback, &parsed) == NUMBER_OK) {
    return number(parsed.real);
  }
  json_t *list = json_loads(spec->fallback, JSON_DECODE_ANY, NULL);
  bool usable = json_is_array(list) || json_is_string(list);
  if (usable) {
    return list;
  }
  json_decref(list);
  return json_string(spec->fallback);
}

static json_t *property(const struct key_spec *spec) {
  json_t *schema = value(spec);
  if (schema && (spec->flags & KEY_AUTO)) {
    schema = schema_any_of(schema, json_pack("{s:s}", "const", "auto"));
  }
  int failed = !schema || json_object_set_new(schema, "description", json_string(spec->doc));
  if (!failed && spec->fallback) {
    failed = json_object_set_new(schema, "default", default_value(spec));
  }
  if (failed) {
    json_decref(schema);
    return NULL;
  }
  return schema;
}

json_t *schema_of_table(const struct key_table *table) {
  json_t *properties = json_object(), *required = json_array();
  int failed = !properties || !required;
  for (size_t i = 0; !failed && i < table->count; i++) {
    failed = json_object_set_new(properties, table->keys[i].key, property(&table->keys[i]));
    if (!failed && (table->keys[i].flags & KEY_REQUIRED)) {
      failed = json_array_append_new(required, json_string(table->keys[i].key));
    }
  }
  if (failed) {
    json_decref(properties);
    json_decref(required);
    return NULL;
  }
  return json_pack("{s:s,s:s,s:b,s:o,s:o}", "type", "object", "description", table->doc, "additionalProperties", 0,
                   "properties", properties, "required", required);
}
