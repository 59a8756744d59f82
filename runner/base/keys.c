#include "base/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct key_value *section_get(const struct section *section, const char *key) {
  if (!section) {
    return NULL;
  }
  for (size_t i = 0; i < section->table->count; i++) {
    if (!strcmp(section->table->keys[i].key, key)) {
      return &section->values[i];
    }
  }
  assert(false && "the table has no such key");
  return NULL;
}

void key_value_clear(struct key_value *value) {
  free(value->text);
  free(value->list);
  for (size_t i = 0; value->texts && i < value->count; i++) {
    free(value->texts[i]);
  }
  free(value->texts);
  section_free(value->section);
  for (size_t i = 0; value->sections && i < value->count; i++) {
    section_free(value->sections[i]);
  }
  free(value->sections);
  *value = (struct key_value){0};
}

void section_free(struct section *section) {
  if (!section) {
    return;
  }
  for (size_t i = 0; section->values && i < section->table->count; i++) {
    key_value_clear(&section->values[i]);
  }
  free(section->values);
  free(section);
}
