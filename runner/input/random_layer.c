#include "input/random_layer.h"

#include "base/memory.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

/* w [d_model][columns], standard normal / sqrt(d_model). */
static float *gaussian(const char *name, size_t d_model, size_t columns, uint64_t seed, struct error *err) {
  float *w = memory_new_3d(d_model, columns, 1, sizeof *w, name, err);
  double *normal = w ? memory_new(columns, sizeof *normal, name, err) : NULL;
  if (!normal) {
    free(w);
    return NULL;
  }
  struct rng rng = rng_stream(seed, name);
  for (size_t row = 0; row < d_model; row++) {
    rng_normals(&rng, row * columns, columns, normal);
    for (size_t c = 0; c < columns; c++) {
      w[row * columns + c] = (float)(normal[c] / sqrt((double)d_model));
    }
  }
  free(normal);
  return w;
}

/* w_q [d_model][n_heads * head_dim] becomes correlated with w_k [d_model][n_kv_heads * head_dim]. */
static void correlate(float *w_q, const float *w_k, const struct random_layer_shape *shape) {
  double own = sqrt(1 - shape->correlation * shape->correlation);
  size_t width = shape->head_dim, group = shape->n_heads / shape->n_kv_heads;
  for (size_t row = 0; row < shape->d_model; row++) {
    for (size_t head = 0; head < shape->n_heads; head++) {
      for (size_t e = 0; e < width; e++) {
        float *q = &w_q[(row * shape->n_heads + head) * width + e];
        double k = (double)w_k[(row * shape->n_kv_heads + head / group) * width + e];
        *q = (float)(shape->correlation * k + own * (double)*q);
      }
    }
  }
}

int random_layer_init(struct layer *layer, const struct random_layer_shape *shape, uint64_t seed, struct error *err) {
  size_t d = shape->d_model, q_width = shape->n_heads * shape->head_dim, k_width = shape->n_kv_heads * shape->head_dim;
  *layer = (struct layer){.d_model = d, .head_dim = shape->head_dim, .value_dim = shape->head_dim};
  float *w_q = gaussian("model.w_q", d, q_width, seed, err);
  float *w_k = w_q ? gaussian("model.w_k", d, k_width, seed, err) : NULL;
  float *w_v = w_k ? gaussian("model.w_v", d, k_width, seed, err) : NULL;
  int status = w_v ? 0 : (int)err->code;
  if (!status) {
    correlate(w_q, w_k, shape);
    status = projection_init(&layer->q, w_q, NULL, d, q_width, err);
  }
  status = status ? status : projection_init(&layer->k, w_k, NULL, d, k_width, err);
  status = status ? status : projection_init(&layer->v, w_v, NULL, d, k_width, err);
  free(w_q);
  free(w_k);
  free(w_v);
  return status;
}
