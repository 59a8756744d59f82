#include "config/keys_read.h"

#include "base/memory.h"
#include "config/number.h"

#include <stdlib.h>
#include <string.h>

static bool out_of_memory(struct reader *reader) {
  reader->arena.failed = true;
  return false;
}

static bool check_count(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path) {
  if (node->count >= spec->list_min && (!spec->list_max || node->count <= spec->list_max)) {
    return true;
  }
  const char *number = spec->list_max == spec->list_min ? arena_printf(&reader->arena, "%zu", spec->list_min)
                       : !spec->list_max                ? arena_printf(&reader->arena, "at least %zu", spec->list_min)
                                         : arena_printf(&reader->arena, "%zu to %zu", spec->list_min, spec->list_max);
  reader_report(reader, ERROR_CONFIG_RANGE, node, path, "has %zu element%s; allowed: %s", node->count,
                node->count == 1 ? "" : "s", number);
  return false;
}

/* The spec of one element of a list, for its own messages. */
static struct key_spec element_of(const struct key_spec *spec) {
  struct key_spec element = *spec;
  element.flags &= ~(unsigned)(KEY_OR_LIST | KEY_AUTO);
  switch (spec->type) {
  case KEY_INT_LIST:
    element.type = KEY_INT;
    break;
  case KEY_REAL_LIST:
  case KEY_MATRIX:
  case KEY_TENSOR:
  case KEY_CHOICE:
    element.type = KEY_REAL;
    break;
  case KEY_CHOICE_LIST:
    element.type = KEY_CHOICE;
    break;
  case KEY_TEXT_LIST:
    element.type = KEY_TEXT;
    break;
  case KEY_PATH_LIST:
    element.type = KEY_PATH;
    break;
  default:
    break;
  }
  return element;
}

static bool read_words(struct reader *reader, const struct key_spec *spec, const struct node *const *items,
                       const char *const *paths, size_t count, struct key_value *value) {
  struct error err;
  value->texts = memory_new(count, sizeof *value->texts, spec->key, &err);
  if (!value->texts) {
    return out_of_memory(reader);
  }
  bool good = true;
  value->count = count;
  for (size_t i = 0; i < count; i++) {
    value->texts[i] = key_read_text(reader, spec, items[i], paths[i]);
    good = good && value->texts[i];
  }
  return good;
}

static bool read_choices(struct reader *reader, const struct key_spec *spec, const struct node *const *items,
                         const char *const *paths, size_t count, struct key_value *value) {
  bool good = true;
  value->count = count;
  for (size_t i = 0; i < count; i++) {
    int64_t index = -1;
    bool known = key_read_choice(reader, spec, items[i], paths[i], &index);
    for (size_t j = 0; known && j < i; j++) {
      if (value->list[j] == (double)index) {
        reader_report(reader, ERROR_CONFIG_CONFLICT, items[i], paths[i], "'%s' stands twice in the list",
                      items[i]->text);
        known = false;
      }
    }
    value->list[i] = (double)index;
    good = good && known;
  }
  return good;
}

static bool read_numbers(struct reader *reader, const struct key_spec *spec, const struct node *const *items,
                         const char *const *paths, size_t count, struct key_value *value) {
  bool whole = spec->type == KEY_INT, good = true;
  value->count = count;
  for (size_t i = 0; i < count; i++) {
    struct number number = {0};
    if (!key_read_number(reader, spec, whole, items[i], paths[i], &number)) {
      good = false;
    } else if (whole && (number.integer > 1LL << 53 || number.integer < -(1LL << 53))) {
      /* Lists are kept as doubles. */
      reader_report(reader, ERROR_CONFIG_RANGE, items[i], paths[i], "%s is beyond 2^53, which lists cannot keep whole",
                    items[i]->text);
      good = false;
    }
    value->list[i] = number.real;
  }
  return good;
}

bool key_read_list(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                   struct key_value *value) {
  bool words = spec->type == KEY_TEXT_LIST || spec->type == KEY_PATH_LIST;
  bool single_allowed = words || spec->type == KEY_CHOICE_LIST;
  if (node->kind == NODE_MAPPING || (node->kind == NODE_SCALAR && !single_allowed) || node_is_null(node)) {
    const char *hint = node->kind == NODE_SCALAR && !node_is_null(node)
                           ? arena_printf(&reader->arena, "; write [%s]", node->text)
                           : "";
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "is %s; allowed: %s%s",
                  node_is_null(node) ? "empty" : node_kind_name(node), key_allowed(reader, spec), hint);
    return false;
  }
  if (node->kind == NODE_LIST && !check_count(reader, spec, node, path)) {
    return false;
  }
  value->is_list = node->kind == NODE_LIST;
  size_t count = value->is_list ? node->count : 1;
  const struct node **items = arena_array(&reader->arena, count + 1, sizeof *items);
  const char **paths = arena_array(&reader->arena, count + 1, sizeof *paths);
  struct error err;
  value->list = words ? NULL : memory_new(count, sizeof *value->list, spec->key, &err);
  if (!items || !paths || (!words && !value->list)) {
    return out_of_memory(reader);
  }
  for (size_t i = 0; i < count; i++) {
    items[i] = value->is_list ? node->items[i] : node;
    paths[i] = value->is_list ? arena_printf(&reader->arena, "%s[%zu]", path, i) : path;
  }
  struct key_spec element = element_of(spec);
  return words                           ? read_words(reader, &element, items, paths, count, value)
         : spec->type == KEY_CHOICE_LIST ? read_choices(reader, &element, items, paths, count, value)
                                         : read_numbers(reader, &element, items, paths, count, value);
}

enum { TENSOR_MAX_RANK = 4 };

/* Nested lists of numbers, gathered row-major. */
struct tensor_reader {
  struct reader *reader;
  const struct key_spec *spec;
  double *list;
  size_t count, capacity;
  unsigned rank;
  size_t dim[TENSOR_MAX_RANK];
};

/* Rank and lengths as the first elements have them. False after a report. */
static bool measure(struct tensor_reader *tensor, const struct node *node, const char *path, unsigned max_rank) {
  const struct node *at = node;
  for (tensor->rank = 0; at->kind == NODE_LIST; tensor->rank++) {
    if (tensor->rank == max_rank) {
      reader_report(tensor->reader, ERROR_CONFIG_TYPE, at, path, "lists in lists more than %u deep; allowed: %s",
                    max_rank, key_allowed(tensor->reader, tensor->spec));
      return false;
    }
    if (at->count == 0) {
      reader_report(tensor->reader, ERROR_CONFIG_TYPE, at, path, "an empty list; allowed: %s",
                    key_allowed(tensor->reader, tensor->spec));
      return false;
    }
    tensor->dim[tensor->rank] = at->count;
    at = at->items[0];
  }
  return true;
}

static bool read_level(struct tensor_reader *tensor, const struct node *node, const char *path, unsigned level) {
  struct reader *reader = tensor->reader;
  if (level == tensor->rank) {
    struct number number;
    struct key_spec element = element_of(tensor->spec);
    if (!key_read_number(reader, &element, false, node, path, &number)) {
      return false;
    }
    struct error err;
    double *grown =
        memory_grow(tensor->list, &tensor->capacity, tensor->count + 1, sizeof *grown, tensor->spec->key, &err);
    if (!grown) {
      return out_of_memory(reader);
    }
    tensor->list = grown;
    tensor->list[tensor->count++] = number.real;
    return true;
  }
  if (node->kind != NODE_LIST || node->count != tensor->dim[level]) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "is %s; here a list of %zu stands, as before it",
                  node->kind == NODE_LIST ? arena_printf(&reader->arena, "a list of %zu", node->count)
                                          : node_kind_name(node),
                  tensor->dim[level]);
    return false;
  }
  bool good = true;
  for (size_t i = 0; i < node->count; i++) {
    const char *place = arena_printf(&reader->arena, "%s[%zu]", path, i);
    good = read_level(tensor, node->items[i], place, level + 1) && good;
  }
  return good;
}

/* FILE:/dataset or FILE.npy */
static bool names_a_tensor(const char *text) {
  const char *colon = strstr(text, ":/");
  size_t length = strlen(text);
  return (colon && colon > text && colon[2]) || (length > 4 && !strcmp(text + length - 4, ".npy"));
}

bool key_read_tensor(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                     struct key_value *value) {
  bool matrix = spec->type == KEY_MATRIX;
  if (!matrix && node->kind == NODE_SCALAR && !node_is_null(node) && names_a_tensor(node->text)) {
    value->text = key_read_text(reader, spec, node, path);
    return value->text != NULL;
  }
  if (node->kind != NODE_LIST) {
    const char *what = node_is_null(node)          ? "has no value"
                       : node->kind == NODE_SCALAR ? arena_printf(&reader->arena, "'%.60s' names no tensor", node->text)
                                                   : "is a mapping";
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "%s; allowed: %s", what, key_allowed(reader, spec));
    return false;
  }
  struct tensor_reader tensor = {.reader = reader, .spec = spec};
  if (!measure(&tensor, node, path, matrix ? 2 : TENSOR_MAX_RANK)) {
    return false;
  }
  if (matrix && tensor.rank != 2) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, path, "is a list of numbers; allowed: %s",
                  key_allowed(reader, spec));
    return false;
  }
  if (!read_level(&tensor, node, path, 0)) {
    free(tensor.list);
    return false;
  }
  value->list = tensor.list;
  value->count = tensor.count;
  value->rank = tensor.rank;
  memcpy(value->dim, tensor.dim, sizeof value->dim);
  value->rows = matrix ? tensor.dim[0] : 0;
  value->columns = matrix ? tensor.dim[1] : 0;
  return true;
}
