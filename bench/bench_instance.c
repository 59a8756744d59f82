#include "bench_instance.h"

#include "base/memory.h"

#include <stdlib.h>

static int find_scheme(struct host **host, const char *id, const struct scheme **scheme, struct error *err) {
  char *folders[HOST_DEFAULT_DIRECTORIES];
  int status = host_default_directories(folders, err);
  if (status) {
    return status;
  }
  struct host_options options = {.directories = (const char *const *)folders,
                                 .n_directories = HOST_DEFAULT_DIRECTORIES};
  status = host_open(&options, host, err);
  for (size_t i = 0; i < HOST_DEFAULT_DIRECTORIES; i++) {
    free(folders[i]);
  }
  if (!status) {
    *scheme = host_find(*host, id, NULL, err);
    status = *scheme ? 0 : (int)err->code;
  }
  return status;
}

static int map_positions(struct bench_instance *out, struct error *err) {
  size_t axes = instance_domain(out->instance).pos_axes;
  double *positions = memory_new(out->length, axes * sizeof *positions, "positions", err);
  out->mapped = positions ? memory_new(out->length, axes * sizeof *out->mapped, "positions", err) : NULL;
  if (!out->mapped) {
    free(positions);
    return ERROR_MEMORY;
  }
  for (size_t at = 0; at < out->length * axes; at++) {
    positions[at] = (double)(at / axes);
  }
  int status = instance_map_positions(out->instance, out->length, positions, NULL, out->mapped, &out->seq_len, err);
  free(positions);
  return status;
}

int bench_instance_open(struct bench_instance *out, const char *scheme, struct error *err) {
  const struct scheme *found = NULL;
  int status = find_scheme(&out->host, scheme, &found, err);
  if (status) {
    return status;
  }
  struct instance_request request = {.scheme = found,
                                     .shape = {.struct_size = sizeof request.shape,
                                               .n_layers = out->n_layers ? (uint32_t)out->n_layers : 1,
                                               .n_heads = (uint32_t)out->n_heads,
                                               .n_kv_heads = (uint32_t)out->n_kv_heads,
                                               .d_model = (uint32_t)(out->n_heads * out->head_dim),
                                               .head_dim = (uint32_t)out->head_dim,
                                               .train_len = (double)out->length}};
  out->instance = instance_new(&request, err);
  return out->instance ? map_positions(out, err) : (int)err->code;
}

void bench_instance_close(struct bench_instance *instance) {
  free(instance->mapped);
  instance_free(instance->instance);
  host_close(instance->host);
}

enum { ROWS_PER_UNIT = 64 };

struct rotation {
  const struct bench_instance *instance;
  int role;
  size_t n_heads;
  const float *in;
  float *out;
};

static int rotate_rows(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  const struct rotation *r = context;
  size_t first = unit * ROWS_PER_UNIT, left = r->instance->length - first;
  return instance_rotate_rows(r->instance->instance, r->role, 0, 0, (unsigned)r->n_heads, r->instance->length, first,
                              left < ROWS_PER_UNIT ? left : ROWS_PER_UNIT, r->instance->mapped, NULL,
                              r->instance->seq_len, r->in, r->out, err);
}

int bench_instance_rotate(const struct bench_instance *instance, int role, size_t n_heads, const float *x, float *out,
                          struct pool *pool, struct error *err) {
  struct rotation rotation = {instance, role, n_heads, x, out};
  return pool_run(pool, (instance->length + ROWS_PER_UNIT - 1) / ROWS_PER_UNIT, rotate_rows, &rotation, err);
}
