/* The positional part of a released model's config.json: which scheme, with which parameters, in which layers.
 *
 * Followed are the rules of data/model-configs/README.md, section "Rules for a reader"; a value that the file does not
 * have is taken from what Hugging Face's class for the model_type does, and said in a warning. What cannot be told
 * without a guess is refused.
 */
#ifndef PE_CONFIG_MODEL_CONFIG_H
#define PE_CONFIG_MODEL_CONFIG_H

#include "config/arena.h"
#include "config/diagnostics.h"

#include <stdbool.h>
#include <stddef.h>

enum { MODEL_TABLES_MAX = 4 };

/* Entries of layer_table beside the indices of tables. */
enum { MODEL_LAYER_WITHOUT = -1, MODEL_LAYER_NOT_ATTENTION = -2 };

/* What one kind of layer does with positions. */
struct model_table {
  const char *layers;      /* "all layers", "full_attention", "sliding_attention", ...; of T5 "encoder", "decoder" */
  const char *settings;    /* parameters of the scheme as a mapping in one line: {"base": 10000, "layout": "half"} */
  unsigned head_dim;       /* width of the rows that the scheme acts on */
  unsigned query_dim;      /* width of a query vector; more than head_dim where a part of it has no positions (MLA) */
  double softmax_scale;    /* what the model multiplies q.k by, without the scheme's softmax_scale_multiplier */
  double original_length;  /* the length before scaling, where scaled; else the longest; 0: not in the file */
  const char *length_from; /* the key it was read from, and what is to be said of it; "" with 0 */

  /* Rotary schemes. */
  const char *rope_type; /* canonical: default, linear, dynamic, yarn, longrope, llama3, proportional */
  const char *layout;    /* half, interleaved */
  double base;
  unsigned rotary_dim;  /* channels that turn; of `proportional` the whole head */
  double factor;        /* 0: none given */
  double switch_length; /* above this length other frequencies run (longrope); 0: none */
};

/* A factor on the queries that grows with their position. */
enum model_temperature_kind {
  MODEL_TEMPERATURE_NONE,
  MODEL_TEMPERATURE_WITHOUT_ROPE, /* Llama 4: 1 + scale ln(1 + floor((pos + 1) / length)), layers without rope */
  MODEL_TEMPERATURE_ALL           /* 1 + scale ln(1 + floor(pos / length)), all layers */
};

struct model_temperature {
  enum model_temperature_kind kind;
  double scale, length;
};

struct model_unused {
  const char *key; /* with the objects that it stands in: rope_scaling.attn_factor */
  const char *why; /* "" where nothing is known of it */
};

struct model_config {
  struct arena arena; /* holds all that is pointed to */
  const char *model_type;
  const char *scheme; /* rope, alibi, t5 */
  unsigned n_heads;   /* 0: not in the file */
  unsigned n_layers;  /* 0: not in the file */
  double max_length;  /* max_position_embeddings; 0: not in the file */

  struct model_table tables[MODEL_TABLES_MAX]; /* the only one or that of the full layers first */
  size_t n_tables;
  const int *layer_table; /* [n_layers]: index of a table or MODEL_LAYER_*; NULL: all 0 */
  bool some_without;      /* some channels or layers see no positions */

  const int *mrope_axis; /* [rotary_dim / 2] coordinate that a pair follows: 0 time, 1 height, 2 width; NULL: one
                            coordinate */
  bool mrope_interleaved;
  struct model_temperature temperature;

  const struct model_unused *unused; /* keys that do not change a position */
  size_t n_unused;
  const char *const *warnings;
  size_t n_warnings;
};

/* Read and check. NULL where anything is wrong; then *diagnostics has at least one entry, with line and column. To be
 * freed with model_config_free. */
struct model_config *model_config_read(const char *path, struct diagnostics *diagnostics);
void model_config_free(struct model_config *config);

/* The factor on a query at `position`, in the layers that temperature.kind says. 1 without a temperature. */
double model_config_temperature(const struct model_config *config, double position);

#endif
