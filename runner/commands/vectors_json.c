#include "commands/vectors.h"

#include "base/text.h"

#include <string.h>

/* A text between quotes. Names and sentences of the program and of plugins: UTF-8. */
static void append_quoted(struct text *text, const char *string) {
  text_append(text, "\"");
  for (const char *at = string; *at; at++) {
    unsigned char c = (unsigned char)*at;
    if (c == '"' || c == '\\') {
      text_printf(text, "\\%c", c);
    } else if (c < 0x20) {
      text_printf(text, "\\u%04x", c);
    } else {
      text_append_bytes(text, at, 1);
    }
  }
  text_append(text, "\"");
}

static void append_attribute(struct text *text, const struct attribute *attribute) {
  text_append(text, "  ");
  append_quoted(text, attribute->name);
  text_append(text, ": ");
  switch (attribute->kind) {
  case ATTRIBUTE_TEXT:
    if (!strcmp(attribute->name, "parameters")) {
      text_append(text, attribute->text);
    } else {
      append_quoted(text, attribute->text);
    }
    break;
  case ATTRIBUTE_INT:
    text_printf(text, "%lld", (long long)attribute->integer);
    break;
  default:
    text_append_double(text, attribute->real);
    break;
  }
  text_append(text, ",\n");
}

static void append_item(struct text *text, const struct tensors_item *item) {
  const double *data = item->data;
  size_t count = 1;
  text_append(text, "    ");
  append_quoted(text, item->name + strspn(item->name, "/"));
  text_append(text, ": {\"shape\": [");
  for (unsigned axis = 0; axis < item->rank; axis++) {
    text_printf(text, axis ? ", %zu" : "%zu", item->dim[axis]);
    count *= item->dim[axis];
  }
  text_append(text, "], \"doc\": ");
  append_quoted(text, item->doc ? item->doc : "");
  text_append(text, ", \"data\": [");
  for (size_t i = 0; i < count; i++) {
    text_append(text, i ? ", " : "");
    text_append_double(text, data[i]);
  }
  text_append(text, "]}");
}

char *vectors_json(const struct tensors *tensors, struct error *err) {
  struct text text = {0};
  text_append(&text, "{\n");
  for (size_t i = 0; tensors->attributes && i < tensors->attributes->count; i++) {
    append_attribute(&text, &tensors->attributes->items[i]);
  }
  text_append(&text, "  \"tensors\": {\n");
  for (size_t i = 0; i < tensors->count; i++) {
    append_item(&text, &tensors->items[i]);
    text_append(&text, i + 1 < tensors->count ? ",\n" : "\n");
  }
  text_append(&text, "  }\n}\n");
  return text_take(&text, err);
}
