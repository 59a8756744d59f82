/* The blocks of rope keys of a model's config, and the tables that follow from them. */
#include "config/model_config_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In this order they become tables. */
static const char *const layer_types[] = {"full_attention", "sliding_attention", "chunked_attention",
                                          "linear_attention", NULL};

static bool is_layer_type(const char *key) {
  for (const char *const *type = layer_types; *type; type++) {
    if (!strcmp(*type, key)) {
      return true;
    }
  }
  return false;
}

/* Whether a block has a block for each layer type. */
static bool is_by_type(const struct json_object *block) {
  const char *key;
  json_t *value;
  json_object_foreach(block->json, key, value) {
    if (!is_layer_type(key) || !(json_is_object(value) || json_is_null(value))) {
      return false;
    }
  }
  return json_object_size(block->json) > 0;
}

/* Tables under way. */
struct tables {
  struct model_table items[MODEL_TABLES_MAX];
  size_t count;
};

static bool add(struct model_reader *reader, const struct model_widths *widths, const struct json_object *block,
                const char *layers, bool scaled, struct tables *out) {
  bool full = strcmp(layers, "sliding_attention") != 0;
  struct model_rope_request request = {.block = block,
                                       .layers = layers,
                                       .local = !full,
                                       .scaled = scaled,
                                       .query = full ? widths->query_full : widths->query,
                                       .rows = full ? widths->rows_full : widths->rows};
  return out->count < MODEL_TABLES_MAX && model_read_rope(reader, &request, &out->items[out->count++]);
}

static bool tables_by_type(struct model_reader *reader, const struct model_widths *widths,
                           const struct json_object *block, struct tables *out) {
  bool fine = true;
  for (const char *const *type = layer_types; *type; type++) {
    if (!json_object_get(block->json, *type)) {
      continue;
    }
    struct json_object *part = arena_new(&reader->reader.arena, sizeof *part);
    bool said = part && model_object(reader, block, *type, part);
    fine = add(reader, widths, said ? part : NULL, *type, true, out) && fine;
  }
  return fine;
}

static bool same_table(const struct model_table *a, const struct model_table *b) {
  return !strcmp(a->settings, b->settings) && a->head_dim == b->head_dim && a->softmax_scale == b->softmax_scale;
}

static bool tables_of(struct model_reader *reader, const struct model_widths *widths, const struct json_object *block,
                      struct tables *out) {
  bool by_type = block && is_by_type(block);
  bool differ = (reader->defaults.habits & MODEL_LAYERS_DIFFER) || widths->rows != widths->rows_full;
  if (by_type) {
    if (!tables_by_type(reader, widths, block, out)) {
      return false;
    }
  } else if (differ) {
    bool full_only = (reader->defaults.habits & MODEL_FULL_LAYERS_SCALED) != 0;
    if (!add(reader, widths, block, "full_attention", true, out) ||
        !add(reader, widths, block, "sliding_attention", !full_only, out)) {
      return false;
    }
    if (full_only && strcmp(out->items[0].rope_type, "default")) {
      model_warn(reader, "scaling applies to the full_attention layers only");
    }
  } else {
    return add(reader, widths, block, "all layers", true, out);
  }
  if (out->count == 2 && same_table(&out->items[0], &out->items[1])) {
    out->count = 1;
    out->items[0].layers = "all layers";
  }
  if (out->count > 1 && out->items[0].base != out->items[1].base) {
    model_warn(reader, "two bases: %s in %s layers, %s in %s layers", model_digits(reader, out->items[0].base),
               out->items[0].layers, model_digits(reader, out->items[1].base), out->items[1].layers);
  }
  return out->count > 0;
}

static bool same_tables(const struct tables *a, const struct tables *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; same && i < a->count; i++) {
    same = same_table(&a->items[i], &b->items[i]);
  }
  return same;
}

static const char *summary(struct model_reader *reader, const struct tables *tables) {
  const struct model_table *table = &tables->items[0];
  return arena_printf(&reader->reader.arena, "base %s, rope_type %s%s%s", model_digits(reader, table->base),
                      table->rope_type, table->factor > 0 ? ", factor " : "",
                      table->factor > 0 ? model_digits(reader, table->factor) : "");
}

/* A block that is there and says anything. */
static bool find_block(struct model_reader *reader, const char *key, struct json_object *block) {
  return model_object(reader, &reader->keys, key, block) && json_object_size(block->json) > 0;
}

/* ---- coordinates ---- */

static bool read_sections(struct model_reader *reader, const struct json_object *block, size_t sections[3],
                          size_t *count) {
  const json_t *list = model_key(reader, block, "mrope_section");
  if (!list) {
    return false;
  }
  *count = json_array_size(list);
  bool fine = *count == 2 || *count == 3;
  for (size_t i = 0; fine && i < *count; i++) {
    const json_t *item = json_array_get(list, i);
    fine = json_is_integer(item) && json_integer_value(item) >= 0 && json_integer_value(item) <= MODEL_WIDTH_MAX;
    sections[i] = fine ? (size_t)json_integer_value(item) : 0;
  }
  if (!fine) {
    model_refuse(reader, ERROR_CONFIG_TYPE, block, "mrope_section",
                 "two or three whole numbers are meant: pairs for time, height, width");
  }
  return fine;
}

/* Qwen2-VL: pairs in blocks; Qwen3-VL: coordinates in turn, pair i follows i mod 3 while i < 3 section, else time. */
static int axis_of_pair(size_t pair, const size_t sections[3], size_t count, bool interleaved) {
  if (interleaved) {
    size_t axis = pair % count;
    return pair < count * sections[axis] ? (int)axis : 0;
  }
  size_t end = 0;
  for (size_t axis = 0; axis < count; axis++) {
    end += sections[axis];
    if (pair < end) {
      return (int)axis;
    }
  }
  return 0;
}

static void read_mrope(struct model_reader *reader, const struct json_object *block) {
  struct model_config *config = reader->config;
  size_t sections[3], count, sum = 0, pairs = config->tables[0].rotary_dim / 2;
  if (!block || !read_sections(reader, block, sections, &count)) {
    return;
  }
  for (size_t i = 0; i < count; i++) {
    sum += sections[i];
  }
  if (sum != pairs) {
    model_refuse(reader, ERROR_CONFIG_CONFLICT, block, "mrope_section",
                 "sums to %zu, and rotary width %u has %zu pairs", sum, config->tables[0].rotary_dim, pairs);
    return;
  }
  model_truth(reader, block, "mrope_interleaved", &config->mrope_interleaved);
  int *axis = arena_array(&reader->reader.arena, pairs, sizeof *axis);
  size_t found[3] = {0};
  for (size_t i = 0; axis && i < pairs; i++) {
    axis[i] = axis_of_pair(i, sections, count, config->mrope_interleaved);
    found[axis[i]]++;
  }
  for (size_t i = 0; axis && i < count; i++) {
    if (found[i] != sections[i]) {
      model_refuse(reader, ERROR_CONFIG_CONFLICT, block, "mrope_section",
                   "interleaved, coordinate %zu finds %zu of its %zu pairs: every %zu-th pair at most", i, found[i],
                   sections[i], count);
      return;
    }
  }
  config->mrope_axis = axis;
  model_warn(reader, "mrope_section sums to %zu = rotary width / 2; text has equal positions on all coordinates", sum);
}

/* ---- temperature ---- */

static void read_temperature(struct model_reader *reader, const struct json_object *block) {
  struct model_config *config = reader->config;
  double beta;
  if (block && model_number(reader, block, "llama_4_scaling_beta", 0, 1e6, &beta) && beta > 0) {
    config->temperature = (struct model_temperature){MODEL_TEMPERATURE_ALL, beta, config->tables[0].original_length};
    model_warn(reader, "queries of all layers are multiplied by 1 + %s ln(1 + floor(position / %s))",
               model_digits(reader, beta), model_digits(reader, config->tables[0].original_length));
    return;
  }
  if (!(reader->defaults.habits & MODEL_TEMPERATURE_ON_QUERIES)) {
    return;
  }
  bool on = true;
  const json_t *tuning = model_key(reader, &reader->keys, "attn_temperature_tuning");
  if (json_is_number(tuning)) {
    on = json_number_value(tuning) != 0;
    model_warn(reader, "attn_temperature_tuning is %s where a boolean is meant (%s)",
               json_shown(&reader->reader, tuning), on ? "true" : "false");
  } else if (tuning) {
    model_truth(reader, &reader->keys, "attn_temperature_tuning", &on);
  } else {
    model_warn(reader, "attn_temperature_tuning absent: true taken for %s", model_type_words(reader));
  }
  double scale = 0.1, floor_scale = 8192;
  bool said = model_number(reader, &reader->keys, "attn_scale", 0, 1e6, &scale);
  said &= model_number(reader, &reader->keys, "floor_scale", 1, 1e15, &floor_scale);
  if (on) {
    config->temperature = (struct model_temperature){MODEL_TEMPERATURE_WITHOUT_ROPE, scale, floor_scale};
    model_warn(reader,
               "position-dependent temperature: queries of layers without rope are multiplied by 1 + %s ln(1 + "
               "floor((position + 1) / %s))%s",
               model_digits(reader, scale), model_digits(reader, floor_scale),
               said ? "" : "; attn_scale or floor_scale absent, taken for the model_type");
  }
}

void model_read_rope_tables(struct model_reader *reader, const struct model_widths *widths) {
  struct json_object old, new;
  bool has_old = find_block(reader, "rope_scaling", &old), has_new = find_block(reader, "rope_parameters", &new);
  const struct json_object *block = has_new ? &new : has_old ? &old : NULL;
  struct tables tables = {0}, others = {0};
  bool fine = tables_of(reader, widths, block, &tables);
  if (fine && has_new && has_old && tables_of(reader, widths, &old, &others) && !same_tables(&tables, &others)) {
    model_refuse(reader, ERROR_CONFIG_CONFLICT, &reader->keys, "rope_scaling",
                 "rope_parameters and rope_scaling are both there and differ: rope_parameters gives %s; rope_scaling "
                 "gives %s; keep the one that is meant",
                 summary(reader, &tables), summary(reader, &others));
  }
  if (!fine || diagnostics_any(reader->reader.diagnostics)) {
    return;
  }
  struct model_config *config = reader->config;
  memcpy(config->tables, tables.items, sizeof config->tables);
  config->n_tables = tables.count;
  for (size_t i = 0; i < tables.count; i++) {
    config->some_without |= tables.items[i].rotary_dim != tables.items[i].query_dim;
  }
  read_mrope(reader, block);
  read_temperature(reader, block);
  model_read_layers(reader);
}
