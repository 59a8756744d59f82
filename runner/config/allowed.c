#include "config/keys_read.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>

/* "a number", "a number from 0 to 1", "a number of at least 0": `what` with the bounds of the spec. */
static void append_range(struct text *out, const struct key_spec *spec, const char *what) {
  text_append(out, what);
  if (isfinite(spec->min) && isfinite(spec->max)) {
    text_append(out, " from ");
    text_append_double(out, spec->min);
    text_append(out, " to ");
    text_append_double(out, spec->max);
  } else if (isfinite(spec->min)) {
    text_append(out, " of at least ");
    text_append_double(out, spec->min);
  } else if (isfinite(spec->max)) {
    text_append(out, " of at most ");
    text_append_double(out, spec->max);
  }
}

static void append_choices(struct text *out, const struct key_spec *spec) {
  for (size_t i = 0; spec->choices[i]; i++) {
    text_append(out, !i ? "" : spec->choices[i + 1] ? ", " : " or ");
    text_append(out, spec->choices[i]);
  }
}

static void append_allowed(struct text *out, const struct key_spec *spec) {
  switch (spec->type) {
  case KEY_BOOL:
    text_append(out, "true or false");
    break;
  case KEY_INT:
    append_range(out, spec, "a whole number");
    break;
  case KEY_REAL:
    append_range(out, spec, "a number");
    break;
  case KEY_CHOICE:
    append_choices(out, spec);
    break;
  case KEY_TEXT:
    text_append(out, "text");
    break;
  case KEY_PATH:
    text_append(out, "a path");
    break;
  case KEY_INT_LIST:
    append_range(out, spec, "a list, each a whole number");
    break;
  case KEY_REAL_LIST:
    append_range(out, spec, "a list, each a number");
    break;
  case KEY_CHOICE_LIST:
    text_append(out, "one or a list of ");
    append_choices(out, spec);
    break;
  case KEY_TEXT_LIST:
    text_append(out, "text or a list of texts");
    break;
  case KEY_PATH_LIST:
    text_append(out, "a path or a list of paths");
    break;
  case KEY_MATRIX:
    text_append(out, "a list of equally long lists of numbers");
    break;
  case KEY_TENSOR:
    text_append(out, "FILE:/dataset, FILE.npy or nested lists of numbers");
    break;
  case KEY_SECTION:
    text_append(out, "a mapping (key: value)");
    break;
  case KEY_SECTIONS:
    text_append(out, "a list of mappings (- key: value)");
    break;
  case KEY_ENTRIES:
    text_append(out, "a list of entries (- name: {key: value})");
    break;
  case KEY_SWEEP:
    text_append(out, "a mapping of keys to lists of values");
    break;
  }
  if (spec->flags & KEY_OR_LIST) {
    text_append(out, spec->type == KEY_SECTION ? ", a list or FILE:/dataset" : ", or a list of numbers");
  }
  if (spec->flags & KEY_AUTO) {
    text_append(out, ", or auto");
  }
}

const char *key_allowed(struct reader *reader, const struct key_spec *spec) {
  struct error err;
  struct text text = {0};
  append_allowed(&text, spec);
  char *whole = text_take(&text, &err);
  if (!whole) {
    reader->arena.failed = true;
    return "";
  }
  const char *copy = arena_printf(&reader->arena, "%s", whole);
  free(whole);
  return copy;
}

const char *node_kind_name(const struct node *node) {
  return node->kind == NODE_LIST ? "a list" : node->kind == NODE_MAPPING ? "a mapping" : "a single value";
}
