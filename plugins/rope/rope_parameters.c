#include "rope_parameters.h"

#include <math.h>
#include <string.h>

/* No released model has a longer list; the width of a head bounds it in create. */
#define LONGEST_LIST 65536
#define LARGEST_LENGTH 9007199254740992.0 /* 2^53, as for positions */

static const char *const layouts[] = {"half", "interleaved", NULL};
static const char *const scalings[] = {"none",     "linear", "ntk",          "dynamic", "yarn",
                                       "longrope", "llama3", "proportional", NULL};
static const char *const ramps[] = {"code", "paper", NULL};
static const char *const softmax_scales[] = {"none", "deepseek", NULL};

const pe_param rope_params[ROPE_N_PARAMS] = {
    [ROPE_BASE] = {.key = "base",
                   .doc = "b; pair i turns by b^(-2i/d) radians per position (rope_theta, freq_base)",
                   .type = PE_REAL,
                   .min = 1,
                   .max = INFINITY,
                   .dflt = {.r = 10000}},
    [ROPE_LAYOUT] = {.key = "layout",
                     .doc =
                         "pairs (i, i+d/2) (half: GPT-NeoX, Llama in Hugging Face) or (2i, 2i+1) (interleaved: GPT-J)",
                     .type = PE_CHOICE,
                     .dflt = {.i = ROPE_LAYOUT_HALF},
                     .choices = layouts},
    [ROPE_ROTARY_DIM] = {.key = "rotary_dim",
                         .doc = "d: the first d channels turn, the rest pass through; without it head_dim",
                         .type = PE_INT,
                         .flags = PE_PARAM_OPTIONAL,
                         .min = 2,
                         .max = 4294967294.0},
    [ROPE_PARTIAL_ROTARY_FACTOR] = {.key = "partial_rotary_factor",
                                    .doc = "d / head_dim; with scaling proportional: share of pairs that turn",
                                    .type = PE_REAL,
                                    .flags = PE_PARAM_OPTIONAL,
                                    .min = 0,
                                    .max = 1},
    [ROPE_SCALING] = {.key = "scaling",
                      .doc = "how the frequencies are stretched for longer inputs (rope_type)",
                      .type = PE_CHOICE,
                      .dflt = {.i = ROPE_SCALING_NONE},
                      .choices = scalings},
    [ROPE_FACTOR] = {.key = "factor",
                     .doc = "s: how many times the original length is aimed at",
                     .type = PE_REAL,
                     .flags = PE_PARAM_OPTIONAL,
                     .min = 1e-6,
                     .max = INFINITY},
    [ROPE_ORIGINAL_MAX_POSITION_EMBEDDINGS] = {.key = "original_max_position_embeddings",
                                               .doc = "L: length before scaling; without it the training length",
                                               .type = PE_INT,
                                               .flags = PE_PARAM_OPTIONAL,
                                               .min = 1,
                                               .max = LARGEST_LENGTH},
    [ROPE_MAX_POSITION_EMBEDDINGS] = {.key = "max_position_embeddings",
                                      .doc = "yarn, longrope: gives factor as its ratio to L; dynamic: L itself",
                                      .type = PE_INT,
                                      .flags = PE_PARAM_OPTIONAL,
                                      .min = 1,
                                      .max = LARGEST_LENGTH},
    [ROPE_RAMP] = {.key = "ramp",
                   .doc = "yarn: linear in the pair index (code, the default) or in turns within L (paper)",
                   .type = PE_CHOICE,
                   .flags = PE_PARAM_OPTIONAL,
                   .choices = ramps},
    [ROPE_TRUNCATE] = {.key = "truncate",
                       .doc = "yarn, ramp code: whole pair indices as the ramp's ends (true, the default)",
                       .type = PE_BOOL,
                       .flags = PE_PARAM_OPTIONAL},
    [ROPE_BETA_FAST] = {.key = "beta_fast",
                        .doc = "yarn: pairs with more turns within L are kept (the paper's beta; 32)",
                        .type = PE_REAL,
                        .flags = PE_PARAM_OPTIONAL,
                        .min = 1e-6,
                        .max = 1e9},
    [ROPE_BETA_SLOW] = {.key = "beta_slow",
                        .doc = "yarn: pairs with fewer turns within L are divided by factor (the paper's alpha; 1)",
                        .type = PE_REAL,
                        .flags = PE_PARAM_OPTIONAL,
                        .min = 1e-6,
                        .max = 1e9},
    [ROPE_MSCALE] = {.key = "mscale",
                     .doc = "yarn: with mscale_all_dim, attention factor g(s, mscale) / g(s, mscale_all_dim)",
                     .type = PE_REAL,
                     .flags = PE_PARAM_OPTIONAL,
                     .min = 0,
                     .max = 1000},
    [ROPE_MSCALE_ALL_DIM] = {.key = "mscale_all_dim",
                             .doc = "yarn: see mscale, softmax_scale",
                             .type = PE_REAL,
                             .flags = PE_PARAM_OPTIONAL,
                             .min = 0,
                             .max = 1000},
    [ROPE_ATTENTION_FACTOR] = {.key = "attention_factor",
                               .doc = "yarn, longrope: what multiplies cos and sin, final (not put through a formula)",
                               .type = PE_REAL,
                               .flags = PE_PARAM_OPTIONAL,
                               .min = 0,
                               .max = 1e6},
    [ROPE_SOFTMAX_SCALE] = {.key = "softmax_scale",
                            .doc = "yarn: deepseek multiplies the score scale by g(s, mscale_all_dim)^2 (none)",
                            .type = PE_CHOICE,
                            .flags = PE_PARAM_OPTIONAL,
                            .choices = softmax_scales},
    [ROPE_SHORT_FACTOR] = {.key = "short_factor",
                           .doc = "longrope: divisors [d/2] of the frequencies up to length L",
                           .type = PE_REAL_LIST,
                           .flags = PE_PARAM_OPTIONAL,
                           .min = 1e-6,
                           .max = 1e9,
                           .list_min = 1,
                           .list_max = LONGEST_LIST},
    [ROPE_LONG_FACTOR] = {.key = "long_factor",
                          .doc = "longrope: divisors [d/2] of the frequencies above length L",
                          .type = PE_REAL_LIST,
                          .flags = PE_PARAM_OPTIONAL,
                          .min = 1e-6,
                          .max = 1e9,
                          .list_min = 1,
                          .list_max = LONGEST_LIST},
    [ROPE_LOW_FREQ_FACTOR] = {.key = "low_freq_factor",
                              .doc = "llama3: pairs with fewer turns within L are divided by factor",
                              .type = PE_REAL,
                              .flags = PE_PARAM_OPTIONAL,
                              .min = 1e-6,
                              .max = 1e9},
    [ROPE_HIGH_FREQ_FACTOR] = {.key = "high_freq_factor",
                               .doc = "llama3: pairs with more turns within L are kept",
                               .type = PE_REAL,
                               .flags = PE_PARAM_OPTIONAL,
                               .min = 1e-6,
                               .max = 1e9}};

#define IN(kind) (1u << ROPE_SCALING_##kind)

/* The scalings that read a parameter, and those that cannot do without it. Parameters that are not listed go with every
 * scaling. */
static const struct {
  int param;
  unsigned read_by, needed_by;
} uses[] = {
    {ROPE_FACTOR, ~IN(NONE), IN(LINEAR) | IN(NTK) | IN(DYNAMIC) | IN(LLAMA3)},
    {ROPE_ORIGINAL_MAX_POSITION_EMBEDDINGS, IN(DYNAMIC) | IN(YARN) | IN(LONGROPE) | IN(LLAMA3), 0},
    {ROPE_MAX_POSITION_EMBEDDINGS, IN(DYNAMIC) | IN(YARN) | IN(LONGROPE), 0},
    {ROPE_RAMP, IN(YARN), 0},
    {ROPE_TRUNCATE, IN(YARN), 0},
    {ROPE_BETA_FAST, IN(YARN), 0},
    {ROPE_BETA_SLOW, IN(YARN), 0},
    {ROPE_MSCALE, IN(YARN), 0},
    {ROPE_MSCALE_ALL_DIM, IN(YARN), 0},
    {ROPE_ATTENTION_FACTOR, IN(YARN) | IN(LONGROPE), 0},
    {ROPE_SOFTMAX_SCALE, IN(YARN), 0},
    {ROPE_SHORT_FACTOR, IN(LONGROPE), IN(LONGROPE)},
    {ROPE_LONG_FACTOR, IN(LONGROPE), IN(LONGROPE)},
    {ROPE_LOW_FREQ_FACTOR, IN(LLAMA3), IN(LLAMA3)},
    {ROPE_HIGH_FREQ_FACTOR, IN(LLAMA3), IN(LLAMA3)},
};

static void list_scalings(unsigned set, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int kind = 0; scalings[kind]; kind++) {
    if (set & (1u << kind)) {
      int length = snprintf(text + used, size - used, "%s%s", used ? ", " : "", scalings[kind]);
      if (length < 0 || (size_t)length >= size - used) {
        return;
      }
      used += (size_t)length;
    }
  }
}

static pe_status check_uses(const pe_value *values, pe_error *err) {
  int kind = (int)values[ROPE_SCALING].i;
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
    const char *key = rope_params[uses[i].param].key;
    if (values[uses[i].param].given && !(uses[i].read_by & (1u << kind))) {
      char readers[128];
      list_scalings(uses[i].read_by, readers, sizeof readers);
      return pe_fail(err, PE_ERR_PARAM, uses[i].param, "%s goes with scaling %s, not with %s", key, readers,
                     scalings[kind]);
    }
  }
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
    if (!values[uses[i].param].given && (uses[i].needed_by & (1u << kind))) {
      return pe_fail(err, PE_ERR_PARAM, uses[i].param, "scaling %s needs %s", scalings[kind],
                     rope_params[uses[i].param].key);
    }
  }
  return PE_OK;
}

/* Rotary width, and how many of its pairs turn. Frequencies follow the rotary width, but for `proportional`, where the
 * pairs span the whole head and the slower ones stand still. */
static pe_status settle_width(const pe_shape *shape, const pe_value *values, rope_scaling *out, pe_error *err) {
  const pe_value *rotary_dim = &values[ROPE_ROTARY_DIM];
  const pe_value *partial = &values[ROPE_PARTIAL_ROTARY_FACTOR];
  if (shape->head_dim == 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "rope turns queries and keys, and this model has none (head_dim 0)");
  }
  if (rotary_dim->given && partial->given) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_ROTARY_DIM,
                   "rotary_dim %lld and partial_rotary_factor %g say the same thing: give one of them",
                   (long long)rotary_dim->i, partial->r);
  }
  int proportional = out->kind == ROPE_SCALING_PROPORTIONAL;
  if (proportional && rotary_dim->given) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_ROTARY_DIM,
                   "rotary_dim does not go with scaling proportional, which pairs the whole head");
  }
  double head_dim = shape->head_dim;
  double width = head_dim;
  if (rotary_dim->given) {
    width = rotary_dim->r;
  } else if (partial->given && !proportional) {
    width = floor(head_dim * partial->r);
  }
  if (width > head_dim) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_ROTARY_DIM, "rotary_dim %.0f is wider than a head, %u", width,
                   shape->head_dim);
  }
  if (width < 2) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_PARTIAL_ROTARY_FACTOR,
                   "partial_rotary_factor %g leaves %.0f of %u channels: a pair needs 2", partial->r, width,
                   shape->head_dim);
  }
  if (fmod(width, 2) != 0) {
    return rotary_dim->given || (partial->given && !proportional)
               ? pe_fail(err, PE_ERR_PARAM, ROPE_ROTARY_DIM, "rotary width %.0f is odd: rope turns pairs of channels",
                         width)
               : pe_fail(err, PE_ERR_SHAPE, -1, "head_dim %u is odd: rope turns pairs of channels", shape->head_dim);
  }
  out->n_pairs = (size_t)width / 2;
  out->n_turned = out->n_pairs;
  if (proportional && partial->given) {
    out->n_turned = (size_t)floor(partial->r * head_dim / 2);
  }
  return PE_OK;
}

/* L from original_max_position_embeddings, for dynamic also from max_position_embeddings (so do model configs), else
 * from the training length. */
static pe_status settle_original_length(const pe_shape *shape, const pe_value *values, rope_scaling *out,
                                        pe_error *err) {
  const pe_value *original = &values[ROPE_ORIGINAL_MAX_POSITION_EMBEDDINGS];
  const pe_value *maximum = &values[ROPE_MAX_POSITION_EMBEDDINGS];
  int dynamic = out->kind == ROPE_SCALING_DYNAMIC;
  if (dynamic && original->given && maximum->given && original->i != maximum->i) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_MAX_POSITION_EMBEDDINGS,
                   "scaling dynamic starts to stretch at one length: original_max_position_embeddings %lld and "
                   "max_position_embeddings %lld differ",
                   (long long)original->i, (long long)maximum->i);
  }
  if (original->given) {
    out->original_length = original->r;
  } else if (dynamic && maximum->given) {
    out->original_length = maximum->r;
  } else if (shape->train_len > 0) {
    out->original_length = shape->train_len;
  } else {
    return pe_fail(err, PE_ERR_PARAM, ROPE_ORIGINAL_MAX_POSITION_EMBEDDINGS,
                   "scaling %s needs original_max_position_embeddings (no training length is known)",
                   scalings[out->kind]);
  }
  return PE_OK;
}

static void tell(const pe_host *host, const char *sentence) {
  if (host && PE_HAS(host, pe_host, log)) {
    host->log(host->ctx, 2, sentence);
  }
}

/* factor, or for yarn and longrope the ratio of the two lengths. */
static pe_status settle_factor(const pe_host *host, const pe_value *values, rope_scaling *out, pe_error *err) {
  const pe_value *factor = &values[ROPE_FACTOR];
  const pe_value *maximum = &values[ROPE_MAX_POSITION_EMBEDDINGS];
  out->factor = factor->given ? factor->r : 1;
  if (out->factor < 1) {
    tell(host, "rope: a factor below 1 raises frequencies instead of lowering them; its reciprocal is meant if it is a "
               "frequency scale");
  }
  if (out->kind != ROPE_SCALING_YARN && out->kind != ROPE_SCALING_LONGROPE) {
    return PE_OK;
  }
  if (factor->given && maximum->given && maximum->r / out->original_length != factor->r) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_FACTOR,
                   "factor %g and max_position_embeddings %lld over an original length of %.0f, which is %g, differ: "
                   "give one of them",
                   factor->r, (long long)maximum->i, out->original_length, maximum->r / out->original_length);
  }
  if (!factor->given && maximum->given) {
    out->factor = maximum->r / out->original_length;
  }
  int needed = out->kind == ROPE_SCALING_YARN || !values[ROPE_ATTENTION_FACTOR].given;
  if (needed && !factor->given && !maximum->given) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_FACTOR, "scaling %s needs factor or max_position_embeddings%s",
                   scalings[out->kind], out->kind == ROPE_SCALING_LONGROPE ? ", or attention_factor" : "");
  }
  if (out->kind == ROPE_SCALING_YARN && !factor->given && out->factor < 1) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_MAX_POSITION_EMBEDDINGS,
                   "max_position_embeddings %lld is below the original length %.0f: scaling yarn cannot shrink",
                   (long long)maximum->i, out->original_length);
  }
  return PE_OK;
}

static double real_or(const pe_value *value, double absent) {
  return value->given ? value->r : absent;
}

static pe_status settle_yarn(const pe_host *host, const pe_value *values, rope_scaling *out, pe_error *err) {
  out->ramp = values[ROPE_RAMP].given ? (int)values[ROPE_RAMP].i : ROPE_RAMP_CODE;
  if (out->ramp == ROPE_RAMP_PAPER && values[ROPE_TRUNCATE].given) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_TRUNCATE, "truncate goes with ramp code: the paper's ramp has no indices");
  }
  out->truncate = values[ROPE_TRUNCATE].given ? values[ROPE_TRUNCATE].i != 0 : 1;
  out->beta_fast = real_or(&values[ROPE_BETA_FAST], 32);
  out->beta_slow = real_or(&values[ROPE_BETA_SLOW], 1);
  if (out->beta_fast < out->beta_slow) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_BETA_FAST, "beta_fast %g is below beta_slow %g: are they swapped?",
                   out->beta_fast, out->beta_slow);
  }
  if (out->ramp == ROPE_RAMP_CODE && out->base <= 1) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_BASE,
                   "base 1 gives every pair one frequency: ramp code needs a base above 1");
  }
  double mscale = real_or(&values[ROPE_MSCALE], 0);
  double mscale_all_dim = real_or(&values[ROPE_MSCALE_ALL_DIM], 0);
  if (values[ROPE_ATTENTION_FACTOR].given) {
    out->attention_factor = values[ROPE_ATTENTION_FACTOR].r;
  } else if (mscale > 0 && mscale_all_dim > 0) {
    out->attention_factor = rope_yarn_magnitude(out->factor, mscale) / rope_yarn_magnitude(out->factor, mscale_all_dim);
  } else {
    out->attention_factor = rope_yarn_magnitude(out->factor, 1);
    if (mscale > 0) {
      tell(host, "rope: mscale is ignored without mscale_all_dim, as in Hugging Face; the attention factor is "
                 "0.1 ln(factor) + 1");
    }
  }
  if (values[ROPE_SOFTMAX_SCALE].given && values[ROPE_SOFTMAX_SCALE].i == 1) {
    if (!(mscale_all_dim > 0)) {
      return pe_fail(err, PE_ERR_PARAM, ROPE_SOFTMAX_SCALE, "softmax_scale deepseek needs mscale_all_dim");
    }
    double magnitude = rope_yarn_magnitude(out->factor, mscale_all_dim);
    out->softmax_scale_multiplier = magnitude * magnitude;
  }
  return PE_OK;
}

static pe_status settle_longrope(const pe_value *values, rope_scaling *out, pe_error *err) {
  static const int lists[] = {ROPE_SHORT_FACTOR, ROPE_LONG_FACTOR};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    const pe_value *list = &values[lists[i]];
    if (list->n != out->n_pairs) {
      return pe_fail(err, PE_ERR_PARAM, lists[i], "%s has %zu elements, rotary width %zu needs %zu",
                     rope_params[lists[i]].key, list->n, 2 * out->n_pairs, out->n_pairs);
    }
  }
  out->short_factor = values[ROPE_SHORT_FACTOR].list;
  out->long_factor = values[ROPE_LONG_FACTOR].list;
  if (values[ROPE_ATTENTION_FACTOR].given) {
    out->attention_factor = values[ROPE_ATTENTION_FACTOR].r;
    return PE_OK;
  }
  if (out->factor > 1 && out->original_length <= 1) {
    return pe_fail(err, PE_ERR_PARAM, ROPE_ORIGINAL_MAX_POSITION_EMBEDDINGS,
                   "longrope's attention factor divides by the logarithm of the original length, which is %g",
                   out->original_length);
  }
  out->attention_factor = rope_longrope_magnitude(out->factor, out->original_length);
  return PE_OK;
}

pe_status rope_settle(const pe_host *host, const pe_shape *shape, const pe_value *values, rope_scaling *out,
                      pe_error *err) {
  rope_scaling settled = {.kind = (int)values[ROPE_SCALING].i,
                          .base = values[ROPE_BASE].r,
                          .attention_factor = 1,
                          .softmax_scale_multiplier = 1};
  pe_status status = check_uses(values, err);
  if (status == PE_OK) {
    status = settle_width(shape, values, &settled, err);
  }
  unsigned kind = 1u << settled.kind;
  if (status == PE_OK && (kind & (IN(DYNAMIC) | IN(YARN) | IN(LONGROPE) | IN(LLAMA3)))) {
    status = settle_original_length(shape, values, &settled, err);
  }
  if (status == PE_OK) {
    status = settle_factor(host, values, &settled, err);
  }
  if (status == PE_OK && settled.kind == ROPE_SCALING_YARN) {
    status = settle_yarn(host, values, &settled, err);
  }
  if (status == PE_OK && settled.kind == ROPE_SCALING_LONGROPE) {
    status = settle_longrope(values, &settled, err);
  }
  if (status == PE_OK && settled.kind == ROPE_SCALING_LLAMA3) {
    settled.low_freq_factor = values[ROPE_LOW_FREQ_FACTOR].r;
    settled.high_freq_factor = values[ROPE_HIGH_FREQ_FACTOR].r;
    if (settled.high_freq_factor < settled.low_freq_factor) {
      return pe_fail(err, PE_ERR_PARAM, ROPE_HIGH_FREQ_FACTOR,
                     "high_freq_factor %g is below low_freq_factor %g: are they swapped?", settled.high_freq_factor,
                     settled.low_freq_factor);
    }
  }
  if (status == PE_OK) {
    *out = settled;
  }
  return status;
}
