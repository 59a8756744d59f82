/* A scheme with its defaults, and the positions 0 .. length - 1 as it sees them. */
#ifndef PE_BENCH_INSTANCE_H
#define PE_BENCH_INSTANCE_H

#include "bench.h"

#include "base/pool.h"
#include "host/host.h"
#include "host/instance.h"

struct bench_instance {
  struct host *host;
  struct instance *instance;
  size_t length, n_heads, n_kv_heads, head_dim;
  size_t n_layers; /* 0: 1 */
  double *mapped;  /* [length][axes] */
  double seq_len;
};

/* Sizes are given in *out. bench_instance_close is due in every case. */
int bench_instance_open(struct bench_instance *out, const char *scheme, struct error *err);
void bench_instance_close(struct bench_instance *instance);

/* x [n_heads][length][head_dim] moved in place, or to out where the scheme widens; rows shared out over the pool. */
int bench_instance_rotate(const struct bench_instance *instance, int role, size_t n_heads, const float *x, float *out,
                          struct pool *pool, struct error *err);

#endif
