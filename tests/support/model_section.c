#include "model_section.h"

#include "config/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *zeroed(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (!memory) {
    fail_msg("no memory");
  }
  return memory;
}

static char *copy_text(const char *text) {
  char *copy = zeroed(strlen(text) + 1, 1);
  memcpy(copy, text, strlen(text));
  return copy;
}

static struct section *section_of(const struct key_table *table) {
  struct section *section = zeroed(1, sizeof *section);
  section->table = table;
  section->values = zeroed(table->count, sizeof *section->values);
  for (size_t i = 0; i < table->count; i++) {
    const char *fallback = table->keys[i].fallback;
    if (fallback) {
      section->values[i].given = true;
      section->values[i].is_auto = !strcmp(fallback, "auto");
      section->values[i].real = strtod(fallback, NULL);
      section->values[i].integer = (int64_t)section->values[i].real;
      section->values[i].text = table->keys[i].type == KEY_CHOICE ? copy_text(fallback) : NULL;
    }
  }
  return section;
}

struct section *model_section_new(void) {
  return section_of(config_model_table());
}

/* The value at a dotted path, marked as given by the user; sections on the way are made. */
static struct key_value *value_at(struct section *section, const char *path, const struct key_spec **spec) {
  for (;;) {
    size_t length = strcspn(path, ".");
    struct key_value *value = NULL;
    *spec = NULL;
    for (size_t i = 0; i < section->table->count; i++) {
      *spec = &section->table->keys[i];
      if (strlen((*spec)->key) == length && !strncmp((*spec)->key, path, length)) {
        value = &section->values[i];
        break;
      }
    }
    if (!value) {
      fail_msg("the section model has no key %s", path);
      abort();
    }
    value->given = value->by_user = true;
    if (!path[length]) {
      return value;
    }
    if (!value->section) {
      value->section = section_of((*spec)->section);
    }
    section = value->section;
    path += length + 1;
  }
}

void model_section_text(struct section *section, const char *path, const char *text) {
  const struct key_spec *spec = NULL;
  struct key_value *value = value_at(section, path, &spec);
  if (spec->type == KEY_TEXT_LIST || spec->type == KEY_PATH_LIST) {
    char **texts = zeroed(value->count + 1, sizeof *texts);
    if (value->count) {
      memcpy(texts, value->texts, value->count * sizeof *texts);
    }
    free(value->texts);
    value->texts = texts;
    value->texts[value->count++] = copy_text(text);
    return;
  }
  free(value->text);
  value->text = copy_text(text);
}

void model_section_number(struct section *section, const char *path, double number) {
  const struct key_spec *spec = NULL;
  struct key_value *value = value_at(section, path, &spec);
  value->is_auto = false;
  value->real = number;
  value->integer = (int64_t)number;
}

void model_section_list(struct section *section, const char *path, const double *list, size_t count) {
  const struct key_spec *spec = NULL;
  struct key_value *value = value_at(section, path, &spec);
  free(value->list);
  value->list = zeroed(count, sizeof *value->list);
  memcpy(value->list, list, count * sizeof *list);
  value->count = value->dim[0] = count;
  value->rank = 1;
}

void model_section_matrix(struct section *section, const char *path, const double *list, size_t rows, size_t columns) {
  const struct key_spec *spec = NULL;
  model_section_list(section, path, list, rows * columns);
  struct key_value *value = value_at(section, path, &spec);
  value->rows = value->dim[0] = rows;
  value->columns = value->dim[1] = columns;
  value->rank = 2;
}
