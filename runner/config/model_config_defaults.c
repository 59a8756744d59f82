#include "config/model_config_defaults.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

/* Hugging Face's configuration and attention classes (5.16.0.dev0, August 2026). A member that is 0 is what most models
 * have: see model_defaults_find. */
static const struct model_defaults known[] = {
    {.model_type = "llama"},
    {.model_type = "mistral"},
    {.model_type = "qwen2"},
    {.model_type = "qwen3"},
    {.model_type = "gemma"},
    {.model_type = "deepseek"},
    {.model_type = "granite", .habits = MODEL_MULTIPLIER_IS_SCALE},
    {.model_type = "granitemoe", .habits = MODEL_MULTIPLIER_IS_SCALE},
    {.model_type = "granitemoeshared", .habits = MODEL_MULTIPLIER_IS_SCALE},
    {.model_type = "granitemoehybrid", .habits = MODEL_MULTIPLIER_IS_SCALE},
    {.model_type = "phi3", .habits = MODEL_YARN_IS_LONGROPE},
    {.model_type = "falcon", .scheme = MODEL_FALCON},
    {.model_type = "mixtral", .base = 1e6},
    {.model_type = "qwen2_vl", .base = 1e6},
    {.model_type = "qwen2_vl_text", .base = 1e6},
    {.model_type = "qwen2_5_vl", .base = 1e6},
    {.model_type = "qwen2_5_vl_text", .base = 1e6},
    {.model_type = "minimax_m2", .base = 5e6},
    {.model_type = "nomic_bert", .base = 1000},
    {.model_type = "gpt_oss", .base = 150000},

    {.model_type = "persimmon", .partial = 0.5},
    {.model_type = "phi", .partial = 0.5},
    {.model_type = "nemotron", .partial = 0.5},
    {.model_type = "recurrent_gemma", .partial = 0.5},
    {.model_type = "glm4_moe", .partial = 0.5},
    {.model_type = "stablelm", .partial = 0.25},
    {.model_type = "gpt_neox", .partial = 0.25},
    {.model_type = "qwen3_next", .partial = 0.25},
    {.model_type = "qwen3_5", .partial = 0.25},
    {.model_type = "qwen3_5_text", .partial = 0.25},

    {.model_type = "gptj", .layout = "interleaved"},
    {.model_type = "codegen", .layout = "interleaved"},
    {.model_type = "glm", .partial = 0.5, .layout = "interleaved"},
    {.model_type = "glm4", .partial = 0.5, .layout = "interleaved"},
    {.model_type = "chatglm", .partial = 0.5, .layout = "interleaved"},
    {.model_type = "cohere", .base = 500000, .layout = "interleaved"},
    {.model_type = "ernie4_5", .base = 500000, .layout = "interleaved"},
    {.model_type = "helium", .base = 100000, .layout = "interleaved"},
    {.model_type = "deepseek_v2", .layout = "interleaved", .habits = MODEL_SOFTMAX_BY_MSCALE},
    {.model_type = "deepseek_v3", .layout = "interleaved", .habits = MODEL_SOFTMAX_BY_MSCALE},

    {.model_type = "llama4",
     .base = 500000,
     .layout = "interleaved",
     .without_every = 4,
     .habits = MODEL_MASK_OF_LAYERS | MODEL_EMPTY_MASK_IS_ABSENT | MODEL_TEMPERATURE_ON_QUERIES},
    {.model_type = "llama4_text",
     .base = 500000,
     .layout = "interleaved",
     .without_every = 4,
     .habits = MODEL_MASK_OF_LAYERS | MODEL_EMPTY_MASK_IS_ABSENT | MODEL_TEMPERATURE_ON_QUERIES},
    {.model_type = "smollm3", .base = 2e6, .without_every = 4, .habits = MODEL_MASK_OF_LAYERS},
    {.model_type = "cohere2",
     .layout = "interleaved",
     .full_every = 4,
     .window = 4096,
     .habits = MODEL_FULL_LAYERS_WITHOUT},
    {.model_type = "exaone4", .full_every = 4, .window = 4096, .habits = MODEL_FULL_LAYERS_WITHOUT},

    {.model_type = "gemma2", .habits = MODEL_SCALE_BY_SCALAR},
    {.model_type = "gemma3_text",
     .base = 1e6,
     .local_base = 1e4,
     .full_every = 6,
     .max_length = 131072,
     .habits = MODEL_LAYERS_DIFFER | MODEL_FULL_LAYERS_SCALED | MODEL_SCALE_BY_SCALAR},
    {.model_type = "gemma3n_text",
     .base = 1e6,
     .local_base = 1e4,
     .full_every = 5,
     .habits = MODEL_LAYERS_DIFFER | MODEL_FULL_LAYERS_SCALED | MODEL_SCALE_IS_ONE},
    {.model_type = "gemma4_text",
     .full_every = 6,
     .habits = MODEL_LAYERS_DIFFER | MODEL_FULL_LAYERS_SCALED | MODEL_SCALE_IS_ONE},
    {.model_type = "olmo3", .base = 500000, .full_every = 4, .habits = MODEL_LAYERS_DIFFER | MODEL_FULL_LAYERS_SCALED},
    {.model_type = "modernbert",
     .base = 160000,
     .local_base = 10000,
     .full_every = 3,
     .habits = MODEL_LAYERS_DIFFER | MODEL_FULL_FROM_START},

    {.model_type = "bloom", .scheme = MODEL_ALIBI},
    {.model_type = "mpt", .scheme = MODEL_MPT},
    {.model_type = "t5", .scheme = MODEL_T5, .habits = MODEL_SCALE_IS_ONE},
    {.model_type = "mt5", .scheme = MODEL_T5, .habits = MODEL_SCALE_IS_ONE},
    {.model_type = "gpt2", .scheme = MODEL_LEARNED},
    {.model_type = "opt", .scheme = MODEL_LEARNED},
    {.model_type = "bert", .scheme = MODEL_LEARNED},
    {.model_type = "roberta", .scheme = MODEL_LEARNED},
};

struct model_defaults model_defaults_find(const char *model_type) {
  struct model_defaults found = {.scheme = MODEL_ROPE};
  for (size_t i = 0; model_type && i < sizeof known / sizeof known[0]; i++) {
    if (!strcmp(known[i].model_type, model_type)) {
      found = known[i];
    }
  }
  found.base = found.base > 0 ? found.base : 10000;
  found.local_base = found.local_base > 0 ? found.local_base : found.base;
  found.partial = found.partial > 0 ? found.partial : 1;
  found.layout = found.layout ? found.layout : "half";
  return found;
}

const char *model_unused_reason(const char *key) {
  static const struct {
    const char *pattern, *why;
  } reasons[] = {
      {"sliding_window", "mask only"},
      {"use_sliding_window", "mask only"},
      {"max_window_layers", "mask only"},
      {"*sliding_window_pattern", "mask only"},
      {"layer_types", "mask only: one table for all layers"},
      {"attention_chunk_size", "mask only"},
      {"local_attention", "mask only"},
      {"attn_logit_softcapping", "not positional"},
      {"final_logit_softcapping", "not positional"},
      {"embedding_multiplier", "not positional"},
      {"logits_scaling", "not positional"},
      {"residual_multiplier", "not positional"},
      {"multi_query_*", "not positional"},
      {"num_key_value_heads", "not positional"},
      {"v_head_dim", "not positional"},
      {"attn_factor", "not attention_factor"},
      {"rotary", "no effect in Hugging Face"},
      {"original_rope", "no effect in Hugging Face"},
      {"apply_query_key_layer_scaling", "no converter keeps it"},
      {"no_rope_layer_interval", "the list no_rope_layers wins"},
      {"offset_alibi", "nothing reads it"},
      {"n_positions", "limits nothing"},
      {"max_seq_len", "mask and cache size only"},
  };
  for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
    if (!fnmatch(reasons[i].pattern, key, 0)) {
      return reasons[i].why;
    }
  }
  return NULL;
}
