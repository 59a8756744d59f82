#include "results/sweep_points.h"

#include "base/memory.h"
#include "base/text.h"
#include "config/number.h"
#include "config/sweep.h"
#include "config/yaml_tree.h"
#include "results/read_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one key of an entry would add to its label. */
struct ending {
  char key[RECORD_NAME];
  char text[3 * RECORD_NAME];
  const struct node *value;
};

/* The ending of `label` that is the longest so far. */
static void try_ending(const char *label, const char *key, const struct node *value, struct ending *best) {
  struct text text = {0};
  text_printf(&text, "_%s_", key);
  sweep_append_value(&text, value);
  size_t length = strlen(label);
  if (!text.failed && text.length < length && text.length < sizeof best->text &&
      !strcmp(label + length - text.length, text.data) && text.length > strlen(best->text)) {
    snprintf(best->key, sizeof best->key, "%s", key);
    snprintf(best->text, sizeof best->text, "%s", text.data);
    best->value = value;
  }
  text_free(&text);
}

/* All keys below a mapping; keys of keys are written as the sweep does, "positions_divide". */
static void try_keys(const char *label, const char *above, const struct node *mapping, struct ending *best) {
  for (size_t i = 0; i < mapping->count; i++) {
    char key[RECORD_NAME];
    int length = snprintf(key, sizeof key, "%s%s%s", above, *above ? "_" : "", mapping->keys[i]->text);
    if (length < 0 || (size_t)length >= sizeof key) {
      continue;
    }
    if (mapping->items[i]->kind == NODE_MAPPING) {
      try_keys(label, key, mapping->items[i], best);
    } else {
      try_ending(label, key, mapping->items[i], best);
    }
  }
}

static void append_shown(struct text *out, const struct node *value) {
  if (value->kind == NODE_SCALAR) {
    const char *slash = strrchr(value->text, '/');
    text_append(out, slash && slash[1] ? slash + 1 : value->text);
    return;
  }
  text_append(out, "[");
  for (size_t i = 0; i < value->count; i++) {
    text_append(out, i ? ", " : "");
    append_shown(out, value->items[i]);
  }
  text_append(out, "]");
}

static struct swept_value value_of(const struct ending *ending) {
  struct swept_value swept = {.number = NAN};
  struct number number;
  struct text shown = {0};
  append_shown(&shown, ending->value);
  snprintf(swept.key, sizeof swept.key, "%s", ending->key);
  snprintf(swept.text, sizeof swept.text, "%s", shown.data ? shown.data : "");
  text_free(&shown);
  swept.is_number = ending->value->kind == NODE_SCALAR && !ending->value->quoted &&
                    number_parse(ending->value->text, &number) == NUMBER_OK && isfinite(number.real);
  swept.number = swept.is_number ? number.real : NAN;
  return swept;
}

/* The label taken apart from its end; a point without keys where it is none. */
static struct sweep_point point_of(const struct node *entry) {
  struct sweep_point point = {0};
  const struct node *label = node_get(entry, "label"), *keys = entry->count ? entry->items[0] : NULL;
  if (!keys || !label || label->kind != NODE_SCALAR) {
    return point;
  }
  snprintf(point.name, sizeof point.name, "%s", entry->keys[0]->text);
  snprintf(point.label, sizeof point.label, "%s", label->text);
  snprintf(point.base, sizeof point.base, "%s", label->text);
  while (point.n_keys < SWEEP_MAX_KEYS) {
    struct ending best = {0};
    if (keys->kind == NODE_MAPPING) {
      try_keys(point.base, "", keys, &best);
    }
    for (size_t i = 1; i < entry->count; i++) {
      const struct node *beside = entry->items[i];
      if (beside->kind == NODE_MAPPING) {
        try_keys(point.base, entry->keys[i]->text, beside, &best);
      } else if (beside != label) {
        try_ending(point.base, entry->keys[i]->text, beside, &best);
      }
    }
    if (!best.value) {
      break;
    }
    point.base[strlen(point.base) - strlen(best.text)] = '\0';
    memmove(&point.keys[1], &point.keys[0], point.n_keys * sizeof point.keys[0]);
    point.keys[0] = value_of(&best);
    point.n_keys++;
  }
  return point;
}

static bool same_family(const struct sweep_point *a, const struct sweep_point *b) {
  bool same = a->n_keys && a->n_keys == b->n_keys && !strcmp(a->name, b->name) && !strcmp(a->base, b->base);
  for (size_t i = 0; same && i < a->n_keys; i++) {
    same = !strcmp(a->keys[i].key, b->keys[i].key);
  }
  return same;
}

/* Number the families and drop the points that are alone. */
static void find_families(struct sweep_points *points) {
  size_t kept = 0, all = points->count;
  struct sweep_point *list = points->points;
  for (size_t i = 0; i < all; i++) {
    list[i].family = all;
  }
  for (size_t i = 0; i < all; i++) {
    for (size_t k = i + 1; k < all && list[i].family == all; k++) {
      if (same_family(&list[i], &list[k])) {
        list[i].family = points->n_families++;
      }
    }
    for (size_t k = i + 1; k < all && list[i].family < all; k++) {
      if (same_family(&list[i], &list[k])) {
        list[k].family = list[i].family;
      }
    }
  }
  for (size_t i = 0; i < all; i++) {
    if (list[i].family < all) {
      list[kept++] = list[i];
    }
  }
  points->count = kept;
}

int sweep_points_read(const struct results_file *file, enum sweep_of of, struct sweep_points *out, struct error *err) {
  *out = (struct sweep_points){0};
  const struct results_text *plan = results_find_text(file, "plan");
  if (!plan) {
    return 0;
  }
  struct diagnostics diagnostics = {0};
  struct reader reader = {.diagnostics = &diagnostics, .folder = ""};
  struct source source;
  source_of_text("plan", plan->text, &source);
  const struct node *root = source_check(&reader, &source) ? tree_parse(&reader, &source, 0) : NULL;
  const struct node *list =
      root && root->kind == NODE_MAPPING ? node_get(root, of == SWEEP_OF_SCHEMES ? "schemes" : "experiments") : NULL;
  int status = 0;
  if (list && list->kind == NODE_LIST && list->count) {
    out->points = memory_new(list->count, sizeof *out->points, "sweep", err);
    status = out->points ? 0 : (int)err->code;
  }
  for (size_t i = 0; out->points && i < list->count; i++) {
    if (list->items[i]->kind == NODE_MAPPING) {
      out->points[out->count] = point_of(list->items[i]);
      out->count += out->points[out->count].n_keys > 0;
    }
  }
  if (out->points) {
    find_families(out);
  }
  arena_free(&reader.arena);
  diagnostics_free(&diagnostics);
  return status;
}

void sweep_points_free(struct sweep_points *points) {
  free(points->points);
  *points = (struct sweep_points){0};
}
