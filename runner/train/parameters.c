#include "train/parameters.h"

#include "base/memory.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16 };

static const double INITIAL_DEVIATION = 0.02;

static void add(struct parameters *layout, const char *prefix, const char *name, bool is_matrix, unsigned rank,
                const size_t *dim) {
  struct parameter *parameter = &layout->items[layout->n++];
  *parameter = (struct parameter){.rank = rank, .count = 1, .offset = layout->count, .is_matrix = is_matrix};
  snprintf(parameter->name, sizeof parameter->name, "%s%s", prefix, name);
  for (unsigned axis = 0; axis < rank; axis++) {
    parameter->dim[axis] = dim[axis];
    parameter->count *= dim[axis];
  }
  layout->count += (parameter->count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void add_layer(struct parameters *layout, size_t layer) {
  const struct decoder_shape *s = &layout->shape;
  size_t head_dim = s->d_model / s->heads;
  const size_t row[] = {s->d_model}, project[] = {s->d_model, s->heads, head_dim}, heads[] = {s->heads, head_dim},
               back[] = {s->heads, head_dim, s->d_model}, up[] = {s->d_model, s->d_ff}, wide[] = {s->d_ff},
               down[] = {s->d_ff, s->d_model};
  const struct {
    const char *name;
    bool is_matrix;
    unsigned rank;
    const size_t *dim;
  } table[LAYER_PARAMETERS] = {
      [LN_SCALE] = {"ln_scale", false, 1, row},
      [LN_BIAS] = {"ln_bias", false, 1, row},
      [W_Q] = {"w_q", true, 3, project},
      [W_K] = {"w_k", true, 3, project},
      [W_V] = {"w_v", true, 3, project},
      [B_Q] = {"b_q", false, 2, heads},
      [B_K] = {"b_k", false, 2, heads},
      [B_V] = {"b_v", false, 2, heads},
      [W_O] = {"w_o", true, 3, back},
      [B_O] = {"b_o", false, 1, row},
      [FF_LN_SCALE] = {"ff_ln_scale", false, 1, row},
      [FF_LN_BIAS] = {"ff_ln_bias", false, 1, row},
      [W_1] = {"w_1", true, 2, up},
      [B_1] = {"b_1", false, 1, wide},
      [W_2] = {"w_2", true, 2, down},
      [B_2] = {"b_2", false, 1, row},
  };
  char prefix[32];
  snprintf(prefix, sizeof prefix, "layer%zu/", layer);
  for (size_t i = 0; i < LAYER_PARAMETERS; i++) {
    add(layout, prefix, table[i].name, table[i].is_matrix, table[i].rank, table[i].dim);
  }
}

static void add_scheme(struct parameters *layout, const struct instance *scheme, size_t n_tensors) {
  const struct scheme_info *info = &instance_scheme(scheme)->info;
  layout->scheme = layout->n;
  for (size_t i = 0; i < n_tensors; i++) {
    pe_dims dims;
    if (instance_tensor(scheme, i, &dims)) {
      layout->scheme_tensor[layout->n - layout->scheme] = i;
      add(layout, "scheme/", info->tensors[i].name, false, dims.rank, dims.dim);
    }
  }
}

int parameters_init(struct parameters *layout, const struct decoder_shape *shape, const struct instance *scheme,
                    struct error *err) {
  assert(shape->layers > 0 && shape->heads > 0 && shape->d_model % shape->heads == 0);
  size_t n_tensors = instance_scheme(scheme)->info.n_tensors;
  *layout = (struct parameters){.shape = *shape};
  layout->items =
      memory_new(1 + shape->layers * LAYER_PARAMETERS + 4 + n_tensors, sizeof *layout->items, "parameters", err);
  layout->scheme_tensor =
      layout->items ? memory_new(n_tensors, sizeof *layout->scheme_tensor, "parameters", err) : NULL;
  if (!layout->scheme_tensor) {
    parameters_destroy(layout);
    return ERROR_MEMORY;
  }
  const size_t table[] = {shape->vocab, shape->d_model}, row[] = {shape->d_model},
               out[] = {shape->d_model, shape->vocab}, ids[] = {shape->vocab};
  add(layout, "", "embeddings", true, 2, table);
  for (size_t layer = 0; layer < shape->layers; layer++) {
    add_layer(layout, layer);
  }
  layout->final_ln_scale = layout->n;
  add(layout, "", "final_ln_scale", false, 1, row);
  layout->final_ln_bias = layout->n;
  add(layout, "", "final_ln_bias", false, 1, row);
  if (!shape->tied) {
    layout->w_out = layout->n;
    add(layout, "", "w_out", true, 2, out);
  }
  layout->b_out = layout->n;
  add(layout, "", "b_out", false, 1, ids);
  add_scheme(layout, scheme, n_tensors);
  return 0;
}

void parameters_destroy(struct parameters *layout) {
  free(layout->items);
  free(layout->scheme_tensor);
  *layout = (struct parameters){0};
}

size_t parameter_of_layer(size_t layer, enum layer_parameter which) {
  return 1 + layer * LAYER_PARAMETERS + (size_t)which;
}

const struct parameter *parameter_named(const struct parameters *layout, const char *name) {
  for (size_t i = 0; i < layout->n; i++) {
    if (!strcmp(layout->items[i].name, name)) {
      return &layout->items[i];
    }
  }
  return NULL;
}

float *parameters_block(const struct parameters *layout, struct error *err) {
  return memory_new(layout->count, sizeof(float), "parameters of the model", err);
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}

void parameters_seed(const struct parameters *layout, uint64_t seed, const struct instance *scheme, float *block) {
  for (size_t i = 0; i < layout->scheme; i++) {
    const struct parameter *parameter = &layout->items[i];
    float *values = block + parameter->offset;
    char stream[96];
    snprintf(stream, sizeof stream, "parameters/%s", parameter->name);
    struct rng rng = rng_stream(seed, stream);
    bool into_residual = ends_with(parameter->name, "/w_o") || ends_with(parameter->name, "/w_2");
    double deviation = INITIAL_DEVIATION / (into_residual ? sqrt(2 * (double)layout->shape.layers) : 1);
    bool is_scale = ends_with(parameter->name, "ln_scale");
    for (size_t j = 0; j < parameter->count; j++) {
      values[j] = parameter->is_matrix ? (float)(deviation * rng_normal(&rng, j)) : is_scale ? 1.0f : 0.0f;
    }
  }
  for (size_t i = layout->scheme; i < layout->n; i++) {
    const struct parameter *parameter = &layout->items[i];
    const float *values = instance_tensor(scheme, layout->scheme_tensor[i - layout->scheme], NULL);
    memcpy(block + parameter->offset, values, parameter->count * sizeof *values);
  }
}

void parameters_to_scheme(const struct parameters *layout, const float *block, struct instance *scheme) {
  for (size_t i = layout->scheme; i < layout->n; i++) {
    instance_set_tensor(scheme, layout->scheme_tensor[i - layout->scheme], block + layout->items[i].offset);
  }
}
