#include "config/keys_read.h"

#include "base/memory.h"
#include "config/number.h"
#include "config/paths.h"

#include <string.h>

/* A scalar that says something. False after a report. */
static bool expect_scalar(struct reader *reader, const struct key_spec *spec, const struct node *node,
                          const char *path) {
  if (node->kind != NODE_SCALAR) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "is %s; allowed: %s", node_kind_name(node),
                  key_allowed(reader, spec));
    return false;
  }
  if (node_is_null(node)) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "has no value; allowed: %s", key_allowed(reader, spec));
    return false;
  }
  return true;
}

static bool is_word(const struct node *node, const char *word) {
  return node->kind == NODE_SCALAR && !strcmp(node->text, word);
}

static bool report_not_a_number(struct reader *reader, const struct key_spec *spec, bool whole, const struct node *node,
                                const char *path) {
  reader_report(reader, ERROR_CONFIG_TYPE, node, path, "'%.60s' is not a %snumber; allowed: %s", node->text,
                whole ? "whole " : "", key_allowed(reader, spec));
  return false;
}

static bool report_range(struct reader *reader, const struct key_spec *spec, const struct node *node,
                         const char *path) {
  reader_report(reader, ERROR_CONFIG_RANGE, node, path, "%.60s is out of range; allowed: %s", node->text,
                key_allowed(reader, spec));
  return false;
}

bool key_read_number(struct reader *reader, const struct key_spec *spec, bool whole, const struct node *node,
                     const char *path, struct number *out) {
  if (!expect_scalar(reader, spec, node, path)) {
    return false;
  }
  enum number_status status = number_parse(node->text, out);
  if (node->quoted && status != NUMBER_NOT) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "'%.60s' is text, for it is quoted; take the quotes away",
                  node->text);
    return false;
  }
  switch (status) {
  case NUMBER_OK:
    break;
  case NUMBER_NOT:
    return report_not_a_number(reader, spec, whole, node, path);
  case NUMBER_LEADING_ZERO:
    reader_report(reader, ERROR_CONFIG_TYPE, node, path,
                  "%.60s has a leading zero, which some readers take for base eight; write it without", node->text);
    return false;
  case NUMBER_NOT_FINITE:
    reader_report(reader, ERROR_CONFIG_RANGE, node, path, "%.60s is not finite; allowed: %s", node->text,
                  key_allowed(reader, spec));
    return false;
  case NUMBER_TOO_LARGE:
    reader_report(reader, ERROR_CONFIG_RANGE, node, path, "%.60s is too large for any number here; allowed: %s",
                  node->text, key_allowed(reader, spec));
    return false;
  case NUMBER_TOO_SMALL:
    reader_report(reader, ERROR_CONFIG_RANGE, node, path, "%.60s is too small to tell from zero", node->text);
    return false;
  }
  if (whole && !out->whole) {
    if (out->whole_form || out->real >= 0x1p63 || out->real <= -0x1p63) {
      reader_report(reader, ERROR_CONFIG_RANGE, node, path, "%.60s does not fit into 64 bits; allowed: %s", node->text,
                    key_allowed(reader, spec));
      return false;
    }
    return report_not_a_number(reader, spec, whole, node, path);
  }
  return (out->real >= spec->min && out->real <= spec->max) || report_range(reader, spec, node, path);
}

bool key_read_choice(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                     int64_t *index) {
  if (!expect_scalar(reader, spec, node, path)) {
    return false;
  }
  for (size_t i = 0; spec->choices[i]; i++) {
    if (!strcmp(spec->choices[i], node->text)) {
      *index = (int64_t)i;
      return true;
    }
  }
  reader_report(reader, ERROR_CONFIG_CHOICE, node, path, "'%.60s' is not one of the allowed words: %s%s", node->text,
                key_allowed(reader, spec), reader_hint(reader, node->text, spec->choices));
  return false;
}

char *key_read_text(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path) {
  if (!expect_scalar(reader, spec, node, path)) {
    return NULL;
  }
  bool is_path = spec->type == KEY_PATH || spec->type == KEY_PATH_LIST || spec->type == KEY_TENSOR;
  if (is_path && !node->text[0]) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "is empty; allowed: %s", key_allowed(reader, spec));
    return NULL;
  }
  /* What was typed on the command line is relative to where it was typed. */
  const char *folder = node->source->argument || (spec->flags & KEY_OUTPUT) ? "" : reader->folder;
  struct error err;
  char *text = is_path ? path_join(folder, node->text, &err) : memory_copy_text(node->text, &err);
  if (!text) {
    reader->arena.failed = true;
  }
  return text;
}

static bool read_bool(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                      struct key_value *value) {
  if (!expect_scalar(reader, spec, node, path)) {
    return false;
  }
  bool yes = !strcmp(node->text, "true"), no = !strcmp(node->text, "false");
  if ((yes || no) && node->quoted) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "'%s' is text, for it is quoted; take the quotes away",
                  node->text);
    return false;
  }
  if (!yes && !no) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "'%.60s' is neither true nor false", node->text);
    return false;
  }
  value->integer = yes;
  return true;
}

static bool read_number(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                        struct key_value *value) {
  if (spec->flags & KEY_OR_LIST && node->kind == NODE_LIST) {
    value->is_list = true;
    return key_read_list(reader, spec, node, path, value);
  }
  struct number number;
  if (!key_read_number(reader, spec, spec->type == KEY_INT, node, path, &number)) {
    return false;
  }
  value->real = number.real;
  value->integer = number.whole ? number.integer : 0;
  if (!(spec->flags & KEY_OR_LIST)) {
    return true;
  }
  struct error err;
  value->list = memory_new(1, sizeof *value->list, spec->key, &err);
  if (!value->list) {
    reader->arena.failed = true;
    return false;
  }
  value->list[0] = number.real;
  value->count = 1;
  return true;
}

static bool read_choice(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                        struct key_value *value) {
  struct error err;
  if (spec->flags & KEY_OR_LIST && node->kind == NODE_LIST) {
    value->integer = -1;
    value->is_list = true;
    return key_read_list(reader, spec, node, path, value);
  }
  if (!key_read_choice(reader, spec, node, path, &value->integer)) {
    return false;
  }
  value->text = memory_copy_text(spec->choices[value->integer], &err);
  if (!value->text) {
    reader->arena.failed = true;
  }
  return value->text != NULL;
}

static bool read_section(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                         struct key_value *value) {
  const struct node *mapping = node_is_null(node) ? NULL : node;
  if (mapping && mapping->kind != NODE_MAPPING && spec->flags & KEY_OR_LIST) {
    /* The short form: a list of values, or the file that has them. */
    struct node *whole = node_new(reader, NODE_MAPPING, node), *item = node_copy(reader, node, node);
    if (!whole || !item || !node_set(reader, whole, "list", item, node)) {
      return false;
    }
    mapping = whole;
  }
  if (mapping && mapping->kind != NODE_MAPPING) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "is %s; allowed: %s", node_kind_name(node),
                  key_allowed(reader, spec));
    return false;
  }
  value->section = keys_read(reader, spec->section, mapping, node, path);
  return value->section != NULL;
}

/* Each element is checked on its own, so that all that is wrong is told. */
static bool read_sections(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                          struct key_value *value) {
  struct error err;
  if (node->kind != NODE_LIST || node->count < spec->list_min) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "is %s; allowed: %s",
                  node->kind == NODE_LIST ? "an empty list" : node_kind_name(node), key_allowed(reader, spec));
    return false;
  }
  value->sections = memory_new(node->count, sizeof *value->sections, path, &err);
  if (!value->sections) {
    reader->arena.failed = true;
    return false;
  }
  bool good = true;
  for (size_t i = 0; i < node->count; i++) {
    const struct node *item = node->items[i];
    const char *item_path = arena_printf(&reader->arena, "%s[%zu]", path, i);
    if (item->kind != NODE_MAPPING) {
      reader_report(reader, ERROR_CONFIG_TYPE, item, item_path, "is %s; allowed: a mapping (key: value)",
                    node_kind_name(item));
      good = false;
      continue;
    }
    struct section *section = keys_read(reader, spec->section, item, item, item_path);
    if (section) {
      value->sections[value->count++] = section;
    }
  }
  value->is_list = true;
  return good;
}

bool key_read_value(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                    struct key_value *value) {
  if (spec->flags & KEY_AUTO && is_word(node, "auto") && !node->quoted) {
    value->is_auto = true;
    return true;
  }
  switch (spec->type) {
  case KEY_BOOL:
    return read_bool(reader, spec, node, path, value);
  case KEY_INT:
  case KEY_REAL:
    return read_number(reader, spec, node, path, value);
  case KEY_CHOICE:
    return read_choice(reader, spec, node, path, value);
  case KEY_TEXT:
  case KEY_PATH:
    value->text = key_read_text(reader, spec, node, path);
    return value->text != NULL;
  case KEY_INT_LIST:
  case KEY_REAL_LIST:
  case KEY_CHOICE_LIST:
  case KEY_TEXT_LIST:
  case KEY_PATH_LIST:
    return key_read_list(reader, spec, node, path, value);
  case KEY_MATRIX:
  case KEY_TENSOR:
    return key_read_tensor(reader, spec, node, path, value);
  case KEY_SECTION:
    return read_section(reader, spec, node, path, value);
  case KEY_SECTIONS:
    return read_sections(reader, spec, node, path, value);
  case KEY_ENTRIES:
  case KEY_SWEEP:
    return true; /* read by code of their own */
  }
  return false;
}
