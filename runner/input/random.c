/* Gaussian content [token][d_model] with seeded random projections: any number of tokens, each a pure function of the
 * seed and its index, so that nothing is stored and every length streams. */
#include "base/memory.h"
#include "base/rng.h"
#include "input/random_layer.h"
#include "input/source.h"

#include <math.h>
#include <stdlib.h>

struct random_model {
  struct model_source base;
  struct layer layer;
  struct rng content;
};

static int random_content(const struct model *model, const struct text_tokens *text, const size_t *index, size_t n,
                          float *x, struct error *err) {
  (void)text;
  const struct random_model *random = (const struct random_model *)model->source;
  size_t d = model->d_model;
  double *row = memory_new(d, sizeof *row, "content", err);
  if (!row) {
    return err->code;
  }
  for (size_t i = 0; i < n; i++) {
    rng_normals(&random->content, index[i] * d, d, row);
    for (size_t j = 0; j < d; j++) {
      x[i * d + j] = (float)row[j];
    }
  }
  free(row);
  return 0;
}

static int random_project(const struct model *model, size_t layer, const float *x, size_t n, float *q, float *k,
                          float *v, struct pool *pool, struct error *err) {
  (void)layer; /* there is one */
  return layer_project(&((const struct random_model *)model->source)->layer, x, n, q, k, v, pool, err);
}

static const struct layer *random_layer(const struct model *model) {
  return &((const struct random_model *)model->source)->layer;
}

static void random_close(struct model_source *source) {
  layer_destroy(&((struct random_model *)source)->layer);
  free(source);
}

int model_open_random(struct model *model, const struct section *section, uint64_t seed, struct error *err) {
  struct random_model *random = memory_new(1, sizeof *random, "model", err);
  if (!random) {
    return err->code;
  }
  const struct section *own = section_get(section, "random")->section;
  const struct key_value *kv_heads = section_get(own, "kv_heads"), *length = section_get(own, "length");
  struct random_layer_shape shape = {.d_model = (size_t)section_get(own, "d_model")->integer,
                                     .n_heads = (size_t)section_get(own, "heads")->integer,
                                     .head_dim = (size_t)section_get(own, "head_dim")->integer,
                                     .correlation = section_get(own, "correlation")->real};
  shape.n_kv_heads = kv_heads->given ? (size_t)kv_heads->integer : shape.n_heads;
  model->kind = MODEL_RANDOM;
  model->source = &random->base;
  random->base.operations = (struct source_operations){
      .content = random_content, .project = random_project, .layer = random_layer, .close = random_close};
  random->content = rng_stream(seed, "model.x");
  if (shape.n_heads % shape.n_kv_heads) {
    return error_set(err, ERROR_JOB_SETUP, "model.random: kv_heads %zu does not divide heads %zu", shape.n_kv_heads,
                     shape.n_heads);
  }
  model->n_layers = 1;
  model->d_model = shape.d_model;
  model->n_heads = shape.n_heads;
  model->n_kv_heads = shape.n_kv_heads;
  model->head_dim = model->value_dim = shape.head_dim;
  model->score_scale = 1 / sqrt((double)shape.head_dim);
  model->endless = !length->given;
  int status = random_layer_init(&random->layer, &shape, seed, err);
  return status ? status : model_add_text(model, "random", length->given ? (size_t)length->integer : 0, err);
}
