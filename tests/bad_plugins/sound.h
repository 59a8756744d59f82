/* Two sound schemes that each bad plugin spoils in one place.
 *
 *     #include "sound.h"
 *     static pe_status spoiled(...) { ... }
 *     static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
 *     SOUND_ENTRY(&scheme)
 *
 * SOUND turns pairs of q and k and subtracts a multiple of the distance; SOUND_EMBED adds sines to the input.
 */
#ifndef BAD_PLUGINS_SOUND_H
#define BAD_PLUGINS_SOUND_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pe/plugin.h>

#define UNUSED __attribute__((unused))

struct pe_instance {
  uint32_t d_model, head_dim, n_heads;
  double base, slope;
  const float *gain; /* [n_heads], bound */
};

enum { SOUND_BASE, SOUND_SLOPE, SOUND_N_PARAMS };
static const pe_param sound_params[SOUND_N_PARAMS] = {
    [SOUND_BASE] =
        {.key = "base", .doc = "of the wavelengths", .type = PE_REAL, .min = 1, .max = 1e9, .dflt = {.r = 10000}},
    [SOUND_SLOPE] = {
        .key = "slope", .doc = "bias per unit of distance", .type = PE_REAL, .min = 0, .max = 16, .dflt = {.r = 0.5}}};
static const pe_tensor sound_tensors[] = {
    {.name = "gain", .doc = "[n_heads]", .init = PE_INIT_NORMAL, .init_a = 1, .init_b = 0.1}};

UNUSED static pe_status sound_create(const pe_host *host, const pe_shape *shape, const pe_value *values,
                                     pe_instance **out, pe_error *err) {
  (void)host;
  if (shape->head_dim % 2) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "head_dim %u is odd", shape->head_dim);
  }
  pe_instance *self = (pe_instance *)calloc(1, sizeof *self);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory");
  }
  self->d_model = shape->d_model;
  self->head_dim = shape->head_dim;
  self->n_heads = shape->n_heads;
  self->base = values[SOUND_BASE].r;
  self->slope = values[SOUND_SLOPE].r;
  *out = self;
  return PE_OK;
}

UNUSED static void sound_destroy(pe_instance *self) {
  free(self);
}

UNUSED static pe_status sound_domain(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = -1e6;
  out->max = 1e6;
  return PE_OK;
}

UNUSED static pe_status sound_tensor_shape(const pe_instance *self, uint32_t which, pe_dims *out) {
  (void)which;
  *out = (pe_dims){.rank = 1, .dim = {self->n_heads}};
  return PE_OK;
}

UNUSED static pe_status sound_tensor_bind(pe_instance *self, const float *const *tensors) {
  self->gain = tensors[0];
  return PE_OK;
}

UNUSED static uint32_t sound_derived_count(const pe_instance *self, double seq_len) {
  (void)self, (void)seq_len;
  return 2;
}

UNUSED static double sound_frequency(const pe_instance *self, size_t pair) {
  return pow(self->base, -2.0 * (double)pair / self->head_dim);
}

UNUSED static pe_status sound_derived(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out,
                                      double *buf, size_t len, size_t *need) {
  (void)seq_len;
  size_t pairs = self->head_dim / 2, columns = which == 0 ? 1 : 2;
  *need = pairs * columns;
  *out = (pe_derived){
      .name = which == 0 ? "inv_freq" : "pairs", .rank = (uint32_t)columns, .dim = {pairs, columns}, .data = buf};
  for (size_t i = 0; buf && len >= *need && i < pairs; i++) {
    if (which == 0) {
      buf[i] = sound_frequency(self, i);
    } else {
      buf[2 * i] = (double)i;
      buf[2 * i + 1] = (double)(i + pairs);
    }
  }
  return PE_OK;
}

/* Index of the first position outside the domain, or -1. */
UNUSED static int64_t sound_outside(const double *pos, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!(pos[i] >= -1e6 && pos[i] <= 1e6)) {
      return (int64_t)i;
    }
  }
  return -1;
}

UNUSED static pe_status sound_check_rows(const pe_rows *rows, pe_error *err) {
  int64_t where = sound_outside(rows->pos, rows->n);
  return where < 0 ? PE_OK : pe_fail(err, PE_ERR_POS_RANGE, where, "position %g", rows->pos[where]);
}

UNUSED static pe_status sound_check_tile(const pe_tile *tile, pe_error *err) {
  int64_t where = sound_outside(tile->pos_q, tile->nq);
  if (where >= 0) {
    return pe_fail(err, PE_ERR_POS_RANGE, where, "query position %g", tile->pos_q[where]);
  }
  where = sound_outside(tile->pos_k, tile->nk);
  return where < 0 ? PE_OK : pe_fail(err, PE_ERR_POS_RANGE, where, "key position %g", tile->pos_k[where]);
}

UNUSED static pe_status sound_embed_add(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch;
  pe_status status = sound_check_rows(rows, err);
  for (size_t r = 0; status == PE_OK && r < rows->n; r++) {
    for (size_t c = 0; c < self->d_model; c++) {
      rows->out[r * rows->out_stride + c] += (float)sin(rows->pos[r] * pow(self->base, -(double)c / self->d_model));
    }
  }
  return status;
}

UNUSED static pe_status sound_qk_apply(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch;
  pe_status status = sound_check_rows(rows, err);
  size_t pairs = self->head_dim / 2;
  for (size_t h = 0; status == PE_OK && h < rows->n_heads; h++) {
    for (size_t r = 0; r < rows->n; r++) {
      const float *in = rows->in + h * rows->in_head_stride + r * rows->in_stride;
      float *out = rows->out + h * rows->out_head_stride + r * rows->out_stride;
      for (size_t i = 0; i < pairs; i++) {
        double angle = rows->pos[r] * sound_frequency(self, i);
        float a = in[i], b = in[i + pairs], c = (float)cos(angle), s = (float)sin(angle);
        out[i] = a * c - b * s;
        out[i + pairs] = b * c + a * s;
      }
    }
  }
  return status;
}

UNUSED static pe_status sound_bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  pe_status status = sound_check_tile(tile, err);
  for (size_t r = 0; status == PE_OK && r < tile->nq; r++) {
    for (size_t c = 0; c < tile->nk; c++) {
      double distance = fabs(tile->pos_q[r] - tile->pos_k[c]);
      tile->s[r * tile->s_stride + c] -= (float)(self->slope * self->gain[tile->head] * distance);
    }
  }
  return status;
}

#define SOUND_COMMON                                                                                                   \
  .struct_size = sizeof(pe_scheme), .version = 1, .title = "a test", .reference = "none", .params = sound_params,      \
  .n_params = SOUND_N_PARAMS, .param_stride = sizeof(pe_param), .create = sound_create, .destroy = sound_destroy,      \
  .domain = sound_domain
#define SOUND                                                                                                          \
  SOUND_COMMON, .id = "spoiled", .sites = PE_SITE_QK | PE_SITE_BIAS, .traits = PE_TRAIT_RELATIVE,                      \
                .tensors = sound_tensors, .n_tensors = 1, .tensor_stride = sizeof(pe_tensor),                          \
                .tensor_shape = sound_tensor_shape, .tensor_bind = sound_tensor_bind,                                  \
                .derived_count = sound_derived_count, .derived = sound_derived, .qk_apply = sound_qk_apply,            \
                .bias_add = sound_bias_add
#define SOUND_EMBED SOUND_COMMON, .id = "spoiled", .sites = PE_SITE_EMBED, .embed_add = sound_embed_add

#define SOUND_HEADER                                                                                                   \
  .magic = PE_ABI_MAGIC, .struct_size = sizeof(pe_entry), .abi_major = PE_ABI_MAJOR, .abi_minor = PE_ABI_MINOR,        \
  .name = "a test plugin", .version = "1"
#define SOUND_ENTRY(scheme)                                                                                            \
  static const pe_scheme *const all_schemes[] = {scheme};                                                              \
  const pe_entry pe_plugin_entry = {SOUND_HEADER, .schemes = all_schemes, .n_schemes = 1};

#endif
