/* A JSON file of someone else's, read strictly, with the place of every value: JSON as it is written down, no key
 * twice, no NaN. */
#ifndef PE_CONFIG_JSON_FILE_H
#define PE_CONFIG_JSON_FILE_H

#include "config/reader.h"

#include <jansson.h>

struct json_file {
  struct reader *reader;
  struct source source;
  json_t *root; /* an object */
};

/* An object of the file, and how it is reached from the root. */
struct json_object {
  json_t *json;
  const struct json_object *parent; /* NULL: the root */
  const char *name;                 /* its key in the parent; "" for the root */
};

struct json_place {
  int line, column; /* 1-based, in characters; 0: not found, because the file writes the key with an escape */
};

/* Read `path`. False after a report: it cannot be read, is not UTF-8, not JSON, or not an object. json_file_close is
 * due in either case; the source's text lives in the reader's arena. */
bool json_file_read(struct json_file *file, struct reader *reader, const char *path);
void json_file_close(struct json_file *file);

/* Where the value of `key` stands; the object itself where it has no such key. */
struct json_place json_file_place(const struct json_file *file, const struct json_object *object, const char *key);

/* "text_config.rope_scaling.factor", in the reader's arena; the object's own path where key is "". */
const char *json_path(struct reader *reader, const struct json_object *object, const char *key);

/* "text", "a list", ...: what a value is, for messages. */
const char *json_kind_name(const json_t *value);

/* A scalar as the file could write it, `"4.0"` or `4.0`, cut when long; in the reader's arena. */
const char *json_shown(struct reader *reader, const json_t *value);

#endif
