/* One block of rope keys (rope_scaling, rope_parameters, or one layer type's part of it) as read. */
#ifndef PE_CONFIG_MODEL_CONFIG_ROPE_H
#define PE_CONFIG_MODEL_CONFIG_ROPE_H

#include "config/model_config_reader.h"

enum rope_type {
  TYPE_DEFAULT,
  TYPE_LINEAR,
  TYPE_DYNAMIC,
  TYPE_YARN,
  TYPE_LONGROPE,
  TYPE_LLAMA3,
  TYPE_PROPORTIONAL,
  N_TYPES
};

/* Their names, ended by NULL. */
extern const char *const model_rope_types[];

/* Keys that a scaling reads; named as the parameters of the plugin. */
enum rope_key {
  KEY_FACTOR,
  KEY_ORIGINAL,
  KEY_ATTENTION_FACTOR,
  KEY_BETA_FAST,
  KEY_BETA_SLOW,
  KEY_TRUNCATE,
  KEY_MSCALE,
  KEY_MSCALE_ALL_DIM,
  KEY_SHORT_FACTOR,
  KEY_LONG_FACTOR,
  KEY_LOW_FREQ_FACTOR,
  KEY_HIGH_FREQ_FACTOR,
  N_ROPE_KEYS
};

struct rope_value {
  bool given;
  double number;
  double *list;
  size_t count;
};

struct rope_block {
  const struct json_object *block; /* NULL: there is none */
  enum rope_type type;
  struct rope_value values[N_ROPE_KEYS];
  double base;
  double width;   /* channels that turn */
  double partial; /* share of the head */
};

/* Whether a block has any key that only a scaling reads. */
bool model_rope_has_values(const struct json_object *block);

/* Keys of the scaling `type`: typed values, those that are missing refused, those that are not read said. */
void model_read_rope_values(struct model_reader *reader, struct rope_block *rope);

/* Checks between values, and what is to be said of them. `table` has everything but settings. */
void model_check_rope(struct model_reader *reader, const struct rope_block *rope, const struct model_table *table);

#endif
