#include "config/sweep.h"

#include "base/text.h"
#include "config/keys_read.h"
#include "config/number.h"

#include <stdlib.h>
#include <string.h>

/* One key of the sweep: the entry it belongs to, where in the entry, and its values. */
struct swept_key {
  struct key_target target;
  const struct node *at;     /* the key in the config */
  const struct node *values; /* a list, not empty */
};

struct sweep {
  struct reader *reader;
  struct key_path_finder finder;
  struct swept_key *keys;
  size_t count;
};

static bool report(struct sweep *sweep, enum error_code code, const struct node *at, const char *key,
                   const char *sentence) {
  reader_report(sweep->reader, code, at, reader_path(sweep->reader, "sweep", key), "%s", sentence);
  return false;
}

/* Find what one key of the sweep means. False after a report. */
static bool read_key(struct sweep *sweep, const struct node *key, const struct node *values, struct swept_key *out) {
  struct key_path path;
  sweep->finder.at = key;
  if (!key_path_parse(&sweep->finder, key->text, strlen(key->text), &path)) {
    return false;
  }
  if (values->kind != NODE_LIST || values->count == 0) {
    return report(sweep, ERROR_CONFIG_TYPE, values, key->text,
                  arena_printf(&sweep->reader->arena, "is %s; allowed: a list of values, such as [1, 2]",
                               values->kind == NODE_LIST || node_is_null(values) ? "empty" : node_kind_name(values)));
  }
  if (path.count == 1 && path.parts[0].name && !strcmp(path.parts[0].name, "seed")) {
    return report(sweep, ERROR_CONFIG_CONFLICT, key, key->text,
                  "seed cannot be swept; 'seeds: N' runs N of them, seed and up");
  }
  if (!key_path_find(&sweep->finder, &path, &out->target)) {
    return false;
  }
  if (!out->target.list) {
    return report(sweep, ERROR_CONFIG_CONFLICT, key, key->text,
                  "only keys of schemes and experiments can be swept; run the config once per value, as in "
                  "'pe-run CONFIG key=value'");
  }
  const struct key_part *first = &out->target.path.parts[0];
  if (first->name && !strcmp(first->name, "label")) {
    return report(sweep, ERROR_CONFIG_CONFLICT, key, key->text, "labels cannot be swept; a sweep makes its own");
  }
  out->at = key;
  out->values = values;
  return true;
}

void sweep_append_value(struct text *label, const struct node *value) {
  for (size_t i = 0; value->kind != NODE_SCALAR && i < value->count; i++) {
    if (value->kind == NODE_MAPPING) {
      text_append(label, i ? "_" : "");
      text_append(label, value->keys[i]->text);
    }
    text_append(label, i || value->kind == NODE_MAPPING ? "_" : "");
    sweep_append_value(label, value->items[i]);
  }
  if (value->kind != NODE_SCALAR) {
    return;
  }
  struct number number;
  struct text written = {0};
  size_t length = strlen(value->text);
  bool is_path = strchr(value->text, '/') && length > 3 && !strcmp(value->text + length - 3, ".h5");
  bool is_number = !value->quoted && number_parse(value->text, &number) == NUMBER_OK;
  if (is_number) {
    text_append_double(&written, number.real);
  } else if (is_path) { /* ../models/rope-0.h5: rope_0 */
    const char *name = strrchr(value->text, '/') + 1, *dot = strrchr(name, '.');
    text_append_bytes(&written, name, dot ? (size_t)(dot - name) : strlen(name));
  } else {
    text_append(&written, value->text);
  }
  label->failed = label->failed || written.failed;
  for (const char *c = written.data; c && *c; c++) {
    bool word = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
    if (is_number && *c == '+') {
      continue;
    }
    char kept = word ? *c : is_number && *c == '.' ? 'p' : is_number && *c == '-' ? 'm' : '_';
    text_append_bytes(label, &kept, 1);
  }
  text_free(&written);
}

/* "_base_500000": what one key adds to the label. */
static void append_suffix(struct text *label, const struct swept_key *key, const char *id, const struct node *value) {
  const struct key_path *path = &key->target.path;
  for (size_t i = 0; i < path->count; i++) {
    const struct key_part *part = &path->parts[i];
    if (i == 0 && part->name && !strcmp(part->name, id)) {
      continue;
    }
    if (part->name) {
      text_printf(label, "_%s", part->name);
    } else {
      text_printf(label, "_%zu", part->index);
    }
  }
  text_append(label, "_");
  sweep_append_value(label, value);
}

/* The entry at one point of its sweep. NULL after a report or without memory. */
static struct node *make_point(struct sweep *sweep, const struct entry_list *list, const struct node *entry,
                               size_t index, size_t point) {
  struct reader *reader = sweep->reader;
  struct error err;
  const char *own = entry_label(list, entry);
  struct node *copy = node_copy(reader, entry, node_get(sweep->finder.root, "sweep"));
  struct text label = {0};
  const struct node *last_value = NULL;
  text_append(&label, own);
  size_t block = 1;
  for (size_t i = 0; i < sweep->count; i++) {
    block *=
        sweep->keys[i].target.list == list && sweep->keys[i].target.index == index ? sweep->keys[i].values->count : 1;
  }
  for (size_t i = 0; copy && i < sweep->count; i++) {
    const struct swept_key *key = &sweep->keys[i];
    if (key->target.list != list || key->target.index != index) {
      continue;
    }
    block /= key->values->count;
    last_value = key->values->items[point / block % key->values->count];
    struct node *value = node_copy(reader, last_value, key->at);
    struct key_target target = key->target;
    target.node = copy;
    sweep->finder.at = key->at;
    if (!value || !key_path_set(&sweep->finder, &target, value)) {
      copy = NULL;
      break;
    }
    append_suffix(&label, key, entry_name(list, entry)->text, last_value);
  }
  char *whole = text_take(&label, &err);
  struct node *name =
      copy && whole ? node_new_text(reader, arena_printf(&reader->arena, "%s", whole), last_value) : NULL;
  reader->arena.failed = reader->arena.failed || !whole;
  free(whole);
  if (!name || !node_set(reader, copy, "label", name, name)) {
    return NULL;
  }
  copy->text = own;
  return copy;
}

/* Points of an entry; 0: none of the sweep's keys is its; more than the limit where there are too many. */
static size_t count_points(const struct sweep *sweep, const struct entry_list *list, size_t index) {
  size_t points = 0;
  for (size_t i = 0; i < sweep->count && points <= SWEEP_MAX_POINTS; i++) {
    if (sweep->keys[i].target.list == list && sweep->keys[i].target.index == index) {
      points = (points ? points : 1) * sweep->keys[i].values->count;
    }
  }
  return points;
}

static void expand_list(struct sweep *sweep, const struct entry_list *list, const struct node *at) {
  struct reader *reader = sweep->reader;
  const struct node *entries = node_get(sweep->finder.root, list->key);
  if (!entries || entries->kind != NODE_LIST) {
    return;
  }
  struct node *whole = node_new(reader, NODE_LIST, entries);
  for (size_t i = 0; whole && i < entries->count; i++) {
    size_t points = count_points(sweep, list, i);
    if (points > SWEEP_MAX_POINTS || whole->count + points > SWEEP_MAX_POINTS) {
      reader_report(reader, ERROR_CONFIG_LIMIT, at, "sweep", "makes more than %d %ss", SWEEP_MAX_POINTS, list->what);
      return;
    }
    if (points == 0 && !node_append(reader, whole, entries->items[i])) {
      return;
    }
    for (size_t point = 0; point < points; point++) {
      struct node *made = make_point(sweep, list, entries->items[i], i, point);
      if (!made || !node_append(reader, whole, made)) {
        return;
      }
    }
  }
  if (whole) {
    node_set(reader, sweep->finder.root, list->key, whole, whole);
  }
}

void sweep_expand(struct reader *reader, struct node *root, const struct entry_list *schemes,
                  const struct entry_list *experiments) {
  const struct node *node = node_get(root, "sweep");
  if (!node || node_is_null(node)) {
    return;
  }
  if (node->kind != NODE_MAPPING) {
    reader_report(reader, ERROR_CONFIG_TYPE, node, "sweep", "is %s; allowed: {rope.base: [10000, 500000]}",
                  node_kind_name(node));
    return;
  }
  struct sweep sweep = {.reader = reader,
                        .finder = {.reader = reader,
                                   .root = root,
                                   .schemes = schemes,
                                   .experiments = experiments,
                                   .code = ERROR_CONFIG_UNKNOWN_KEY}};
  sweep.keys = arena_array(&reader->arena, node->count + 1, sizeof *sweep.keys);
  bool good = sweep.keys != NULL;
  for (size_t i = 0; sweep.keys && i < node->count; i++) {
    good = read_key(&sweep, node->keys[i], node->items[i], &sweep.keys[sweep.count]) && good;
    sweep.count += good;
  }
  if (good) {
    expand_list(&sweep, schemes, node);
    expand_list(&sweep, experiments, node);
  }
}
