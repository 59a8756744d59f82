/* What is to be said of a table of rotary frequencies: numbers that do not go together, and those that surprise. */
#include "config/model_config_rope.h"

#include <math.h>
#include <string.h>

/* The formulas below are for messages; what runs is the plugin's. YaRN: Peng et al. 2023, arXiv:2309.00071, as in
 * DeepSeek's code; LongRoPE: Ding et al. 2024, arXiv:2402.13753. */

static double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

static double longrope_magnitude(double factor, double original) {
  return factor <= 1 ? 1 : sqrt(1 + log(factor) / log(original));
}

static double number(const struct rope_block *rope, enum rope_key key) {
  return rope->values[key].number;
}

static bool given(const struct rope_block *rope, enum rope_key key) {
  return rope->values[key].given;
}

static double attention_factor(const struct rope_block *rope) {
  if (given(rope, KEY_ATTENTION_FACTOR)) {
    return number(rope, KEY_ATTENTION_FACTOR);
  }
  double factor = number(rope, KEY_FACTOR);
  if (rope->type == TYPE_LONGROPE) {
    return longrope_magnitude(factor, number(rope, KEY_ORIGINAL));
  }
  if (rope->type == TYPE_YARN && number(rope, KEY_MSCALE) > 0 && number(rope, KEY_MSCALE_ALL_DIM) > 0) {
    return yarn_magnitude(factor, number(rope, KEY_MSCALE)) / yarn_magnitude(factor, number(rope, KEY_MSCALE_ALL_DIM));
  }
  return rope->type == TYPE_YARN ? yarn_magnitude(factor, 1) : 1;
}

static void check_factor(struct model_reader *reader, const struct rope_block *rope) {
  const json_t *json = rope->block ? model_peek(rope->block, "factor") : NULL;
  double factor = number(rope, KEY_FACTOR);
  if (!json || !given(rope, KEY_FACTOR)) {
    return;
  }
  if (json_is_integer(json)) {
    model_warn(reader, "factor %s is an integer: read as %.1f", model_digits(reader, factor), factor);
  }
  if (factor < 1) {
    model_warn(
        reader,
        "factor %s is below 1: it stretches frequencies by %s instead of dividing them; %s is meant if the value "
        "came from a frequency scale",
        model_digits(reader, factor), model_digits(reader, 1 / factor), model_digits(reader, 1 / factor));
  }
}

/* original_max_position_embeddings against max_position_embeddings and factor. */
static void check_lengths(struct model_reader *reader, const struct rope_block *rope) {
  double longest = reader->config->max_length, original = number(rope, KEY_ORIGINAL);
  double factor = number(rope, KEY_FACTOR);
  if (!(longest > 0) || rope->type == TYPE_DYNAMIC || !given(rope, KEY_ORIGINAL)) {
    return;
  }
  const char *original_text = model_digits(reader, original), *longest_text = model_digits(reader, longest);
  if (original > longest) {
    model_warn(reader, "original_max_position_embeddings %s is above max_position_embeddings %s: %s", original_text,
               longest_text,
               rope->type == TYPE_LONGROPE ? "the switch can never happen" : "the scaled range is never reached");
    return;
  }
  if (!given(rope, KEY_FACTOR) || rope->type == TYPE_LONGROPE || longest / original == factor) {
    return;
  }
  if (longest == original) {
    model_warn(reader,
               "max_position_embeddings %s equals the original length: the file does not say the extended length (%s = "
               "factor x original)",
               longest_text, model_digits(reader, factor * original));
    if (rope->type == TYPE_YARN) {
      model_warn(reader, "static YaRN changes short texts, too");
    }
    return;
  }
  model_warn(reader,
             "max_position_embeddings %s / original_max_position_embeddings %s is %s, factor is %s: factor counts",
             longest_text, original_text, model_digits(reader, longest / original), model_digits(reader, factor));
}

static void check_attn_factor(struct model_reader *reader, const struct rope_block *rope, double factor) {
  const json_t *json = model_peek(rope->block, "attn_factor");
  double other = json_is_number(json) ? factor * json_number_value(json) : 0;
  if (other > 0) {
    double apart = factor > other ? factor / other : other / factor;
    model_warn(reader,
               "attn_factor %.4f: Hugging Face's attention factor is %.4f, vLLM multiplies it in (%.4f x %.4f = %.4f): "
               "two readings, %.0f %% apart in the logits",
               json_number_value(json), factor, factor, json_number_value(json), other, 100 * (apart * apart - 1));
  }
}

static void check_yarn(struct model_reader *reader, const struct rope_block *rope, const struct model_table *table) {
  double fast = given(rope, KEY_BETA_FAST) ? number(rope, KEY_BETA_FAST) : 32;
  double slow = given(rope, KEY_BETA_SLOW) ? number(rope, KEY_BETA_SLOW) : 1;
  double factor = number(rope, KEY_FACTOR), final = attention_factor(rope);
  if (fast < slow) {
    model_refuse(reader, ERROR_CONFIG_CONFLICT, rope->block, given(rope, KEY_BETA_FAST) ? "beta_fast" : "beta_slow",
                 "beta_fast %s is below beta_slow %s: are they swapped? beta_fast is the larger number of turns",
                 model_digits(reader, fast), model_digits(reader, slow));
  } else if (fast == slow) {
    model_warn(reader, "beta_fast = beta_slow: no blend band, a step at %s turns within the original length",
               model_digits(reader, fast));
  }
  if (given(rope, KEY_ATTENTION_FACTOR)) {
    double usual = yarn_magnitude(factor, 1);
    bool same = fabs(usual - final) <= 1e-9 * usual;
    model_warn(reader, "attention_factor is given and final: %.4f%s 0.1 ln %s + 1%s", final, same ? " =" : ", not",
               model_digits(reader, factor), same ? ", not to be put through the logarithm again" : "");
  }
  check_attn_factor(reader, rope, final);
  double all = number(rope, KEY_MSCALE_ALL_DIM);
  if (number(rope, KEY_MSCALE) > 0 && !(all > 0)) {
    model_warn(reader, "mscale without mscale_all_dim is ignored, as in Hugging Face");
  }
  if (all > 0 && (reader->defaults.habits & MODEL_SOFTMAX_BY_MSCALE)) {
    double magnitude = yarn_magnitude(factor, all);
    model_warn(reader,
               "convention of DeepSeek: attention factor %s (ratio of two magnitudes), softmax scale %u^-0.5 x %.4f",
               model_digits(reader, final), table->query_dim, magnitude * magnitude);
  }
}

static void check_list(struct model_reader *reader, const struct rope_block *rope, enum rope_key key, const char *name,
                       const struct model_table *table) {
  size_t wanted = table->rotary_dim / 2;
  if (rope->values[key].count == wanted) {
    return;
  }
  bool whole = table->rotary_dim == table->head_dim;
  model_refuse(reader, ERROR_CONFIG_CONFLICT, rope->block, name,
               "%zu factors given, %zu wanted: rotary width %u / 2%s%s%s", rope->values[key].count, wanted,
               table->rotary_dim, whole ? "" : ", because partial_rotary_factor is ",
               whole ? "" : model_digits(reader, rope->partial),
               whole ? "" : arena_printf(&reader->reader.arena, " of %u channels", table->head_dim));
}

static bool all_ones(const struct rope_value *value) {
  for (size_t i = 0; i < value->count; i++) {
    if (value->list[i] != 1) {
      return false;
    }
  }
  return true;
}

static void check_longrope(struct model_reader *reader, const struct rope_block *rope,
                           const struct model_table *table) {
  const struct rope_value *near = &rope->values[KEY_SHORT_FACTOR], *far = &rope->values[KEY_LONG_FACTOR];
  check_list(reader, rope, KEY_SHORT_FACTOR, "short_factor", table);
  check_list(reader, rope, KEY_LONG_FACTOR, "long_factor", table);
  double factor = attention_factor(rope);
  if (near->count == far->count && !memcmp(near->list, far->list, near->count * sizeof *near->list)) {
    model_warn(reader, "both lists are the same, so the switch above %s tokens does not matter",
               model_digits(reader, table->original_length));
  } else {
    model_warn(reader, "two tables, switch above %s tokens", model_digits(reader, table->original_length));
  }
  if (given(rope, KEY_FACTOR) && model_peek(rope->block, "factor")) {
    model_warn(reader, "factor %s: attention factor %.5g", model_digits(reader, number(rope, KEY_FACTOR)), factor);
  }
  if (all_ones(near) && factor != 1) {
    model_warn(reader, "attention factor %.4f at every length although the short table is plain", factor);
  }
}

static void check_llama3(struct model_reader *reader, const struct rope_block *rope) {
  double low = number(rope, KEY_LOW_FREQ_FACTOR), high = number(rope, KEY_HIGH_FREQ_FACTOR);
  if (low > high) {
    model_refuse(reader, ERROR_CONFIG_CONFLICT, rope->block, "high_freq_factor",
                 "high_freq_factor %s is below low_freq_factor %s: are they swapped? high_freq_factor is the larger",
                 model_digits(reader, high), model_digits(reader, low));
  } else if (low == high) {
    model_warn(reader, "low_freq_factor = high_freq_factor: no blend band, a step at %s tokens of wavelength",
               model_digits(reader, number(rope, KEY_ORIGINAL) / low));
  }
}

/* Channels that pass through, whether rope turns a part of each row or the rows are a part of the head (MLA). */
static void check_width(struct model_reader *reader, const struct rope_block *rope, const struct model_table *table) {
  unsigned head = table->query_dim;
  if (table->rotary_dim == head) {
    return;
  }
  double factor = attention_factor(rope);
  model_warn(reader, "%u of %u channels turn; frequencies run over the %u", table->rotary_dim, head, table->rotary_dim);
  if (factor != 1) {
    model_warn(reader,
               "the attention factor scales only the %u rotated channels: their logits x %.4f, the other %u "
               "channels x 1",
               table->rotary_dim, factor * factor, head - table->rotary_dim);
  }
}

void model_check_rope(struct model_reader *reader, const struct rope_block *rope, const struct model_table *table) {
  check_factor(reader, rope);
  check_lengths(reader, rope);
  check_width(reader, rope, table);
  switch (rope->type) {
  case TYPE_YARN:
    check_yarn(reader, rope, table);
    break;
  case TYPE_LONGROPE:
    check_longrope(reader, rope, table);
    break;
  case TYPE_LLAMA3:
    check_llama3(reader, rope);
    break;
  default:
    break;
  }
}
