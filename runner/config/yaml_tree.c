#include "config/yaml_tree.h"

#include "config/utf8.h"

#include <string.h>
#include <yaml.h>

struct anchor {
  const char *name;
  struct node *node;
  bool open; /* its end was not read yet */
};

/* A collection whose end was not read yet. */
struct open_node {
  struct node *node;
  struct node *key; /* mapping: the key that waits for its value */
  bool drop;        /* the value of a key that stands twice */
  size_t anchor;    /* index + 1; 0: none */
};

struct builder {
  struct reader *reader;
  const struct source *source;
  yaml_parser_t parser;
  struct open_node stack[TREE_MAX_DEPTH];
  size_t depth;
  struct anchor *anchors;
  size_t n_anchors, anchors_capacity;
  struct node *root;
  size_t documents;
};

/* Set a node's place from libyaml's mark (0-based). */
static struct node at_mark(const struct builder *builder, yaml_mark_t mark) {
  bool plain_file = !builder->source->argument && !builder->source->is_fallback;
  return (struct node){
      .source = builder->source, .line = plain_file ? (int)mark.line + 1 : 0, .column = (int)mark.column + 1};
}

#define REPORT(builder, code, mark, ...)                                                                               \
  do {                                                                                                                 \
    struct node place_ = at_mark(builder, mark);                                                                       \
    reader_report((builder)->reader, code, &place_, NULL, __VA_ARGS__);                                                \
  } while (0)

/* "schemes[0].rope.base": where the next value stands. */
static const char *path_of_stack(struct builder *builder) {
  struct arena *arena = &builder->reader->arena;
  const char *path = "";
  for (size_t i = 0; i < builder->depth; i++) {
    const struct open_node *open = &builder->stack[i];
    if (open->node->kind == NODE_LIST) {
      path = arena_printf(arena, "%s[%zu]", path, open->node->count);
    } else if (open->key) {
      path = arena_printf(arena, "%s%s%s", path, path[0] ? "." : "", open->key->text);
    }
  }
  return path;
}

static bool add_key(struct builder *builder, struct open_node *top, struct node *key) {
  struct reader *reader = builder->reader;
  top->key = key;
  top->drop = false;
  if (key->kind != NODE_SCALAR) {
    reader_report(reader, ERROR_CONFIG_TYPE, key, NULL, "a key must be a plain word, not a list or a mapping");
    return false;
  }
  if (!key->quoted && !strcmp(key->text, "<<")) {
    reader_report(reader, ERROR_CONFIG_ALIAS, key, NULL,
                  "merge keys (<<) are not read; write the keys out, or use an alias for a whole value");
    return false;
  }
  size_t first = node_find(top->node, key->text);
  if (first < top->node->count) {
    const struct node *other = top->node->keys[first];
    if (key->line > 0 && other->line == key->line) {
      reader_report(reader, ERROR_CONFIG_DUPLICATE_KEY, key, path_of_stack(builder), "the key stands twice in line %d",
                    key->line);
    } else if (key->line > 0) {
      reader_report(reader, ERROR_CONFIG_DUPLICATE_KEY, key, path_of_stack(builder),
                    "the key stands twice, in lines %d and %d", other->line, key->line);
    } else {
      reader_report(reader, ERROR_CONFIG_DUPLICATE_KEY, key, path_of_stack(builder), "the key stands twice");
    }
    top->drop = true;
    return true;
  }
  if (top->node->count >= TREE_MAX_KEYS) {
    reader_report(reader, ERROR_CONFIG_LIMIT, key, NULL, "more than %d keys in one mapping", TREE_MAX_KEYS);
    return false;
  }
  return true;
}

/* Put a finished or just opened node where it belongs. */
static bool place_node(struct builder *builder, struct node *node) {
  struct open_node *top = builder->depth ? &builder->stack[builder->depth - 1] : NULL;
  if (!top) {
    builder->root = node;
    return true;
  }
  if (top->node->kind == NODE_LIST) {
    return node_append(builder->reader, top->node, node);
  }
  if (!top->key) {
    return add_key(builder, top, node);
  }
  struct node *key = top->key;
  top->key = NULL;
  return top->drop || node_put(builder->reader, top->node, key, node);
}

static bool add_anchor(struct builder *builder, const yaml_char_t *name, struct node *node, bool open) {
  struct arena *arena = &builder->reader->arena;
  if (builder->n_anchors == TREE_MAX_ANCHORS) {
    reader_report(builder->reader, ERROR_CONFIG_LIMIT, node, NULL, "more than %d anchors", TREE_MAX_ANCHORS);
    return false;
  }
  if (builder->n_anchors == builder->anchors_capacity) {
    size_t capacity = builder->anchors_capacity ? 2 * builder->anchors_capacity : 8;
    struct anchor *grown = arena_array(arena, capacity, sizeof *grown);
    if (!grown) {
      return false;
    }
    if (builder->n_anchors) {
      memcpy(grown, builder->anchors, builder->n_anchors * sizeof *grown);
    }
    builder->anchors = grown;
    builder->anchors_capacity = capacity;
  }
  const char *copy = arena_copy(arena, (const char *)name, strlen((const char *)name));
  builder->anchors[builder->n_anchors++] = (struct anchor){.name = copy, .node = node, .open = open};
  return copy != NULL;
}

static struct node *new_node(struct builder *builder, enum node_kind kind, yaml_mark_t mark, const yaml_char_t *tag) {
  if (tag) {
    REPORT(builder, ERROR_CONFIG_SYNTAX, mark, "tags (%s) are not read; quote a value to make it text",
           (const char *)tag);
    return NULL;
  }
  if (++builder->reader->nodes > TREE_MAX_NODES) {
    REPORT(builder, ERROR_CONFIG_LIMIT, mark, "more than %d values; keep tensors in files of their own",
           TREE_MAX_NODES);
    return NULL;
  }
  struct node place = at_mark(builder, mark);
  return node_new(builder->reader, kind, &place);
}

static bool on_scalar(struct builder *builder, const yaml_event_t *event) {
  const char *text = (const char *)event->data.scalar.value;
  struct node *node = new_node(builder, NODE_SCALAR, event->start_mark, event->data.scalar.tag);
  if (!node) {
    return false;
  }
  if (strlen(text) != event->data.scalar.length) {
    reader_report(builder->reader, ERROR_CONFIG_ENCODING, node, NULL, "a text with NUL in it");
    return false;
  }
  node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  node->text = arena_copy(&builder->reader->arena, text, event->data.scalar.length);
  if (!node->text) {
    return false;
  }
  if (event->data.scalar.anchor && !add_anchor(builder, event->data.scalar.anchor, node, false)) {
    return false;
  }
  return place_node(builder, node);
}

static bool on_start(struct builder *builder, const yaml_event_t *event, enum node_kind kind) {
  const yaml_char_t *anchor = kind == NODE_LIST ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
  const yaml_char_t *tag = kind == NODE_LIST ? event->data.sequence_start.tag : event->data.mapping_start.tag;
  struct node *node = new_node(builder, kind, event->start_mark, tag);
  if (!node) {
    return false;
  }
  if (builder->depth == TREE_MAX_DEPTH) {
    reader_report(builder->reader, ERROR_CONFIG_LIMIT, node, NULL, "nested deeper than %d", TREE_MAX_DEPTH);
    return false;
  }
  if (anchor && !add_anchor(builder, anchor, node, true)) {
    return false;
  }
  if (builder->depth && builder->stack[builder->depth - 1].node->kind == NODE_MAPPING &&
      !builder->stack[builder->depth - 1].key) {
    return place_node(builder, node); /* a key that is no word: refused there */
  }
  builder->stack[builder->depth++] = (struct open_node){.node = node, .anchor = anchor ? builder->n_anchors : 0};
  return true;
}

static bool on_end(struct builder *builder) {
  struct open_node *top = &builder->stack[--builder->depth];
  if (top->anchor) {
    builder->anchors[top->anchor - 1].open = false;
  }
  return place_node(builder, top->node);
}

static bool on_alias(struct builder *builder, const yaml_event_t *event) {
  const char *name = (const char *)event->data.alias.anchor;
  const struct anchor *found = NULL;
  for (size_t i = builder->n_anchors; i > 0 && !found; i--) {
    found = strcmp(builder->anchors[i - 1].name, name) ? NULL : &builder->anchors[i - 1];
  }
  if (!found) {
    REPORT(builder, ERROR_CONFIG_ALIAS, event->start_mark, "the alias *%s has no anchor &%s before it", name, name);
    return false;
  }
  if (found->open) {
    REPORT(builder, ERROR_CONFIG_ALIAS, event->start_mark, "the alias *%s stands inside of what it stands for", name);
    return false;
  }
  if (builder->depth + found->node->height > TREE_MAX_DEPTH) {
    REPORT(builder, ERROR_CONFIG_LIMIT, event->start_mark, "nested deeper than %d by the alias *%s", TREE_MAX_DEPTH,
           name);
    return false;
  }
  struct node place = at_mark(builder, event->start_mark);
  struct node *copy = node_copy(builder->reader, found->node, &place);
  return copy && place_node(builder, copy);
}

/* One more document is one too many; libyaml says so before it reads the document. */
static bool on_document(struct builder *builder, const yaml_event_t *event) {
  if (builder->documents++ == 0) {
    return true;
  }
  REPORT(builder, ERROR_CONFIG_DOCUMENTS, event->start_mark, "a second document starts here; a config is one document");
  return false;
}

static bool on_event(struct builder *builder, const yaml_event_t *event) {
  switch (event->type) {
  case YAML_DOCUMENT_START_EVENT:
    return on_document(builder, event);
  case YAML_SCALAR_EVENT:
    return on_scalar(builder, event);
  case YAML_SEQUENCE_START_EVENT:
    return on_start(builder, event, NODE_LIST);
  case YAML_MAPPING_START_EVENT:
    return on_start(builder, event, NODE_MAPPING);
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT:
    return on_end(builder);
  case YAML_ALIAS_EVENT:
    return on_alias(builder, event);
  default:
    return true;
  }
}

/* Byte offset of a character of the parsed text. */
static size_t byte_offset(const char *text, size_t length, size_t characters) {
  size_t at = 0;
  for (size_t i = 0; i < characters && at < length; i++) {
    at += utf8_length(text + at, length - at);
  }
  return at;
}

static void report_syntax(struct builder *builder, const char *text, size_t length) {
  const yaml_parser_t *parser = &builder->parser;
  if (parser->error == YAML_MEMORY_ERROR) {
    builder->reader->arena.failed = true;
    return;
  }
  const char *problem = parser->problem ? parser->problem : "not valid YAML";
  size_t at = byte_offset(text, length, parser->problem_mark.index);
  if (at < length && text[at] == '\t') {
    REPORT(builder, ERROR_CONFIG_SYNTAX, parser->problem_mark, "a tab cannot indent; use spaces");
  } else if (!strcmp(problem, "mapping values are not allowed in this context")) {
    REPORT(builder, ERROR_CONFIG_SYNTAX, parser->problem_mark,
           "a second ': ' in one value; quote a text that has one, and indent keys alike");
  } else if (parser->context && at == length) {
    /* Nothing is wrong at the end: it is what was opened before. */
    REPORT(builder, ERROR_CONFIG_SYNTAX, parser->context_mark, "%s before the end (%s that starts here)", problem,
           parser->context);
  } else if (parser->context && parser->context_mark.line != parser->problem_mark.line) {
    REPORT(builder, ERROR_CONFIG_SYNTAX, parser->problem_mark, "%s (%s that starts in line %zu)", problem,
           parser->context, parser->context_mark.line + 1);
  } else if (parser->context) {
    REPORT(builder, ERROR_CONFIG_SYNTAX, parser->problem_mark, "%s (%s)", problem, parser->context);
  } else {
    REPORT(builder, ERROR_CONFIG_SYNTAX, parser->problem_mark, "%s", problem);
  }
}

static bool read_events(struct builder *builder, const char *text, size_t length) {
  for (bool more = true; more;) {
    yaml_event_t event;
    if (!yaml_parser_parse(&builder->parser, &event)) {
      report_syntax(builder, text, length);
      return false;
    }
    more = event.type != YAML_STREAM_END_EVENT;
    bool good = on_event(builder, &event);
    yaml_event_delete(&event);
    if (!good) {
      return false;
    }
  }
  return true;
}

struct node *tree_parse(struct reader *reader, const struct source *source, size_t start) {
  struct builder builder = {.reader = reader, .source = source};
  const char *text = source->text + start;
  size_t length = source->length - start;
  if (!yaml_parser_initialize(&builder.parser)) {
    reader->arena.failed = true;
    return NULL;
  }
  yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, length);
  bool whole = read_events(&builder, text, length);
  yaml_parser_delete(&builder.parser);
  if (!whole) {
    return NULL;
  }
  if (!builder.root) {
    struct node none = {.source = source, .text = ""};
    builder.root = node_new(reader, NODE_SCALAR, &none);
  }
  return builder.root;
}
