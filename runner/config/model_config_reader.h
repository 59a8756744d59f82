/* What the parts of the reader of model configs share: the file, the defaults, what was used, what is to be said. */
#ifndef PE_CONFIG_MODEL_CONFIG_READER_H
#define PE_CONFIG_MODEL_CONFIG_READER_H

#include "config/json_file.h"
#include "config/model_config.h"
#include "config/model_config_defaults.h"

enum { MODEL_LAYERS_MAX = 65536, MODEL_WIDTH_MAX = 1 << 20 };

struct model_mark; /* a key that was looked at */

struct model_reader {
  struct reader reader;
  struct json_file file;
  struct json_object root, keys; /* keys: the decoder's own, text_config of a multimodal model */
  struct model_defaults defaults;
  struct model_config *config;
  struct model_mark *marks;
  size_t n_marks, marks_capacity;
  const char **warnings;
  size_t n_warnings, warnings_capacity;
};

/* A line for the user. One that is there already is not added again. */
void model_warn(struct model_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What makes a file unusable: "path.key: sentence" at the value's place (the object's, where it has no such key). */
void model_refuse(struct model_reader *reader, enum error_code code, const struct json_object *object, const char *key,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The value of a key and, from now on, a key that was used. NULL where it is absent or null. */
const json_t *model_key(struct model_reader *reader, const struct json_object *object, const char *key);

/* The same without using it. */
const json_t *model_peek(const struct json_object *object, const char *key);

/* Say why a key that is there does not count; it is then listed as not used. */
void model_not_used(struct model_reader *reader, const struct json_object *object, const char *key, const char *why);

/* Typed values. True where the key is there and the value is right; *value is untouched otherwise, and a wrong one is
 * refused. Numbers are within [min, max]; a whole number may be written 4096.0. */
bool model_number(struct model_reader *reader, const struct json_object *object, const char *key, double min,
                  double max, double *value);
bool model_whole(struct model_reader *reader, const struct json_object *object, const char *key, double max,
                 double *value);
bool model_text(struct model_reader *reader, const struct json_object *object, const char *key, const char **value);
bool model_truth(struct model_reader *reader, const struct json_object *object, const char *key, bool *value);

/* The first of `names` (ended by NULL) that the object has, as a whole number from 1 to max; its name, or NULL. */
const char *model_first_whole(struct model_reader *reader, const struct json_object *object, const char *const *names,
                              double max, double *value);

/* An object below another. False where it is absent or null; text or a list in its place is refused. */
bool model_object(struct model_reader *reader, const struct json_object *parent, const char *key,
                  struct json_object *object);

/* "model_type llama", or that it is not known; for warnings. */
const char *model_type_words(struct model_reader *reader);

/* A double as a person writes it: "10000", "0.25", "1e+30"; in the arena. */
const char *model_digits(struct model_reader *reader, double value);

/* The list of keys that were not used, into the config. */
void model_list_unused(struct model_reader *reader);

/* ---- parts, in the order in which they run ---- */

/* Widths of a head, from the model's keys; and config->n_heads, n_layers. */
struct model_widths {
  double query, rows;           /* of a query vector, and of its part that rope acts on (MLA: less) */
  double query_full, rows_full; /* the same in the full layers */
};
bool model_read_widths(struct model_reader *reader, struct model_widths *widths);

/* What q.k is multiplied by in heads of this width. */
double model_softmax_scale(struct model_reader *reader, double width);

/* One table of rope. */
struct model_rope_request {
  const struct json_object *block; /* NULL: nothing is said */
  const char *layers;
  bool local;         /* of sliding layers */
  bool scaled;        /* false: of the block, only base and width count */
  double query, rows; /* widths */
};
bool model_read_rope(struct model_reader *reader, const struct model_rope_request *request, struct model_table *table);

/* All tables of rope, which layer has which, coordinates of pairs, temperature. */
void model_read_rope_tables(struct model_reader *reader, const struct model_widths *widths);

/* layer_table, after the tables. */
void model_read_layers(struct model_reader *reader);

#endif
