#include "config/overrides.h"

#include "config/yaml_tree.h"

#include <string.h>

enum { SHOWN_ARGUMENT = 60 };

static bool apply(struct key_path_finder *finder, const struct source *source) {
  struct reader *reader = finder->reader;
  const char *text = source->text, *sign = strchr(text, '=');
  if (!source_check(reader, source)) {
    return false;
  }
  if (!sign || sign == text) {
    reader_report(reader, ERROR_OVERRIDE, finder->at, NULL, "%s; a setting is key=value, such as seed=7",
                  sign ? "no key stands before '='" : "no '=' in it");
    return false;
  }
  struct key_path path;
  struct key_target target;
  if (!key_path_parse(finder, text, (size_t)(sign - text), &path)) {
    return false;
  }
  struct node *value = tree_parse(reader, source, (size_t)(sign + 1 - text));
  if (!value) {
    return false;
  }
  if (node_is_null(value) && !value->text[0]) {
    reader_report(reader, ERROR_OVERRIDE, finder->at, NULL,
                  "no value stands after '='; write %.*s=\"\" for an empty text, %.*s=null for the default",
                  (int)(sign - text), text, (int)(sign - text), text);
    return false;
  }
  if (!strcmp(path.parts[0].name ? path.parts[0].name : "", "sweep") && path.count > 1) {
    /* The keys of a sweep are paths themselves. */
    path.parts[1].name = arena_copy(&reader->arena, text + strlen("sweep."), (size_t)(sign - text) - strlen("sweep."));
    path.count = 2;
  }
  if (!key_path_find(finder, &path, &target)) {
    return false;
  }
  const struct node *there = key_path_get(&target);
  bool empty = there && there->kind == NODE_MAPPING && there->count == 0; /* `schemes=[rope] rope={base: 2}` */
  if (there && there->source->argument && !empty) {
    reader_report(reader, ERROR_OVERRIDE, finder->at, NULL, "the key is set already, by %s; set it once",
                  there->source->place);
    return false;
  }
  return key_path_set(finder, &target, node_is_null(value) ? NULL : value) && entries_normalise(reader, finder->root);
}

bool overrides_apply(struct reader *reader, struct node *root, const struct entry_list *schemes,
                     const struct entry_list *experiments, const char *const *arguments, size_t count) {
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    const char *text = arguments[i];
    size_t length = strlen(text);
    struct source *source = arena_new(&reader->arena, sizeof *source);
    struct node *at = arena_new(&reader->arena, sizeof *at);
    if (!source || !at) {
      return false;
    }
    *source = (struct source){.place = arena_printf(&reader->arena, "argument %zu (%.*s%s)", i + 1, SHOWN_ARGUMENT,
                                                    text, length > SHOWN_ARGUMENT ? "..." : ""),
                              .text = text,
                              .length = length,
                              .argument = (int)i + 1};
    *at = (struct node){.source = source, .text = "", .column = 1};
    struct key_path_finder finder = {.reader = reader,
                                     .root = root,
                                     .schemes = schemes,
                                     .experiments = experiments,
                                     .at = at,
                                     .code = ERROR_OVERRIDE};
    good = apply(&finder, source) && good;
  }
  return good;
}
