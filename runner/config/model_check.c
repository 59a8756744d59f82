#include "config/keys_read.h"
#include "config/plan_parts.h"

#include <string.h>

static bool is_given(const struct section *section, const char *key) {
  return section_get(section, key)->by_user;
}

/* Which of `keys` (ended by NULL) are given: the first one; reports where there is none or more than one. */
static const char *exactly_one(struct reader *reader, const struct section *section, const char *const *keys,
                               const struct node *node, const char *path) {
  const char *first = NULL, *all = "", *given = "";
  size_t count = 0;
  for (size_t i = 0; keys[i]; i++) {
    all = arena_printf(&reader->arena, "%s%s%s", all, !i ? "" : keys[i + 1] ? ", " : " or ", keys[i]);
    if (is_given(section, keys[i])) {
      given = arena_printf(&reader->arena, "%s%s%s", given, count ? ", " : "", keys[i]);
      first = first ? first : keys[i];
      count++;
    }
  }
  if (count == 0 && !keys_has_unknown(section->table, node)) {
    reader_report(reader, ERROR_CONFIG_MISSING, node, path, "needs one of %s", all);
  } else if (count > 1) {
    reader_report(reader, ERROR_CONFIG_CONFLICT, node, path, "has %s; only one of %s can be given", given, all);
  }
  return count == 1 ? first : NULL;
}

static const char *const sources[] = {"weights", "matrix", "random", "qk", "embeddings", NULL};

static void check_tokens(struct reader *reader, const struct section *model, const char *source,
                         const struct node *node) {
  static const char *const kinds[] = {"ids", "text", "file", "corpus", NULL};
  const struct key_value *tokens = section_get(model, "tokens");
  bool reads = !strcmp(source, "weights") || !strcmp(source, "embeddings");
  if (!reads && tokens->by_user) {
    reader_report(reader, ERROR_CONFIG_CONFLICT, node_get(node, "tokens"), "model.tokens",
                  "model.%s has content of its own and reads no tokens", source);
  } else if (reads && !tokens->by_user) {
    reader_report(reader, ERROR_CONFIG_MISSING, node, "model",
                  "tokens is missing: model.%s reads ids, text, file or "
                  "corpus",
                  source);
  } else if (reads && tokens->given) {
    exactly_one(reader, tokens->section, kinds, node_get(node, "tokens"), "model.tokens");
  }
}

static void check_positions(struct reader *reader, const struct section *model, const struct node *node) {
  const struct key_value *value = section_get(model, "positions");
  if (!value->given) {
    return;
  }
  const struct section *positions = value->section;
  bool line = is_given(positions, "start") || is_given(positions, "step");
  int ways = line + is_given(positions, "grid") + is_given(positions, "list");
  if (ways > 1) {
    reader_report(reader, ERROR_CONFIG_CONFLICT, node_get(node, "positions"), "model.positions",
                  "start and step, grid and list exclude each other");
  }
  if (ways == 0 && !keys_has_unknown(positions->table, node_get(node, "positions"))) {
    reader_report(reader, ERROR_CONFIG_MISSING, node_get(node, "positions"), "model.positions",
                  "needs start and step, grid or list");
  }
}

static void check_layer(struct reader *reader, const struct section *model, const char *source,
                        const struct node *node) {
  const struct key_value *layer = section_get(model, "layer");
  if (layer->given && layer->integer > 0 && strcmp(source, "weights") && strcmp(source, "qk")) {
    reader_report(reader, ERROR_CONFIG_CONFLICT, node_get(node, "layer"), "model.layer",
                  "model.%s has one layer, numbered 0", source);
  }
}

static void check_shape(struct reader *reader, const struct section *model, const struct node *node) {
  const struct key_value *matrix = section_get(model, "matrix"), *random = section_get(model, "random");
  if (matrix->given) {
    const struct key_value *x = section_get(matrix->section, "x"), *heads = section_get(matrix->section, "heads");
    if (x->given && heads->given && x->columns % (size_t)heads->integer) {
      reader_report(reader, ERROR_CONFIG_CONFLICT, node_get(node, "matrix"), "model.matrix",
                    "the %zu columns of x cannot be shared by %lld heads", x->columns, (long long)heads->integer);
    }
  }
  if (random->given) {
    const struct key_value *heads = section_get(random->section, "heads");
    const struct key_value *kv_heads = section_get(random->section, "kv_heads");
    if (heads->given && kv_heads->given && heads->integer % kv_heads->integer) {
      reader_report(reader, ERROR_CONFIG_CONFLICT, node_get(node, "random"), "model.random",
                    "kv_heads %lld does not divide heads %lld", (long long)kv_heads->integer,
                    (long long)heads->integer);
    }
  }
}

void model_check(struct reader *reader, const struct section *model, const struct node *node) {
  const char *source = exactly_one(reader, model, sources, node, "model");
  if (source) {
    check_tokens(reader, model, source, node);
    check_layer(reader, model, source, node);
  }
  check_positions(reader, model, node);
  check_shape(reader, model, node);
}

bool model_is_random(const struct section *model) {
  return section_get(model, "random")->given || section_get(model, "embeddings")->given;
}
