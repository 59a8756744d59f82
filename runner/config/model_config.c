/* The reader of model configs, from the file to the plain struct. */
#include "config/model_config.h"

#include "base/memory.h"
#include "config/model_config_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_HEADS_MAX = 65536 };

/* ---- widths ---- */

static bool has_mla(const struct model_reader *reader) {
  return model_peek(&reader->keys, "qk_rope_head_dim") != NULL;
}

static bool read_mla_widths(struct model_reader *reader, struct model_widths *widths) {
  double turned, rest;
  bool fine = model_whole(reader, &reader->keys, "qk_rope_head_dim", MODEL_WIDTH_MAX, &turned);
  fine = model_whole(reader, &reader->keys, "qk_nope_head_dim", MODEL_WIDTH_MAX, &rest) && fine;
  if (!model_peek(&reader->keys, "qk_nope_head_dim")) {
    model_refuse(reader, ERROR_CONFIG_MISSING, &reader->keys, "",
                 "qk_nope_head_dim is missing: with qk_rope_head_dim it gives the width of a query");
  }
  if (fine) {
    *widths = (struct model_widths){turned + rest, turned, turned + rest, turned};
  }
  return fine;
}

/* hidden size / heads. used: they decide the width, else they are looked at for a remark. */
static double hidden_over_heads(struct model_reader *reader, bool used) {
  static const char *const hidden_names[] = {"hidden_size", "n_embd", "n_embed", "d_model", NULL};
  static const char *const head_names[] = {"num_attention_heads", "n_head", "n_heads", "num_heads", NULL};
  double hidden, heads;
  const char *hidden_name = model_first_whole(reader, &reader->keys, hidden_names, 1e9, &hidden);
  const char *heads_name = model_first_whole(reader, &reader->keys, head_names, MODEL_HEADS_MAX, &heads);
  reader->config->n_heads = heads_name ? (unsigned)heads : 0;
  if (!used) {
    model_not_used(reader, &reader->keys, hidden_name ? hidden_name : "", "the width of a head is given");
    if (reader->defaults.scheme == MODEL_ROPE) {
      model_not_used(reader, &reader->keys, heads_name ? heads_name : "", "head_dim is given");
    }
    return hidden_name && heads_name ? hidden / heads : 0;
  }
  if (!hidden_name || !heads_name) {
    model_refuse(reader, ERROR_CONFIG_MISSING, &reader->keys, "",
                 "the width of a head cannot be told: head_dim, or hidden_size and num_attention_heads, are needed");
    return 0;
  }
  if (fmod(hidden, heads) != 0) {
    model_refuse(reader, ERROR_CONFIG_CONFLICT, &reader->keys, heads_name,
                 "%s heads do not divide %s %s, and no head_dim is given", model_digits(reader, heads), hidden_name,
                 model_digits(reader, hidden));
    return 0;
  }
  return hidden / heads;
}

bool model_read_widths(struct model_reader *reader, struct model_widths *widths) {
  static const char *const layer_names[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers", NULL};
  double layers = 0, width;
  model_first_whole(reader, &reader->keys, layer_names, MODEL_LAYERS_MAX, &layers);
  reader->config->n_layers = (unsigned)layers;
  if (has_mla(reader)) {
    hidden_over_heads(reader, false);
    return read_mla_widths(reader, widths);
  }
  static const char *const names[] = {"head_dim", "kv_channels", "d_kv"};
  const char *name = NULL;
  for (size_t i = 0; !name && i < 3; i++) {
    name = model_whole(reader, &reader->keys, names[i], MODEL_WIDTH_MAX, &width) ? names[i] : NULL;
  }
  double quotient = hidden_over_heads(reader, !name);
  if (!name) {
    width = quotient;
  } else if (quotient > 0 && quotient != width && reader->defaults.scheme != MODEL_T5) {
    model_warn(reader, "%s %s although hidden size / heads = %s", name, model_digits(reader, width),
               model_digits(reader, quotient));
  }
  double full = width;
  model_whole(reader, &reader->keys, "global_head_dim", MODEL_WIDTH_MAX, &full);
  *widths = (struct model_widths){width, width, full, full};
  return width > 0;
}

/* ---- softmax scale ---- */

static double own_scale(struct model_reader *reader, double usual) {
  double value;
  unsigned habits = reader->defaults.habits;
  struct json_object attention;
  if (habits & MODEL_SCALE_IS_ONE) {
    return 1;
  }
  if (model_number(reader, &reader->keys, "query_pre_attn_scalar", 1e-9, 1e9, &value)) {
    return 1 / sqrt(value);
  }
  if (habits & MODEL_SCALE_BY_SCALAR) {
    model_warn(reader, "query_pre_attn_scalar absent: 256 taken for %s", model_type_words(reader));
    return 1.0 / 16;
  }
  if (habits & MODEL_MULTIPLIER_IS_SCALE) {
    value = 1;
    if (!model_number(reader, &reader->keys, "attention_multiplier", 1e-9, 1e9, &value)) {
      model_warn(reader, "attention_multiplier absent: 1 taken for %s", model_type_words(reader));
    }
    return value;
  }
  if (reader->defaults.scheme == MODEL_MPT && model_object(reader, &reader->keys, "attn_config", &attention) &&
      model_number(reader, &attention, "softmax_scale", 1e-9, 1e9, &value)) {
    return value;
  }
  return usual;
}

double model_softmax_scale(struct model_reader *reader, double width) {
  double usual = 1 / sqrt(width), scale = own_scale(reader, usual);
  if (fabs(scale - usual) > 1e-12 * usual) {
    model_warn(reader, "softmax scale is not 1/sqrt(head_dim) = 1/sqrt(%s): %.7g, effective multiplier %.4g",
               model_digits(reader, width), scale, scale / usual);
  }
  double cap;
  if (model_peek(&reader->keys, "attn_logit_softcapping") &&
      model_number(reader, &reader->keys, "attn_logit_softcapping", 0, 1e9, &cap)) {
    model_warn(reader, "logits are soft-capped at %s afterwards", model_digits(reader, cap));
    model_not_used(reader, &reader->keys, "attn_logit_softcapping", "not positional");
  }
  return scale;
}

/* ---- schemes ---- */

static void add_bias_table(struct model_reader *reader, const struct model_widths *widths, const char *layers,
                           const char *settings) {
  struct model_config *config = reader->config;
  config->tables[config->n_tables++] = (struct model_table){.layers = layers,
                                                            .settings = settings,
                                                            .head_dim = (unsigned)widths->query,
                                                            .query_dim = (unsigned)widths->query,
                                                            .softmax_scale = model_softmax_scale(reader, widths->query),
                                                            .length_from = ""};
}

static bool needs_heads(struct model_reader *reader) {
  if (reader->config->n_heads) {
    return true;
  }
  model_refuse(reader, ERROR_CONFIG_MISSING, &reader->keys, "",
               "the number of heads is missing: %s has values per head", reader->config->scheme);
  return false;
}

static void read_alibi(struct model_reader *reader, const struct model_widths *widths, double max_bias) {
  reader->config->scheme = "alibi";
  if (needs_heads(reader)) {
    add_bias_table(reader, widths, "all layers",
                   arena_printf(&reader->reader.arena, "{\"max_bias\": %s, \"distance\": \"causal\"}",
                                model_digits(reader, max_bias)));
  }
}

static void read_t5(struct model_reader *reader, const struct model_widths *widths) {
  reader->config->scheme = "t5";
  double buckets = 32, distance = 128;
  if (!model_whole(reader, &reader->keys, "relative_attention_num_buckets", 1024, &buckets)) {
    model_warn(reader, "relative_attention_num_buckets absent: 32 taken for %s", model_type_words(reader));
  }
  if (!model_whole(reader, &reader->keys, "relative_attention_max_distance", 2147483647.0, &distance)) {
    model_warn(reader, "relative_attention_max_distance absent: 128 taken for %s", model_type_words(reader));
  }
  double ignored;
  model_whole(reader, &reader->keys, "num_decoder_layers", MODEL_LAYERS_MAX, &ignored);
  if (!needs_heads(reader)) {
    return;
  }
  static const char *const stacks[] = {"encoder", "decoder"}, *const directions[] = {"bidirectional", "causal"};
  for (size_t i = 0; i < 2; i++) {
    add_bias_table(reader, widths, stacks[i],
                   arena_printf(&reader->reader.arena,
                                "{\"num_buckets\": %.0f, \"max_distance\": %.0f, \"direction\": \"%s\"}", buckets,
                                distance, directions[i]));
  }
  model_warn(reader, "encoder bidirectional, decoder causal; one table of biases per stack, held by its first layer");
}

static void read_mpt(struct model_reader *reader, const struct model_widths *widths) {
  struct json_object attention;
  bool alibi = false;
  double max_bias = 8;
  if (model_object(reader, &reader->keys, "attn_config", &attention)) {
    model_truth(reader, &attention, "alibi", &alibi);
    model_number(reader, &attention, "alibi_bias_max", 1e-6, 1e6, &max_bias);
  }
  if (!alibi) {
    model_refuse(reader, ERROR_CONFIG_NAME, &reader->keys, "attn_config",
                 "without alibi: true, MPT has learned positions, and a config holds nothing of them");
    return;
  }
  read_alibi(reader, widths, max_bias);
}

static void read_rope(struct model_reader *reader, const struct model_widths *widths) {
  reader->config->scheme = "rope";
  model_read_rope_tables(reader, widths);
}

static void read_falcon(struct model_reader *reader, const struct model_widths *widths) {
  bool alibi = false;
  model_truth(reader, &reader->keys, "alibi", &alibi);
  if (!alibi) {
    read_rope(reader, widths);
    return;
  }
  read_alibi(reader, widths, 8);
  model_warn(reader,
             "Hugging Face's Falcon multiplies the biases by 1/sqrt(head_dim), too, and rounds slopes to bfloat16");
}

/* A model_type that is not known is rope where any key of rope is there. */
static bool says_rope(const struct model_reader *reader) {
  static const char *const keys[] = {"rope_theta",  "rope_scaling",    "rope_parameters", "partial_rotary_factor",
                                     "rotary_dim",  "rotary_pct",      "rotary_emb_base", "rope_ratio",
                                     "rotary_base", "qk_rope_head_dim"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (json_object_get(reader->keys.json, keys[i])) {
      return true;
    }
  }
  return false;
}

static bool read_model_type(struct model_reader *reader) {
  const char *outer = NULL, *type = NULL;
  struct json_object *text = arena_new(&reader->reader.arena, sizeof *text);
  model_text(reader, &reader->root, "model_type", &outer);
  if (text && model_object(reader, &reader->root, "text_config", text)) {
    reader->keys = *text;
    reader->keys.parent = &reader->root;
    model_text(reader, &reader->keys, "model_type", &type);
  }
  type = type ? type : outer;
  reader->config->model_type = type ? arena_copy(&reader->reader.arena, type, strlen(type)) : NULL;
  reader->defaults = model_defaults_find(type);
  if (!reader->defaults.model_type && !says_rope(reader)) {
    model_refuse(reader, ERROR_CONFIG_NAME, &reader->keys, type ? "model_type" : "",
                 "%s%s%s, and no key says how positions are encoded (rope_theta, rope_scaling, rope_parameters, ...)",
                 type ? "'" : "no model_type is given", type ? type : "", type ? "' is not a known model_type" : "");
    return false;
  }
  if (reader->defaults.scheme == MODEL_LEARNED) {
    model_refuse(reader, ERROR_CONFIG_NAME, &reader->keys, "model_type",
                 "'%s' has a learned table of positions, and a config holds nothing of it", type);
    return false;
  }
  return !diagnostics_any(reader->reader.diagnostics);
}

static void read_all(struct model_reader *reader) {
  struct model_widths widths;
  if (!read_model_type(reader) || !model_read_widths(reader, &widths) || diagnostics_any(reader->reader.diagnostics)) {
    return;
  }
  switch (reader->defaults.scheme) {
  case MODEL_ALIBI:
    read_alibi(reader, &widths, 8);
    model_warn(reader, "ALiBi taken for %s; no length limit in the file", model_type_words(reader));
    break;
  case MODEL_T5:
    read_t5(reader, &widths);
    break;
  case MODEL_MPT:
    read_mpt(reader, &widths);
    break;
  case MODEL_FALCON:
    read_falcon(reader, &widths);
    break;
  default:
    read_rope(reader, &widths);
    break;
  }
  model_list_unused(reader);
}

struct model_config *model_config_read(const char *path, struct diagnostics *diagnostics) {
  struct error err;
  struct model_config *config = memory_new(1, sizeof *config, "model config", &err);
  if (!config) {
    diagnostics->out_of_memory = true;
    return NULL;
  }
  struct model_reader reader = {.reader = {.diagnostics = diagnostics}, .config = config};
  if (json_file_read(&reader.file, &reader.reader, path)) {
    reader.root = reader.keys = (struct json_object){reader.file.root, NULL, ""};
    read_all(&reader);
  }
  json_file_close(&reader.file);
  diagnostics->out_of_memory |= reader.reader.arena.failed;
  config->arena = reader.reader.arena;
  config->warnings = reader.warnings;
  config->n_warnings = reader.n_warnings;
  if (diagnostics_any(diagnostics)) {
    model_config_free(config);
    return NULL;
  }
  return config;
}

void model_config_free(struct model_config *config) {
  if (config) {
    arena_free(&config->arena);
    free(config);
  }
}

double model_config_temperature(const struct model_config *config, double position) {
  const struct model_temperature *temperature = &config->temperature;
  if (temperature->kind == MODEL_TEMPERATURE_NONE) {
    return 1;
  }
  double shifted = temperature->kind == MODEL_TEMPERATURE_WITHOUT_ROPE ? position + 1 : position;
  return 1 + temperature->scale * log(1 + floor(shifted / temperature->length));
}
