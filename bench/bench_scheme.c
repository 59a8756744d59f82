/* A scheme without attention around it: what its own calls cost, checks of the host included. */
#include "bench_instance.h"

#include "base/memory.h"

#include <stdlib.h>

struct scheme_work {
  struct bench_instance scheme;
  float *x;    /* [heads][length][head_dim], or [length][d_model] */
  float *out;  /* [heads][length][qk_width] */
  float *tile; /* [TILE][TILE] */
};

enum { TILE = 128 };

static int embed(void *context, struct error *err) {
  struct scheme_work *work = context;
  const struct bench_instance *s = &work->scheme;
  return instance_embed(s->instance, s->length, s->mapped, NULL, s->seq_len, work->x, s->n_heads * s->head_dim, err);
}

static int rotate(void *context, struct error *err) {
  struct scheme_work *work = context;
  return bench_instance_rotate(&work->scheme, PE_ROLE_QUERY, work->scheme.n_heads, work->x, work->out, NULL, err);
}

/* All tiles of one head. */
static int bias(void *context, struct error *err) {
  struct scheme_work *work = context;
  const struct bench_instance *s = &work->scheme;
  size_t axes = instance_domain(s->instance).pos_axes;
  int status = 0;
  for (size_t row = 0; row + TILE <= s->length && !status; row += TILE) {
    for (size_t column = 0; column + TILE <= s->length && !status; column += TILE) {
      struct bias_tile tile = {.seq_len = s->seq_len,
                               .nq = TILE,
                               .nk = TILE,
                               .mapped_q = s->mapped + row * axes,
                               .mapped_k = s->mapped + column * axes,
                               .q = work->x + row * s->head_dim,
                               .k = work->x + column * s->head_dim,
                               .q_stride = s->head_dim,
                               .k_stride = s->head_dim,
                               .s = work->tile,
                               .s_stride = TILE};
      status = instance_bias(s->instance, &tile, err);
    }
  }
  return status;
}

static int measure(struct scheme_work *work, size_t repeats, json_t *result, struct error *err) {
  const struct bench_instance *s = &work->scheme;
  const struct {
    uint32_t site;
    int (*call)(void *, struct error *);
    const char *key;
    double units;
  } sites[] = {
      {PE_SITE_EMBED, embed, "embed_ns_per_element", (double)(s->length * s->n_heads * s->head_dim)},
      {PE_SITE_QK, rotate, "rotate_ns_per_element", (double)(s->length * s->n_heads * s->head_dim)},
      {PE_SITE_BIAS, bias, "bias_ns_per_cell", (double)(s->length / TILE * TILE) * (double)(s->length / TILE * TILE)}};
  static const char *const spread[] = {"seconds", "seconds_min", "seconds_max"};
  double all[] = {0.0, 0.0, 0.0};
  int status = 0;
  for (size_t i = 0; i < sizeof sites / sizeof sites[0] && !status; i++) {
    if (instance_sites(s->instance) & sites[i].site) {
      status = bench_repeat(repeats, sites[i].call, work, result, err);
      for (size_t t = 0; t < sizeof all / sizeof all[0]; t++) {
        all[t] += json_number_value(json_object_get(result, spread[t]));
      }
      bench_put(result, sites[i].key, json_number_value(json_object_get(result, "seconds")) / sites[i].units * 1e9);
    }
  }
  /* A scheme that acts at several sites takes the sum of them. */
  for (size_t t = 0; t < sizeof all / sizeof all[0]; t++) {
    bench_put(result, spread[t], all[t]);
  }
  bench_put_peak(result);
  return status;
}

int bench_scheme(const struct bench *bench, json_t *result, struct error *err) {
  struct scheme_work work = {.x = NULL};
  struct bench_instance *s = &work.scheme;
  size_t repeats;
  int status = bench_number(bench, "length", TILE, (size_t)1 << 20, &s->length, err);
  status = status ? status : bench_number(bench, "heads", 1, 1024, &s->n_heads, err);
  status = status ? status : bench_number(bench, "head_dim", 1, 4096, &s->head_dim, err);
  status = status ? status : bench_number(bench, "repeats", 1, 1000, &repeats, err);
  s->n_kv_heads = s->n_heads;
  status = status ? status : bench_instance_open(s, bench_text(bench, "scheme"), err);
  if (!status && !instance_sites(s->instance)) {
    status =
        error_set(err, ERROR_USAGE, "scheme=%s acts nowhere: there is nothing to time", bench_text(bench, "scheme"));
  }
  if (!status) {
    size_t rows = s->n_heads * s->length;
    work.x = memory_new(rows, s->head_dim * sizeof(float), "rows", err);
    work.out = memory_new(rows, instance_qk_width(s->instance) * sizeof(float), "rows", err);
    work.tile = memory_new(TILE, TILE * sizeof(float), "a tile", err);
    status = work.x && work.out && work.tile ? 0 : ERROR_MEMORY;
  }
  if (!status) {
    bench_fill(work.x, s->n_heads * s->length * s->head_dim, "x");
    status = measure(&work, repeats, result, err);
  }
  free(work.x);
  free(work.out);
  free(work.tile);
  bench_instance_close(s);
  return status;
}
