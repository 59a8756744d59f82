/* A mapping read against its table: types, ranges, defaults, unknown keys. All that is wrong is reported. */
#ifndef PE_CONFIG_KEYS_READ_H
#define PE_CONFIG_KEYS_READ_H

#include "base/keys.h"
#include "config/reader.h"

/* Read `mapping` (NULL: nothing was given; then `at` is the place for what is missing). `path` is the section's name
 * for messages, "" for the whole file. The section is the caller's, also where something was wrong: a key that was
 * written has by_user, one that was read well has given. NULL: no memory. */
struct section *keys_read(struct reader *reader, const struct key_table *table, const struct node *mapping,
                          const struct node *at, const char *path);

/* Whether a mapping has a key that the table does not know: what is missing may be there under a wrong name. */
bool keys_has_unknown(const struct key_table *table, const struct node *mapping);

/* Read one value. False after a report; *value then owns nothing. */
bool key_read_value(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                    struct key_value *value);

/* The types that key_read_value passes on to: numbers in lists (list_read.c). */
bool key_read_list(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                   struct key_value *value);
bool key_read_tensor(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                     struct key_value *value);

/* One number within the spec's bounds; whole: a whole number. False after a report. */
struct number;
bool key_read_number(struct reader *reader, const struct key_spec *spec, bool whole, const struct node *node,
                     const char *path, struct number *out);

/* Index of the choice that a scalar names. False after a report. */
bool key_read_choice(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path,
                     int64_t *index);

/* A text or path as it will be used, a heap copy. NULL after a report or without memory. */
char *key_read_text(struct reader *reader, const struct key_spec *spec, const struct node *node, const char *path);

/* "a whole number from 1 to 64", "true or false", ...: what the spec allows, for messages. */
const char *key_allowed(struct reader *reader, const struct key_spec *spec);

/* "a list", "a mapping", "text", ...: what a node is, for messages. */
const char *node_kind_name(const struct node *node);

#endif
