/* One table of rotary frequencies from a model's config: type, base, width, lengths, and the plugin's parameters. */
#include "config/model_config_rope.h"

#include "base/text.h"
#include "config/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const model_rope_types[] = {"default",  "linear", "dynamic",      "yarn",
                                        "longrope", "llama3", "proportional", NULL};

static const char *all_types(struct model_reader *reader) {
  const char *list = model_rope_types[0];
  for (size_t i = 1; i < N_TYPES; i++) {
    list = arena_printf(&reader->reader.arena, "%s, %s", list, model_rope_types[i]);
  }
  return list;
}

/* ---- type ---- */

/* The type that a word means, or N_TYPES. */
static enum rope_type type_of(const struct model_reader *reader, const char *word) {
  if (!strcmp(word, "su")) {
    return TYPE_LONGROPE;
  }
  if (!strcmp(word, "mrope")) {
    return TYPE_DEFAULT;
  }
  if (!strcmp(word, "yarn") && (reader->defaults.habits & MODEL_YARN_IS_LONGROPE)) {
    return TYPE_LONGROPE;
  }
  size_t i = 0;
  while (model_rope_types[i] && strcmp(model_rope_types[i], word)) {
    i++;
  }
  return (enum rope_type)i;
}

/* A known type whose name is a part of the word: "telechat3-yarn" is near yarn, and not yarn. */
static const char *near_type(const char *word) {
  for (size_t i = 0; i < N_TYPES; i++) {
    if (strstr(word, model_rope_types[i])) {
      return model_rope_types[i];
    }
  }
  return config_nearest(word, model_rope_types);
}

static bool read_word(struct model_reader *reader, const struct json_object *block, const char *key, const char **word,
                      enum rope_type *type) {
  if (!model_text(reader, block, key, word)) {
    return false;
  }
  *type = type_of(reader, *word);
  if (*type == N_TYPES) {
    const char *near = near_type(*word);
    model_refuse(reader, ERROR_CONFIG_CHOICE, block, key,
                 "'%s' is not known; known are %s (and su for longrope, mrope "
                 "for default)%s%s%s",
                 *word, all_types(reader), near ? "; near is " : "", near ? near : "",
                 near ? ", which may differ in its formula" : "");
    return false;
  }
  return true;
}

static void read_type(struct model_reader *reader, struct rope_block *rope) {
  const struct json_object *block = rope->block;
  rope->type = TYPE_DEFAULT;
  if (!block) {
    return;
  }
  const char *word = NULL, *old = NULL;
  enum rope_type old_type = TYPE_DEFAULT;
  bool has_word = read_word(reader, block, "rope_type", &word, &rope->type);
  bool has_old = read_word(reader, block, "type", &old, &old_type);
  if (rope->type == N_TYPES || old_type == N_TYPES) {
    rope->type = TYPE_DEFAULT; /* refused */
    return;
  }
  if (has_word && has_old && rope->type != old_type) {
    model_refuse(reader, ERROR_CONFIG_CONFLICT, block, "type",
                 "'%s' and rope_type '%s' differ, and both mean the scaling: keep the one that is meant", old, word);
    return;
  }
  if (!has_word && has_old) {
    rope->type = old_type;
    model_warn(reader, "\"type\" is the old name of rope_type");
    word = old;
  }
  if (!word && !old && model_rope_has_values(block)) {
    model_refuse(reader, ERROR_CONFIG_MISSING, block, "", "rope_type is missing; it is one of %s", all_types(reader));
    return;
  }
  if (word && !strcmp(word, "mrope")) {
    model_warn(reader, "type mrope is not a scaling: frequencies are plain");
  } else if (word && strcmp(word, model_rope_types[rope->type])) {
    model_warn(reader, "type %s read as %s%s", word, model_rope_types[rope->type],
               strcmp(word, "yarn") ? "" : ", as model_type phi3 does");
  }
}

/* ---- base ---- */

enum { BASE_MIN = 1 };
static const double base_max = 1e30;

static bool local_base_differs(const struct model_reader *reader) {
  return reader->defaults.local_base != reader->defaults.base;
}

static double read_ratio(struct model_reader *reader, double base) {
  double ratio;
  if (!model_number(reader, &reader->keys, "rope_ratio", 1e-9, 1e12, &ratio)) {
    return 0;
  }
  model_warn(reader, "rope_ratio read as base %s x %s", model_digits(reader, base), model_digits(reader, ratio));
  return base * ratio;
}

static void read_base(struct model_reader *reader, const struct model_rope_request *request, struct rope_block *rope) {
  static const char *const local_names[] = {"rope_local_base_freq", "local_rope_theta", NULL};
  static const char *const names[] = {"rope_theta", "rotary_emb_base", "global_rope_theta", NULL};
  bool own = request->local && local_base_differs(reader);
  const struct json_object *block = request->scaled || !own ? request->block : NULL;
  double beside = 0, inside = 0;
  const char *found = NULL;
  for (const char *const *name = own ? local_names : names; *name && !found; name++) {
    found = model_number(reader, &reader->keys, *name, BASE_MIN, base_max, &beside) ? *name : NULL;
  }
  if (block && model_number(reader, block, "rope_theta", BASE_MIN, base_max, &inside)) {
    rope->base = inside;
    if (found && beside != inside) {
      model_warn(reader, "rope_theta is %s in the block and %s is %s beside it: the one in the block counts",
                 model_digits(reader, inside), found, model_digits(reader, beside));
      model_not_used(reader, &reader->keys, found, "the one in the block counts");
    }
    return;
  }
  if (found) {
    rope->base = beside;
    if (!strcmp(found, "rotary_emb_base")) {
      model_warn(reader, "old key name rotary_emb_base (rope_theta)");
    }
    return;
  }
  rope->base = own ? reader->defaults.local_base : reader->defaults.base;
  double scaled = own ? 0 : read_ratio(reader, rope->base);
  if (scaled > 0) {
    rope->base = scaled;
  } else if (!model_peek(&reader->keys, own ? "rope_local_base_freq" : "rope_theta") &&
             !(block && model_peek(block, "rope_theta"))) {
    model_warn(reader, "%s absent: %s taken for %s",
               own ? (reader->defaults.habits & MODEL_FULL_FROM_START ? "local_rope_theta" : "rope_local_base_freq")
                   : (reader->defaults.habits & MODEL_FULL_FROM_START ? "global_rope_theta" : "rope_theta"),
               model_digits(reader, rope->base), model_type_words(reader));
  }
}

/* ---- width ---- */

static bool read_partial(struct model_reader *reader, const struct json_object *object, const char *key,
                         double *partial) {
  return object && model_number(reader, object, key, 1e-6, 1, partial);
}

/* The share of a head that turns, and where it stands. */
static void settle_partial(struct model_reader *reader, struct rope_block *rope, const struct json_object **at,
                           const char **key) {
  double top, inside;
  bool has_top = false;
  *at = &reader->keys;
  *key = "partial_rotary_factor";
  if (read_partial(reader, &reader->keys, "partial_rotary_factor", &top)) {
    has_top = true;
  } else if (read_partial(reader, &reader->keys, "rotary_pct", &top)) {
    has_top = true;
    *key = "rotary_pct";
    model_warn(reader, "old key name rotary_pct (partial_rotary_factor)");
  }
  bool has_inside = read_partial(reader, rope->block, "partial_rotary_factor", &inside);
  if (has_top && has_inside && top != inside) {
    model_refuse(reader, ERROR_CONFIG_CONFLICT, rope->block, "partial_rotary_factor",
                 "%s here and %s %s at the top differ: keep the one that is meant", model_digits(reader, inside), *key,
                 model_digits(reader, top));
  }
  rope->partial = has_top ? top : reader->defaults.partial;
  if (has_inside) {
    rope->partial = inside;
    *at = rope->block;
    *key = "partial_rotary_factor";
  } else if (!has_top && rope->partial != 1) {
    model_warn(reader, "partial_rotary_factor absent: %s taken for %s", model_digits(reader, rope->partial),
               model_type_words(reader));
  }
}

static void read_width(struct model_reader *reader, const struct model_rope_request *request, struct rope_block *rope) {
  double rotary_dim;
  const struct json_object *at = &reader->keys;
  const char *key = "rotary_dim";
  if (model_whole(reader, &reader->keys, "rotary_dim", MODEL_WIDTH_MAX, &rotary_dim)) {
    rope->width = rotary_dim;
    rope->partial = rotary_dim / request->rows;
    if (rotary_dim > request->rows) {
      model_refuse(reader, ERROR_CONFIG_RANGE, at, key, "%s is wider than a head, which has %s channels",
                   model_digits(reader, rotary_dim), model_digits(reader, request->rows));
    }
  } else {
    settle_partial(reader, rope, &at, &key);
    /* A product such as 0.29 x 100 = 28.999999999999996 is meant as 29. */
    rope->width = rope->type == TYPE_PROPORTIONAL ? request->rows : round(request->rows * rope->partial);
  }
  if (fmod(rope->width, 2) != 0 || rope->width < 2) {
    model_refuse(reader, ERROR_CONFIG_RANGE, at, key,
                 "rotary width %s%s, and channels turn in pairs (%s of %s "
                 "channels)",
                 model_digits(reader, rope->width), rope->width < 2 ? " is below 2" : " is odd",
                 model_digits(reader, rope->partial), model_digits(reader, request->rows));
    rope->width = 2;
  }
}

/* ---- lengths ---- */

static const char *read_max_length(struct model_reader *reader, double *length) {
  static const char *const names[] = {"max_position_embeddings", "n_positions", "seq_length", NULL};
  const char *name = model_first_whole(reader, &reader->keys, names, 1e15, length);
  if (!name && reader->defaults.max_length > 0) {
    *length = reader->defaults.max_length;
    model_warn(reader, "max_position_embeddings absent: %s taken for %s", model_digits(reader, *length),
               model_type_words(reader));
    return "max_position_embeddings, which the model_type gives";
  }
  return name;
}

static void settle_lengths(struct model_reader *reader, struct rope_block *rope, struct model_table *table) {
  double longest = 0;
  const char *name = read_max_length(reader, &longest);
  reader->config->max_length = longest;
  struct rope_value *original = &rope->values[KEY_ORIGINAL];
  if (rope->type == TYPE_DYNAMIC && !original->given && name) {
    *original = (struct rope_value){.given = true, .number = longest};
    table->original_length = longest;
    table->length_from = name;
  } else if (original->given) {
    bool beside = model_peek(&reader->keys, "original_max_position_embeddings") != NULL;
    const char *key = "original_max_position_embeddings";
    table->original_length = original->number;
    table->length_from = beside ? arena_printf(&reader->reader.arena, "%s at the top", key)
                                : json_path(&reader->reader, rope->block, key);
  } else {
    bool stretched = rope->type == TYPE_LINEAR || rope->type == TYPE_PROPORTIONAL;
    table->original_length = longest;
    table->length_from =
        !name       ? ""
        : stretched ? arena_printf(&reader->reader.arena, "%s; the length before scaling is not in the file", name)
                    : name;
  }
  if (rope->type == TYPE_DYNAMIC && !original->given) {
    model_refuse(reader, ERROR_CONFIG_MISSING, rope->block, "",
                 "max_position_embeddings is missing: rope_type dynamic stretches beyond it");
  }
}

/* longrope without a factor: the ratio of the lengths, for the attention factor alone. */
static void settle_factor(struct model_reader *reader, struct rope_block *rope) {
  struct rope_value *factor = &rope->values[KEY_FACTOR];
  const struct rope_value *original = &rope->values[KEY_ORIGINAL];
  if (rope->type != TYPE_LONGROPE || factor->given || rope->values[KEY_ATTENTION_FACTOR].given || !original->given) {
    return;
  }
  double longest = reader->config->max_length;
  if (!(longest > 0)) {
    model_refuse(reader, ERROR_CONFIG_MISSING, rope->block, "",
                 "factor is missing: longrope's attention factor needs it, or max_position_embeddings");
    return;
  }
  double ratio = longest / original->number;
  model_warn(reader, "no factor: %s/%s = %s%s taken for the attention factor", model_digits(reader, longest),
             model_digits(reader, original->number), model_digits(reader, ratio), ratio < 1 ? ", below 1: 1" : "");
  *factor = (struct rope_value){.given = true, .number = ratio < 1 ? 1 : ratio};
}

/* ---- the plugin's parameters ---- */

static void put(struct text *text, const char *key, const char *value) {
  text_printf(text, "%s\"%s\": %s", text->length > 1 ? ", " : "", key, value);
}

static void put_number(struct text *text, const char *key, double value) {
  put(text, key, "");
  text_append_double(text, value);
}

static void put_list(struct text *text, const char *key, const struct rope_value *value) {
  put(text, key, "[");
  for (size_t i = 0; i < value->count; i++) {
    text_append(text, i ? ", " : "");
    text_append_double(text, value->list[i]);
  }
  text_append(text, "]");
}

static void put_values(struct model_reader *reader, struct text *text, const struct rope_block *rope) {
  static const char *const names[N_ROPE_KEYS] = {"factor",           "original_max_position_embeddings",
                                                 "attention_factor", "beta_fast",
                                                 "beta_slow",        "truncate",
                                                 "mscale",           "mscale_all_dim",
                                                 "short_factor",     "long_factor",
                                                 "low_freq_factor",  "high_freq_factor"};
  for (size_t i = 0; i < N_ROPE_KEYS; i++) {
    const struct rope_value *value = &rope->values[i];
    if (!value->given) {
      continue;
    }
    if (i == KEY_SHORT_FACTOR || i == KEY_LONG_FACTOR) {
      put_list(text, names[i], value);
    } else if (i == KEY_TRUNCATE) {
      put(text, names[i], value->number != 0 ? "true" : "false");
    } else {
      put_number(text, names[i], value->number);
    }
  }
  bool by_mscale = (reader->defaults.habits & MODEL_SOFTMAX_BY_MSCALE) && rope->values[KEY_MSCALE_ALL_DIM].number > 0;
  if (rope->type == TYPE_YARN && by_mscale) {
    put(text, "softmax_scale", "\"deepseek\"");
  }
}

static const char *write_settings(struct model_reader *reader, const struct rope_block *rope,
                                  const struct model_table *table) {
  struct text text = {0};
  text_append(&text, "{");
  put_number(&text, "base", rope->base);
  put(&text, "layout", arena_printf(&reader->reader.arena, "\"%s\"", table->layout));
  if (rope->type == TYPE_PROPORTIONAL) {
    put_number(&text, "partial_rotary_factor", rope->partial);
  } else if (rope->width != table->head_dim) {
    put_number(&text, "rotary_dim", rope->width);
  }
  if (rope->type != TYPE_DEFAULT) {
    put(&text, "scaling", arena_printf(&reader->reader.arena, "\"%s\"", model_rope_types[rope->type]));
    put_values(reader, &text, rope);
  }
  text_append(&text, "}");
  struct error err;
  char *written = text_take(&text, &err);
  const char *copy = written ? arena_copy(&reader->reader.arena, written, strlen(written)) : NULL;
  reader->reader.arena.failed |= !copy;
  free(written);
  return copy;
}

/* ---- all of it ---- */

/* Layout: no config says it but by its model_type; GLM's and GPT-J's pair neighbours. */
static const char *settle_layout(struct model_reader *reader) {
  bool interleaved = true;
  if (!strcmp(reader->defaults.layout, "interleaved") &&
      model_truth(reader, &reader->keys, "rope_interleave", &interleaved)) {
    return interleaved ? "interleaved" : "half";
  }
  if (!strcmp(reader->defaults.layout, "interleaved")) {
    model_warn(reader, "layout interleaved taken for %s: no key says it", model_type_words(reader));
  }
  return reader->defaults.layout;
}

bool model_read_rope(struct model_reader *reader, const struct model_rope_request *request, struct model_table *table) {
  size_t before = reader->reader.diagnostics->count;
  struct rope_block rope = {.block = request->scaled ? request->block : NULL};
  *table = (struct model_table){.layers = request->layers,
                                .head_dim = (unsigned)request->rows,
                                .query_dim = (unsigned)request->query,
                                .length_from = "",
                                .layout = settle_layout(reader)};
  read_type(reader, &rope);
  read_base(reader, request, &rope);
  rope.block = request->block;
  read_width(reader, request, &rope);
  rope.block = request->scaled ? request->block : NULL;
  if (reader->reader.diagnostics->count != before) {
    return false;
  }
  model_read_rope_values(reader, &rope);
  settle_lengths(reader, &rope, table);
  settle_factor(reader, &rope);
  if (reader->reader.diagnostics->count != before) {
    return false;
  }
  table->rope_type = model_rope_types[rope.type];
  table->base = rope.base;
  table->rotary_dim = (unsigned)rope.width;
  table->factor = rope.values[KEY_FACTOR].number;
  table->switch_length = rope.type == TYPE_LONGROPE ? table->original_length : 0;
  table->softmax_scale = model_softmax_scale(reader, request->query);
  model_check_rope(reader, &rope, table);
  table->settings = write_settings(reader, &rope, table);
  return table->settings && reader->reader.diagnostics->count == before;
}
