/* The tree that a config becomes: values that know where they were written. Nodes live in the reader's arena.
 */
#ifndef PE_CONFIG_NODE_H
#define PE_CONFIG_NODE_H

#include <stdbool.h>
#include <stddef.h>

struct reader;

/* A text that nodes come from: a config, an argument of the command line, a default. */
struct source {
  const char *place; /* as shown: the path, "argument 2 (rope.base=x)", "default of rope.base" */
  const char *text;  /* [length], NUL-terminated, without a byte-order mark */
  size_t length;
  int argument;     /* number of the argument; 0: a file, a default */
  bool is_fallback; /* a default */
};

/* One value of the tree, with its place. Nodes live in the reader's arena. */
enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAPPING };

struct node {
  enum node_kind kind;
  bool quoted;         /* scalar: '...' or "..." or a block; then it is text whatever it looks like */
  const char *text;    /* scalar: without NUL inside; mapping: the label that an entry goes by in messages where a
                          sweep gave it another, else "" */
  struct node **items; /* list: elements; mapping: values */
  struct node **keys;  /* mapping: scalars */
  size_t count, capacity;
  unsigned height; /* 0 for scalars, 1 + the largest of the items */
  const struct source *source;
  int line, column; /* 1-based, in characters; line 0 in arguments and defaults */
};

/* A new node at the place of `at`. NULL: no memory. */
struct node *node_new(struct reader *reader, enum node_kind kind, const struct node *at);
struct node *node_new_text(struct reader *reader, const char *text, const struct node *at);

/* A copy of a node and all below it; NULL: no memory, or (reported at `at`) too many nodes. */
struct node *node_copy(struct reader *reader, const struct node *node, const struct node *at);

/* Add to a list, or to a mapping a key that it does not have. False: no memory. */
bool node_append(struct reader *reader, struct node *list, struct node *item);
bool node_put(struct reader *reader, struct node *mapping, struct node *key, struct node *value);

/* Put `value` in the place of the mapping's value for `key`, or add it with a key at the place of `at`; NULL takes the
 * key away. False: no memory. */
bool node_set(struct reader *reader, struct node *mapping, const char *key, struct node *value, const struct node *at);

/* Index of a key in a mapping; (size_t)-1: it has none. */
size_t node_find(const struct node *mapping, const char *key);

/* The value of a key in a mapping, or NULL. */
struct node *node_get(const struct node *mapping, const char *key);

/* Nothing, ~ or null, not quoted. */
bool node_is_null(const struct node *node);

#endif
