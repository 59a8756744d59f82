/* Where a scheme acts. One that could act at several sites (a table of any kind) is asked what it does there. */
#include "experiments/certificate_parts.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct probe {
  const struct certificate_setting *setting;
  size_t n, axes;
  double *mapped, seq_len;
  float *before, *after; /* [n][the widest row] */
};

static bool is_zero(const float *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (values[i] != 0) {
      return false;
    }
  }
  return true;
}

static int probe_embedding(const struct probe *p, bool *acts, struct error *err) {
  size_t width = p->setting->d_model;
  memset(p->after, 0, p->n * width * sizeof *p->after);
  int status = width ? instance_embed(p->setting->scheme, p->n, p->mapped, NULL, p->seq_len, p->after, width, err) : 0;
  *acts = !status && !is_zero(p->after, p->n * width);
  return status;
}

static int probe_rows(const struct probe *p, bool *acts, struct error *err) {
  const struct instance *scheme = p->setting->scheme;
  size_t width = p->setting->head_dim;
  for (size_t i = 0; i < p->n * width; i++) {
    p->before[i] = (float)(1 + i % 7);
  }
  int status = instance_rotate(scheme, PE_ROLE_QUERY, (unsigned)p->setting->layer, 0, 1, p->n, p->mapped, NULL,
                               p->seq_len, p->before, p->after, err);
  *acts = !status && (instance_qk_width(scheme) != width || memcmp(p->before, p->after, p->n * width * sizeof(float)));
  return status;
}

static int probe_bias(const struct probe *p, bool *acts, struct error *err) {
  *acts = false;
  for (size_t head = 0; head < p->setting->n_heads && !*acts; head++) {
    struct bias_tile tile = {.layer = (unsigned)p->setting->layer,
                             .head = (unsigned)head,
                             .seq_len = p->seq_len,
                             .nq = p->n,
                             .nk = 1,
                             .mapped_q = p->mapped,
                             .mapped_k = p->mapped,
                             .q = p->before,
                             .k = p->before,
                             .q_stride = p->setting->head_dim,
                             .k_stride = p->setting->head_dim,
                             .s = p->after,
                             .s_stride = 1};
    memset(p->after, 0, p->n * sizeof *p->after);
    int status = instance_bias(p->setting->scheme, &tile, err);
    if (status) {
      return status;
    }
    *acts = !is_zero(p->after, p->n);
  }
  return 0;
}

static int probe_all(struct probe *p, uint32_t declared, uint32_t *sites, struct error *err) {
  const struct certificate_setting *setting = p->setting;
  bool embeds = false, turns = false, biases = false;
  size_t width = instance_qk_width(setting->scheme);
  width = width > setting->d_model ? width : setting->d_model;
  width = width > setting->head_dim ? width : setting->head_dim;
  p->mapped = memory_new(p->n, 2 * p->axes * sizeof *p->mapped, "positions", err);
  p->before = p->mapped ? memory_new(p->n, (width + 1) * sizeof *p->before, "rows", err) : NULL;
  p->after = p->before ? memory_new(p->n, (width + 1) * sizeof *p->after, "rows", err) : NULL;
  double *positions = p->after ? p->mapped + p->n * p->axes : NULL;
  for (size_t i = 0; positions && i < p->n * p->axes; i++) {
    positions[i] = (double)(i / p->axes);
  }
  int status = positions ? instance_map_positions(setting->scheme, p->n, positions, NULL, p->mapped, &p->seq_len, err)
                         : (int)err->code;
  status = status || !(declared & PE_SITE_EMBED) ? status : probe_embedding(p, &embeds, err);
  status = status || !(declared & PE_SITE_QK) ? status : probe_rows(p, &turns, err);
  status = status || !(declared & PE_SITE_BIAS) ? status : probe_bias(p, &biases, err);
  *sites = (uint32_t)((embeds ? PE_SITE_EMBED : 0) | (turns ? PE_SITE_QK : 0) | (biases ? PE_SITE_BIAS : 0));
  return status;
}

int certificate_sites(const struct certificate_setting *setting, uint32_t *sites, struct error *err) {
  uint32_t declared = instance_sites(setting->scheme);
  *sites = declared;
  if ((declared & (declared - 1)) == 0) { /* one at most */
    return 0;
  }
  struct probe probe = {.setting = setting, .n = setting->distances, .axes = instance_domain(setting->scheme).pos_axes};
  int status = probe_all(&probe, declared, sites, err);
  free(probe.mapped);
  free(probe.before);
  free(probe.after);
  return status;
}
