#include "jobs/environments.h"

#include "base/json_text.h"
#include "base/memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int add_one(struct environments *environments, const char *json, struct error *err) {
  for (size_t i = 0; i < environments->count; i++) {
    if (!strcmp(environments->texts[i], json)) {
      return 0;
    }
  }
  char **grown = memory_grow(environments->texts, &environments->capacity, environments->count + 1, sizeof *grown,
                             "provenance", err);
  if (!grown) {
    return err->code;
  }
  environments->texts = grown;
  grown[environments->count] = memory_copy_text(json, err);
  if (!grown[environments->count]) {
    return err->code;
  }
  environments->count++;
  return 0;
}

int environments_add(struct environments *environments, const char *json, struct error *err) {
  json_error_t where;
  json_t *root = json[0] == '[' ? json_loads(json, 0, &where) : NULL;
  if (!root) {
    return add_one(environments, json, err);
  }
  int status = 0;
  size_t i;
  const json_t *item;
  json_array_foreach(root, i, item) {
    char *text = status ? NULL : json_to_text(item, JSON_INDENT(2), err);
    status = status ? status : text ? add_one(environments, text, err) : (int)err->code;
    free(text);
  }
  json_decref(root);
  return status;
}

char *environments_text(const struct environments *environments, struct error *err) {
  if (environments->count < 2) {
    return memory_copy_text(environments->count ? environments->texts[0] : "{}", err);
  }
  json_t *list = json_array();
  for (size_t i = 0; list && i < environments->count; i++) {
    json_error_t where;
    json_t *item = json_loads(environments->texts[i], 0, &where);
    if (!item || json_array_append_new(list, item)) {
      json_decref(list);
      list = NULL;
    }
  }
  char *text = json_to_text(list, JSON_INDENT(2), err);
  json_decref(list);
  return text;
}

void environments_free(struct environments *environments) {
  for (size_t i = 0; i < environments->count; i++) {
    free(environments->texts[i]);
  }
  free(environments->texts);
  *environments = (struct environments){0};
}
