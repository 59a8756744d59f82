#include "config/json_file.h"

#include "base/json_text.h"
#include "base/text.h"
#include "config/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 60 };

bool json_file_read(struct json_file *file, struct reader *reader, const char *path) {
  *file = (struct json_file){.reader = reader};
  const char *bytes;
  if (!source_read(reader, path, &file->source, &bytes)) {
    return false;
  }
  json_error_t error;
  json_t *root = json_loadb(file->source.text, file->source.length, JSON_REJECT_DUPLICATES, &error);
  if (!root) {
    reader_report_at(reader, ERROR_CONFIG_JSON, &file->source, error.line > 0 ? error.line : 0,
                     error.column > 0 ? error.column : 1, "not JSON that can be relied on: %s", error.text);
    return false;
  }
  if (!json_is_object(root)) {
    reader_report_at(reader, ERROR_CONFIG_TYPE, &file->source, 1, 1, "%s where an object of keys is meant",
                     json_kind_name(root));
    json_decref(root);
    return false;
  }
  file->root = root;
  return true;
}

void json_file_close(struct json_file *file) {
  json_decref(file->root);
  file->root = NULL;
}

/* The functions below walk over text that jansson has accepted, so that every bracket and quote has its partner. */

static size_t skip_space(const char *text, size_t at) {
  return at + strspn(text + at, " \t\r\n");
}

/* Behind the text whose opening quote is at `at`. */
static size_t skip_text(const char *text, size_t at) {
  for (at++; text[at] != '"'; at++) {
    at += text[at] == '\\';
  }
  return at + 1;
}

static size_t skip_value(const char *text, size_t at) {
  size_t depth = 0;
  do {
    switch (text[at]) {
    case '"':
      at = skip_text(text, at);
      break;
    case '{':
    case '[':
      depth++;
      at++;
      break;
    case '}':
    case ']':
      depth--;
      at++;
      break;
    case ',':
    case ':':
    case ' ':
    case '\t':
    case '\r':
    case '\n':
      at++;
      break;
    default:
      at += strcspn(text + at, ",]} \t\r\n");
      break;
    }
  } while (depth);
  return at;
}

/* Offset of the value of `key` in the object that starts at `at`; (size_t)-1 where no key is spelled like that. */
static size_t find_value(const char *text, size_t at, const char *key) {
  size_t length = strlen(key);
  at = skip_space(text, at + 1);
  while (text[at] == '"') {
    size_t end = skip_text(text, at);
    bool same = end - at == length + 2 && !memcmp(text + at + 1, key, length);
    at = skip_space(text, skip_space(text, end) + 1);
    if (same) {
      return at;
    }
    at = skip_space(text, skip_value(text, at));
    at = skip_space(text, at + (text[at] == ','));
  }
  return (size_t)-1;
}

static size_t find_object(const char *text, const struct json_object *object) {
  if (!object->parent) {
    return skip_space(text, 0);
  }
  size_t parent = find_object(text, object->parent);
  return parent == (size_t)-1 ? parent : find_value(text, parent, object->name);
}

struct json_place json_file_place(const struct json_file *file, const struct json_object *object, const char *key) {
  const char *text = file->source.text;
  size_t at = find_object(text, object);
  if (at != (size_t)-1 && json_object_get(object->json, key)) {
    at = find_value(text, at, key);
  }
  if (at == (size_t)-1) {
    return (struct json_place){0};
  }
  struct json_place place = {1, 1};
  for (size_t i = 0; i < at;) {
    size_t newline = utf8_line_break(text + i, at - i), width = utf8_length(text + i, at - i);
    place.line += newline ? 1 : 0;
    place.column = newline ? 1 : place.column + 1;
    i += newline ? newline : width ? width : 1;
  }
  return place;
}

const char *json_path(struct reader *reader, const struct json_object *object, const char *key) {
  if (!object->parent) {
    return key;
  }
  const char *own = json_path(reader, object->parent, object->name);
  return key[0] ? reader_path(reader, own, key) : own;
}

const char *json_kind_name(const json_t *value) {
  switch (json_typeof(value)) {
  case JSON_OBJECT:
    return "an object";
  case JSON_ARRAY:
    return "a list";
  case JSON_STRING:
    return "text";
  case JSON_INTEGER:
  case JSON_REAL:
    return "a number";
  case JSON_TRUE:
  case JSON_FALSE:
    return "true or false";
  default:
    return "null";
  }
}

const char *json_shown(struct reader *reader, const json_t *value) {
  if (json_is_object(value) || json_is_array(value)) {
    return json_kind_name(value);
  }
  struct error err;
  struct text written = {0};
  if (json_is_real(value)) {
    text_append_double(&written, json_real_value(value));
    text_append(&written, strpbrk(written.data ? written.data : "", ".e") ? "" : ".0");
  } else {
    char *dumped = json_to_text(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII, &err);
    text_append(&written, dumped ? dumped : "?");
    free(dumped);
  }
  char *text = text_take(&written, &err);
  if (!text) {
    reader->arena.failed = true;
    return "?";
  }
  size_t length = strlen(text);
  size_t shown = 0;
  while (shown < length && shown < SHOWN_BYTES) {
    size_t width = utf8_length(text + shown, length - shown);
    shown += width ? width : 1;
  }
  const char *copy = arena_printf(&reader->arena, "%.*s%s", (int)shown, text, shown < length ? "..." : "");
  free(text);
  return copy;
}
