#include "input/layer.h"

#include "base/memory.h"

#include <stdlib.h>

enum { ROWS_PER_UNIT = 32 };

struct work {
  const struct layer *layer;
  const float *x;
  size_t n;
  float *q, *k, *v;
  float *normed; /* [threads][ROWS_PER_UNIT][d_model] */
};

static int project_block(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)err;
  const struct work *work = context;
  const struct layer *layer = work->layer;
  size_t first = unit * ROWS_PER_UNIT, d = layer->d_model, n = work->n;
  size_t rows = n - first < ROWS_PER_UNIT ? n - first : ROWS_PER_UNIT;
  const float *y = work->x + first * d;
  if (layer->norm_scale) {
    float *normed = work->normed + (size_t)thread * ROWS_PER_UNIT * d;
    layer_norm_rows(y, rows, d, layer->norm_scale, layer->norm_bias, layer->norm_epsilon, normed);
    y = normed;
  }
  if (work->q) {
    projection_rows(&layer->q, y, rows, layer->head_dim, n * layer->head_dim, work->q + first * layer->head_dim);
  }
  if (work->k) {
    projection_rows(&layer->k, y, rows, layer->head_dim, n * layer->head_dim, work->k + first * layer->head_dim);
  }
  if (work->v) {
    projection_rows(&layer->v, y, rows, layer->value_dim, n * layer->value_dim, work->v + first * layer->value_dim);
  }
  return 0;
}

int layer_project(const struct layer *layer, const float *x, size_t n, float *q, float *k, float *v, struct pool *pool,
                  struct error *err) {
  struct work work = {.layer = layer, .x = x, .n = n, .q = q, .k = k, .v = v};
  size_t threads = pool ? pool_threads(pool) : 1;
  if (layer->norm_scale) {
    work.normed = memory_new_3d(threads, ROWS_PER_UNIT, layer->d_model, sizeof(float), "normed rows", err);
    if (!work.normed) {
      return err->code;
    }
  }
  int status = pool_run(pool, (n + ROWS_PER_UNIT - 1) / ROWS_PER_UNIT, project_block, &work, err);
  free(work.normed);
  return status;
}

void layer_destroy(struct layer *layer) {
  free(layer->norm_scale);
  free(layer->norm_bias);
  projection_destroy(&layer->q);
  projection_destroy(&layer->k);
  projection_destroy(&layer->v);
  *layer = (struct layer){0};
}
