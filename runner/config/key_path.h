/* Paths of keys, as the command line and `sweep` write them: model.tokens.text, schemes.rope.base, rope.base,
 * experiments[0].lengths[1]. Entries of `schemes` and `experiments` are named by label or by index; these two words may
 * be left out where the label is neither a key of the config nor the label of both a scheme and an experiment. */
#ifndef PE_CONFIG_KEY_PATH_H
#define PE_CONFIG_KEY_PATH_H

#include "config/entries.h"

enum { KEY_PATH_MAX = 16 };

struct key_part {
  const char *name; /* NULL: an index */
  size_t index;
};

struct key_path {
  struct key_part parts[KEY_PATH_MAX];
  size_t count;
};

/* How a path is looked up, and where and as what its faults are reported. */
struct key_path_finder {
  struct reader *reader;
  struct node *root;
  const struct entry_list *schemes, *experiments;
  const struct node *at;
  enum error_code code;
};

/* Where a path leads: `parts` seen from `node`. */
struct key_target {
  struct node *node;
  struct key_path path;
  const struct entry_list *list; /* node is an entry of it; NULL: the path starts at the root */
  size_t index;                  /* of the entry */
};

/* Cut `length` bytes of text into parts. False after a report. */
bool key_path_parse(const struct key_path_finder *finder, const char *text, size_t length, struct key_path *out);

/* Find the entry or the root that a path starts from. False after a report. */
bool key_path_find(const struct key_path_finder *finder, const struct key_path *path, struct key_target *out);

/* The value that the target leads to, or NULL. Nothing is reported. */
const struct node *key_path_get(const struct key_target *target);

/* Put `value` where the target leads, making mappings on the way; NULL takes the key away. False after a report or
 * without memory. */
bool key_path_set(const struct key_path_finder *finder, const struct key_target *target, struct node *value);

/* The path as text. */
const char *key_path_text(struct reader *reader, const struct key_path *path);

#endif
