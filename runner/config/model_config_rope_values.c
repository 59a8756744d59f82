/* The keys of a block that belong to a scaling. */
#include "config/model_config_rope.h"

#include "config/plan.h"

#include <string.h>

#define IN(type) (1u << TYPE_##type)

enum kind { NUMBER, WHOLE, TRUTH, LIST };

static const struct {
  const char *key;
  enum kind kind;
  unsigned read_by, needed_by;
  double min, max;
} keys[N_ROPE_KEYS] = {
    [KEY_FACTOR] = {"factor", NUMBER, ~IN(DEFAULT), IN(LINEAR) | IN(DYNAMIC) | IN(YARN) | IN(LLAMA3), 1e-6, 1e9},
    [KEY_ORIGINAL] = {"original_max_position_embeddings", WHOLE, IN(DYNAMIC) | IN(YARN) | IN(LONGROPE) | IN(LLAMA3),
                      IN(YARN) | IN(LONGROPE) | IN(LLAMA3), 1, 1e15},
    [KEY_ATTENTION_FACTOR] = {"attention_factor", NUMBER, IN(YARN) | IN(LONGROPE), 0, 0, 1e6},
    [KEY_BETA_FAST] = {"beta_fast", NUMBER, IN(YARN), 0, 1e-6, 1e9},
    [KEY_BETA_SLOW] = {"beta_slow", NUMBER, IN(YARN), 0, 1e-6, 1e9},
    [KEY_TRUNCATE] = {"truncate", TRUTH, IN(YARN), 0, 0, 1},
    [KEY_MSCALE] = {"mscale", NUMBER, IN(YARN), 0, 0, 1000},
    [KEY_MSCALE_ALL_DIM] = {"mscale_all_dim", NUMBER, IN(YARN), 0, 0, 1000},
    [KEY_SHORT_FACTOR] = {"short_factor", LIST, IN(LONGROPE), IN(LONGROPE), 1e-6, 1e9},
    [KEY_LONG_FACTOR] = {"long_factor", LIST, IN(LONGROPE), IN(LONGROPE), 1e-6, 1e9},
    [KEY_LOW_FREQ_FACTOR] = {"low_freq_factor", NUMBER, IN(LLAMA3), IN(LLAMA3), 1e-6, 1e9},
    [KEY_HIGH_FREQ_FACTOR] = {"high_freq_factor", NUMBER, IN(LLAMA3), IN(LLAMA3), 1e-6, 1e9},
};

/* Keys of a block that are read elsewhere. */
static const char *const other_keys[] = {"rope_type",
                                         "type",
                                         "rope_theta",
                                         "partial_rotary_factor",
                                         "mrope_section",
                                         "mrope_interleaved",
                                         "llama_4_scaling_beta",
                                         NULL};

static void read_list(struct model_reader *reader, const struct json_object *block, const char *key, double min,
                      double max, struct rope_value *value) {
  const json_t *json = model_key(reader, block, key);
  if (!json) {
    return;
  }
  if (!json_is_array(json)) {
    model_refuse(reader, ERROR_CONFIG_TYPE, block, key, "%s is %s where a list of numbers is meant",
                 json_shown(&reader->reader, json), json_kind_name(json));
    return;
  }
  size_t count = json_array_size(json);
  double *list = arena_array(&reader->reader.arena, count, sizeof *list);
  for (size_t i = 0; list && i < count; i++) {
    const json_t *item = json_array_get(json, i);
    double number = json_number_value(item);
    if (!json_is_number(item) || !(number >= min && number <= max)) {
      model_refuse(reader, ERROR_CONFIG_TYPE, block, key, "element %zu is %s; allowed are numbers from %s to %s", i,
                   json_shown(&reader->reader, item), model_digits(reader, min), model_digits(reader, max));
      return;
    }
    list[i] = number;
  }
  if (list) {
    *value = (struct rope_value){.given = true, .list = list, .count = count};
  }
}

static void read_value(struct model_reader *reader, const struct json_object *block, size_t which,
                       struct rope_value *value) {
  bool truth;
  switch (keys[which].kind) {
  case NUMBER:
    value->given = model_number(reader, block, keys[which].key, keys[which].min, keys[which].max, &value->number);
    break;
  case WHOLE:
    value->given = model_whole(reader, block, keys[which].key, keys[which].max, &value->number);
    break;
  case TRUTH:
    value->given = model_truth(reader, block, keys[which].key, &truth);
    value->number = value->given && truth;
    break;
  case LIST:
    read_list(reader, block, keys[which].key, keys[which].min, keys[which].max, value);
    break;
  }
}

/* original_max_position_embeddings beside the block counts before the one in it. */
static void read_original(struct model_reader *reader, struct rope_block *rope) {
  const char *key = keys[KEY_ORIGINAL].key;
  struct rope_value beside = {0};
  beside.given = model_whole(reader, &reader->keys, key, keys[KEY_ORIGINAL].max, &beside.number);
  if (!beside.given) {
    return;
  }
  struct rope_value *inside = &rope->values[KEY_ORIGINAL];
  if (inside->given && inside->number != beside.number) {
    model_warn(reader, "%s is %s in the block and %s beside it: the one beside it counts", key,
               model_digits(reader, inside->number), model_digits(reader, beside.number));
    model_not_used(reader, rope->block, key, "the one beside the block counts");
  }
  *inside = beside;
}

static bool is_needed(const struct rope_block *rope, size_t which) {
  return (keys[which].needed_by & (1u << rope->type)) != 0;
}

static void tell_unread(struct model_reader *reader, const struct rope_block *rope, size_t which) {
  const char *key = keys[which].key;
  const json_t *value = model_peek(rope->block, key);
  if (value) {
    const char *type = model_rope_types[rope->type];
    model_not_used(reader, rope->block, key,
                   arena_printf(&reader->reader.arena, "rope_type %s does not read it", type));
    model_warn(reader, "%s %s is ignored: rope_type %s does not read it", key, json_shown(&reader->reader, value),
               type);
  }
}

/* DeepSeek-R1-0528-Qwen3-8B carries attn_factor: llama.cpp's name, which vLLM reads, too. */
static void tell_unknown(struct model_reader *reader, const char *key) {
  const char *names[N_ROPE_KEYS + 1] = {NULL};
  for (size_t i = 0; i < N_ROPE_KEYS; i++) {
    names[i] = keys[i].key;
  }
  const char *near = !strcmp(key, "attn_factor") ? keys[KEY_ATTENTION_FACTOR].key : config_nearest(key, names);
  model_warn(reader, "unknown key %s%s%s: not read by Hugging Face", key, near ? ", near " : "", near ? near : "");
}

static bool is_one_of(const char *key, const char *const *names) {
  while (*names && strcmp(*names, key)) {
    names++;
  }
  return *names != NULL;
}

static bool is_rope_key(const char *key) {
  for (size_t i = 0; i < N_ROPE_KEYS; i++) {
    if (!strcmp(key, keys[i].key)) {
      return true;
    }
  }
  return false;
}

bool model_rope_has_values(const struct json_object *block) {
  for (size_t i = 0; i < N_ROPE_KEYS; i++) {
    if (model_peek(block, keys[i].key)) {
      return true;
    }
  }
  return false;
}

void model_read_rope_values(struct model_reader *reader, struct rope_block *rope) {
  for (size_t i = 0; rope->block && i < N_ROPE_KEYS; i++) {
    if (keys[i].read_by & (1u << rope->type)) {
      read_value(reader, rope->block, i, &rope->values[i]);
    } else {
      tell_unread(reader, rope, i);
    }
  }
  if (keys[KEY_ORIGINAL].read_by & (1u << rope->type)) {
    read_original(reader, rope);
  }
  for (size_t i = 0; rope->block && i < N_ROPE_KEYS; i++) {
    /* A value that is there and wrong has been refused already. */
    if (is_needed(rope, i) && !rope->values[i].given && !model_peek(rope->block, keys[i].key) &&
        !(i == KEY_ORIGINAL && model_peek(&reader->keys, keys[i].key))) {
      model_refuse(reader, ERROR_CONFIG_MISSING, rope->block, "", "%s is missing: rope_type %s needs it%s", keys[i].key,
                   model_rope_types[rope->type],
                   i == KEY_ORIGINAL ? ", and max_position_embeddings may be the length after scaling" : "");
    }
  }
  const char *key;
  json_t *value;
  json_t *object = rope->block ? rope->block->json : NULL;
  json_object_foreach(object, key, value) {
    if (!is_rope_key(key) && !is_one_of(key, other_keys) && !json_is_null(value)) {
      tell_unknown(reader, key);
    }
  }
}
