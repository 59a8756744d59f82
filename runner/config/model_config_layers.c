/* Which layer has which table, and which has none. */
#include "config/model_config_reader.h"

#include <string.h>

static const char full_attention[] = "full_attention", sliding_attention[] = "sliding_attention";

static bool is_no_attention(const char *type) {
  static const char *const others[] = {"linear_attention", "mamba", "mamba2", "conv", "recurrent", NULL};
  for (const char *const *other = others; *other; other++) {
    if (!strcmp(*other, type)) {
      return true;
    }
  }
  return false;
}

static bool lists_other_layers(const struct model_reader *reader) {
  const json_t *list = model_peek(&reader->keys, "layer_types");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *type = json_string_value(json_array_get(list, i));
    if (type && is_no_attention(type)) {
      return true;
    }
  }
  return false;
}

/* types [n_layers] from the list. False after a refusal. */
static bool types_of_list(struct model_reader *reader, const json_t *list, const char **types) {
  unsigned count = reader->config->n_layers;
  if (!json_is_array(list) || json_array_size(list) != count) {
    model_refuse(reader, ERROR_CONFIG_CONFLICT, &reader->keys, "layer_types",
                 "%zu layer types, and the model has %u layers: one for each is meant", json_array_size(list), count);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    const json_t *item = json_array_get(list, i);
    types[i] = json_string_value(item);
    if (!types[i]) {
      model_refuse(reader, ERROR_CONFIG_TYPE, &reader->keys, "layer_types",
                   "element %zu is %s; a layer type is a text, such as \"full_attention\"", i,
                   json_shown(&reader->reader, item));
      return false;
    }
  }
  return true;
}

/* types [n_layers]: every p-th layer is full. */
static void types_of_pattern(struct model_reader *reader, const char **types) {
  static const char *const names[] = {"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers",
                                      NULL};
  double every = reader->defaults.full_every;
  const char *name = model_first_whole(reader, &reader->keys, names, MODEL_LAYERS_MAX, &every);
  bool from_start = (reader->defaults.habits & MODEL_FULL_FROM_START) != 0;
  unsigned count = reader->config->n_layers, full = 0, period = (unsigned)every;
  for (unsigned i = 0; i < count; i++) {
    bool is_full = !period || (from_start ? i % period == 0 : (i + 1) % period == 0);
    types[i] = is_full ? full_attention : sliding_attention;
    full += is_full;
  }
  if (period) {
    model_warn(reader, "%u of %u layers are full: layer i is full when %s %% %u = 0%s%s", full, count,
               from_start ? "i" : "(i + 1)", period, name ? "" : ", taken for ", name ? "" : model_type_words(reader));
  }
}

/* A type for each layer; NULL after a refusal. */
static const char **read_types(struct model_reader *reader) {
  const char **types = arena_array(&reader->reader.arena, reader->config->n_layers, sizeof *types);
  if (!types) {
    return NULL;
  }
  const json_t *list = model_key(reader, &reader->keys, "layer_types");
  if (list) {
    return types_of_list(reader, list, types) ? types : NULL;
  }
  types_of_pattern(reader, types);
  return types;
}

static int table_of(const struct model_config *config, const char *type) {
  for (size_t i = 0; i < config->n_tables; i++) {
    if (!strcmp(config->tables[i].layers, type)) {
      return (int)i;
    }
  }
  return 0;
}

/* Cohere 2 and EXAONE 4: where there is a window, the full layers have no rope. */
static bool full_layers_go_without(struct model_reader *reader) {
  if (!(reader->defaults.habits & MODEL_FULL_LAYERS_WITHOUT)) {
    return false;
  }
  double window = 0;
  const json_t *written = json_object_get(reader->keys.json, "sliding_window");
  if (!written && reader->defaults.window > 0) {
    window = reader->defaults.window;
    model_warn(reader, "sliding_window absent: %s taken for %s", model_digits(reader, window),
               model_type_words(reader));
  } else {
    model_number(reader, &reader->keys, "sliding_window", 0, 1e15, &window);
  }
  return window > 0;
}

/* no_rope_layers: a mask in which 1 means with rope. */
static void apply_mask(struct model_reader *reader, int *layers) {
  if (!(reader->defaults.habits & MODEL_MASK_OF_LAYERS)) {
    return;
  }
  unsigned count = reader->config->n_layers;
  const json_t *mask = model_key(reader, &reader->keys, "no_rope_layers");
  size_t size = json_array_size(mask);
  bool absent = !mask || (json_is_array(mask) && !size && (reader->defaults.habits & MODEL_EMPTY_MASK_IS_ABSENT));
  if (absent) {
    double every = reader->defaults.without_every;
    bool said = model_whole(reader, &reader->keys, "no_rope_layer_interval", MODEL_LAYERS_MAX, &every);
    for (unsigned i = 0; i < count; i++) {
      layers[i] = (i + 1) % (unsigned)every ? layers[i] : MODEL_LAYER_WITHOUT;
    }
    model_warn(reader, "no_rope_layers is %s: layer i goes without rope when (i + 1) %% %s = 0%s%s",
               mask ? "empty" : "absent", model_digits(reader, every), said ? "" : ", taken for ",
               said ? "" : model_type_words(reader));
    return;
  }
  if (!json_is_array(mask) || size != count) {
    model_refuse(reader, ERROR_CONFIG_CONFLICT, &reader->keys, "no_rope_layers",
                 "%zu entries, and the model has %u layers: one for each is meant, 1 for a layer with rope", size,
                 count);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const json_t *item = json_array_get(mask, i);
    bool with = json_is_true(item) || (json_is_integer(item) && json_integer_value(item) == 1);
    bool without = json_is_false(item) || (json_is_integer(item) && json_integer_value(item) == 0);
    if (!with && !without) {
      model_refuse(reader, ERROR_CONFIG_TYPE, &reader->keys, "no_rope_layers",
                   "element %zu is %s; allowed are 1 (with rope) and 0", i, json_shown(&reader->reader, item));
      return;
    }
    layers[i] = with ? layers[i] : MODEL_LAYER_WITHOUT;
  }
}

static bool all_have_table_0(const int *layers, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    if (layers[i]) {
      return false;
    }
  }
  return true;
}

void model_read_layers(struct model_reader *reader) {
  struct model_config *config = reader->config;
  bool without = full_layers_go_without(reader);
  bool by_type = config->n_tables > 1 || without || lists_other_layers(reader);
  if (!by_type && !(reader->defaults.habits & MODEL_MASK_OF_LAYERS)) {
    return;
  }
  if (!config->n_layers) {
    model_warn(reader, "num_hidden_layers absent: which layer has which table cannot be said");
    return;
  }
  int *layers = arena_array(&reader->reader.arena, config->n_layers, sizeof *layers);
  const char **types = by_type ? read_types(reader) : NULL;
  if (!layers || (by_type && !types)) {
    return;
  }
  for (unsigned i = 0; types && i < config->n_layers; i++) {
    layers[i] = is_no_attention(types[i])                      ? MODEL_LAYER_NOT_ATTENTION
                : without && !strcmp(types[i], full_attention) ? MODEL_LAYER_WITHOUT
                                                               : table_of(config, types[i]);
  }
  apply_mask(reader, layers);
  unsigned n_without = 0;
  for (unsigned i = 0; i < config->n_layers; i++) {
    n_without += layers[i] == MODEL_LAYER_WITHOUT;
  }
  if (n_without) {
    model_warn(reader, "%u of %u layers without rope", n_without, config->n_layers);
    config->some_without = true;
  }
  config->layer_table = all_have_table_0(layers, config->n_layers) ? NULL : layers;
}
