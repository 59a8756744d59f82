/* Keys of a model's config: typed, with their place where they are wrong, and a note of each that was used. */
#include "config/model_config_reader.h"

#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model_mark {
  const json_t *object;
  const char *key;
  const char *why; /* NULL: used */
};

__attribute__((format(printf, 2, 0))) static const char *format_text(struct model_reader *reader, const char *format,
                                                                     va_list arguments) {
  char *text = NULL;
  if (vasprintf(&text, format, arguments) < 0) {
    reader->reader.arena.failed = true;
    return "";
  }
  const char *copy = arena_copy(&reader->reader.arena, text, strlen(text));
  free(text);
  return copy ? copy : "";
}

/* `array` with room for one more element, in the arena. NULL: no memory. */
static void *grow(struct model_reader *reader, void *array, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) {
    return array;
  }
  size_t larger = *capacity ? 2 * *capacity : 32;
  void *grown = arena_array(&reader->reader.arena, larger, size);
  if (grown && count) {
    memcpy(grown, array, count * size);
  }
  if (grown) {
    *capacity = larger;
  }
  return grown;
}

void model_warn(struct model_reader *reader, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *text = format_text(reader, format, arguments);
  va_end(arguments);
  for (size_t i = 0; i < reader->n_warnings; i++) {
    if (!strcmp(reader->warnings[i], text)) {
      return;
    }
  }
  const char **grown =
      grow(reader, reader->warnings, reader->n_warnings, &reader->warnings_capacity, sizeof *reader->warnings);
  if (grown) {
    reader->warnings = grown;
    reader->warnings[reader->n_warnings++] = text;
  }
}

void model_refuse(struct model_reader *reader, enum error_code code, const struct json_object *object, const char *key,
                  const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *text = format_text(reader, format, arguments);
  va_end(arguments);
  struct json_place place = json_file_place(&reader->file, object, key);
  const char *path = json_path(&reader->reader, object, key);
  reader_report_at(&reader->reader, code, &reader->file.source, place.line, place.column, "%s%s%s", path,
                   path[0] ? ": " : "", text);
}

static void mark(struct model_reader *reader, const struct json_object *object, const char *key, const char *why) {
  for (size_t i = 0; i < reader->n_marks; i++) {
    if (reader->marks[i].object == object->json && !strcmp(reader->marks[i].key, key)) {
      reader->marks[i].why = why;
      return;
    }
  }
  struct model_mark *grown =
      grow(reader, reader->marks, reader->n_marks, &reader->marks_capacity, sizeof *reader->marks);
  if (grown) {
    reader->marks = grown;
    reader->marks[reader->n_marks++] = (struct model_mark){object->json, key, why};
  }
}

const json_t *model_peek(const struct json_object *object, const char *key) {
  const json_t *value = json_object_get(object->json, key);
  return value && !json_is_null(value) ? value : NULL;
}

const json_t *model_key(struct model_reader *reader, const struct json_object *object, const char *key) {
  const json_t *value = model_peek(object, key);
  if (value) {
    mark(reader, object, key, NULL);
  }
  return value;
}

void model_not_used(struct model_reader *reader, const struct json_object *object, const char *key, const char *why) {
  if (model_peek(object, key)) {
    mark(reader, object, key, why);
  }
}

static void refuse_type(struct model_reader *reader, const struct json_object *object, const char *key,
                        const json_t *value, const char *meant) {
  model_refuse(reader, ERROR_CONFIG_TYPE, object, key, "%s is %s where %s is meant", json_shown(&reader->reader, value),
               json_kind_name(value), meant);
}

const char *model_digits(struct model_reader *reader, double value) {
  struct error err;
  struct text text = {0};
  if (value == floor(value) && fabs(value) < 1e15) {
    text_printf(&text, "%.0f", value);
  } else {
    text_append_double(&text, value);
  }
  char *digits = text_take(&text, &err);
  const char *copy = digits ? arena_copy(&reader->reader.arena, digits, strlen(digits)) : NULL;
  free(digits);
  return copy ? copy : "?";
}

bool model_number(struct model_reader *reader, const struct json_object *object, const char *key, double min,
                  double max, double *value) {
  const json_t *json = model_key(reader, object, key);
  if (!json) {
    return false;
  }
  if (!json_is_number(json)) {
    refuse_type(reader, object, key, json, "a number");
    return false;
  }
  double number = json_number_value(json);
  if (!(number >= min && number <= max)) {
    model_refuse(reader, ERROR_CONFIG_RANGE, object, key, "%s is out of range: allowed are numbers from %s to %s",
                 json_shown(&reader->reader, json), model_digits(reader, min), model_digits(reader, max));
    return false;
  }
  *value = number;
  return true;
}

bool model_whole(struct model_reader *reader, const struct json_object *object, const char *key, double max,
                 double *value) {
  double number;
  if (!model_number(reader, object, key, 1, max, &number)) {
    return false;
  }
  if (number != floor(number)) {
    model_refuse(reader, ERROR_CONFIG_TYPE, object, key, "%s where a whole number is meant",
                 model_digits(reader, number));
    return false;
  }
  *value = number;
  return true;
}

bool model_text(struct model_reader *reader, const struct json_object *object, const char *key, const char **value) {
  const json_t *json = model_key(reader, object, key);
  if (json && !json_is_string(json)) {
    refuse_type(reader, object, key, json, "text");
    return false;
  }
  if (json) {
    *value = json_string_value(json);
  }
  return json != NULL;
}

bool model_truth(struct model_reader *reader, const struct json_object *object, const char *key, bool *value) {
  const json_t *json = model_key(reader, object, key);
  if (json && !json_is_boolean(json)) {
    refuse_type(reader, object, key, json, "true or false");
    return false;
  }
  if (json) {
    *value = json_is_true(json);
  }
  return json != NULL;
}

const char *model_first_whole(struct model_reader *reader, const struct json_object *object, const char *const *names,
                              double max, double *value) {
  const char *found = NULL;
  double number;
  for (; *names; names++) {
    if (!model_whole(reader, object, *names, max, &number)) {
      continue;
    }
    if (!found) {
      found = *names;
      *value = number;
    } else if (number != *value) {
      model_refuse(reader, ERROR_CONFIG_CONFLICT, object, *names, "%s differs from %s %s, and both mean the same",
                   model_digits(reader, number), found, model_digits(reader, *value));
    }
  }
  return found;
}

bool model_object(struct model_reader *reader, const struct json_object *parent, const char *key,
                  struct json_object *object) {
  model_key(reader, parent, key);
  json_t *json = json_object_get(parent->json, key);
  json = json && json_is_null(json) ? NULL : json;
  if (json && !json_is_object(json)) {
    refuse_type(reader, parent, key, json, "an object of keys");
    return false;
  }
  if (json) {
    *object = (struct json_object){json, parent, key};
  }
  return json != NULL;
}

const char *model_type_words(struct model_reader *reader) {
  const char *type = reader->config->model_type;
  if (!type) {
    return "a file without model_type";
  }
  return arena_printf(&reader->reader.arena, "%smodel_type %s", reader->defaults.model_type ? "" : "the unknown ",
                      type);
}

static const struct model_mark *find_mark(const struct model_reader *reader, const json_t *object, const char *key) {
  for (size_t i = 0; i < reader->n_marks; i++) {
    if (reader->marks[i].object == object && !strcmp(reader->marks[i].key, key)) {
      return &reader->marks[i];
    }
  }
  return NULL;
}

struct unused_list {
  struct model_unused *items;
  size_t count, capacity;
};

static void add_unused(struct model_reader *reader, struct unused_list *list, const struct json_object *object,
                       const char *key, const char *why) {
  struct model_unused *grown = grow(reader, list->items, list->count, &list->capacity, sizeof *list->items);
  if (grown) {
    list->items = grown;
    /* A key without a path is the file's own memory. */
    const char *path = json_path(&reader->reader, object, key);
    path = arena_copy(&reader->reader.arena, path, strlen(path));
    list->items[list->count++] = (struct model_unused){path ? path : "", why};
  }
}

static void list_object(struct model_reader *reader, struct unused_list *list, const struct json_object *object) {
  const char *key;
  json_t *value;
  json_object_foreach(object->json, key, value) {
    const struct model_mark *found = find_mark(reader, object->json, key);
    bool outside = object->json == reader->root.json && reader->keys.json != reader->root.json;
    if (found && !found->why) {
      if (json_is_object(value)) {
        struct json_object *below = arena_new(&reader->reader.arena, sizeof *below);
        if (below) {
          *below = (struct json_object){value, object, key};
          list_object(reader, list, below);
        }
      }
      continue;
    }
    const char *why = found ? found->why : model_unused_reason(key);
    if (json_is_null(value)) {
      why = why ? arena_printf(&reader->reader.arena, "null; %s", why) : "null";
    }
    add_unused(reader, list, object, key, why ? why : outside ? "outside text_config" : "");
  }
}

void model_list_unused(struct model_reader *reader) {
  struct unused_list list = {0};
  list_object(reader, &list, &reader->root);
  reader->config->unused = list.items;
  reader->config->n_unused = list.count;
}
