/* What a key that a model's config.json does not have means, by model_type: Hugging Face's classes. */
#ifndef PE_CONFIG_MODEL_CONFIG_DEFAULTS_H
#define PE_CONFIG_MODEL_CONFIG_DEFAULTS_H

enum model_scheme { MODEL_ROPE, MODEL_ALIBI, MODEL_T5, MODEL_MPT, MODEL_FALCON, MODEL_LEARNED };

/* Habits of a model's code that no key tells. */
enum model_habit {
  MODEL_FULL_LAYERS_SCALED = 1,        /* scaling is for the full layers alone */
  MODEL_LAYERS_DIFFER = 2,             /* full and sliding layers have tables of their own */
  MODEL_MASK_OF_LAYERS = 4,            /* no_rope_layers */
  MODEL_EMPTY_MASK_IS_ABSENT = 8,      /* [] there means the default pattern */
  MODEL_FULL_LAYERS_WITHOUT = 16,      /* with a window, the full layers have no rope */
  MODEL_SCALE_IS_ONE = 32,             /* q.k is not divided */
  MODEL_MULTIPLIER_IS_SCALE = 64,      /* attention_multiplier is the softmax scale */
  MODEL_SOFTMAX_BY_MSCALE = 128,       /* YaRN's magnitude is in the softmax scale */
  MODEL_YARN_IS_LONGROPE = 256,        /* the type yarn means longrope */
  MODEL_FULL_FROM_START = 512,         /* layer i is full when i % p = 0; else when (i + 1) % p = 0 */
  MODEL_TEMPERATURE_ON_QUERIES = 1024, /* attn_temperature_tuning */
  MODEL_SCALE_BY_SCALAR = 2048         /* query_pre_attn_scalar, 256 where it is absent */
};

struct model_defaults {
  const char *model_type; /* NULL: not a known one */
  enum model_scheme scheme;
  double base;       /* of the only table or the full layers */
  double local_base; /* of sliding layers; 0: as base */
  double partial;    /* share of a head that turns */
  const char *layout;
  unsigned full_every;    /* every n-th layer is full; 0: all alike */
  unsigned without_every; /* every n-th layer has no rope; 0: none */
  double max_length;      /* max_position_embeddings; 0: none taken */
  double window;          /* sliding_window; 0: none */
  unsigned habits;        /* MODEL_* */
};

/* Filled in to the last member. For a model_type that is not known (or NULL) model_type is NULL, and the rest is what
 * most models have: rope with base 10000, the whole head, half layout. */
struct model_defaults model_defaults_find(const char *model_type);

/* Why a key does not move positions ("mask only"); NULL where nothing is known of it. */
const char *model_unused_reason(const char *key);

#endif
