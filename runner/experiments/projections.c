#include "experiments/projections.h"

#include "base/memory.h"

#include <stdlib.h>

/* Floats per token. */
static size_t widths(const struct model *model) {
  return model->d_model + (model->n_heads + model->n_kv_heads) * model->head_dim;
}

/* How many tokens of a text are kept. */
static size_t tokens_of(const struct model *model, size_t text, size_t tokens) {
  size_t fit = PROJECTIONS_ENDLESS / (widths(model) * sizeof(float));
  return !model->endless ? model->texts[text].count : tokens < fit ? tokens : fit;
}

static int project_text(const struct model *model, size_t text, size_t n, struct kept_text *kept, struct pool *pool,
                        struct error *err) {
  size_t *index = memory_new(n, sizeof *index, "token index", err);
  kept->x = index ? memory_new_unset(n, model->d_model, 1, sizeof *kept->x, "embeddings", err) : NULL;
  int status = kept->x ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < n; i++) {
    index[i] = i;
  }
  status = status ? status : model_content(model, text, index, n, kept->x, err);
  if (!status && model->layer == 0) {
    kept->q = memory_new_unset(model->n_heads, n, model->head_dim, sizeof *kept->q, "queries", err);
    kept->k = kept->q ? memory_new_unset(model->n_kv_heads, n, model->head_dim, sizeof *kept->k, "keys", err) : NULL;
    status = kept->k ? model_project(model, kept->x, n, kept->q, kept->k, NULL, pool, err) : (int)err->code;
  }
  if (model->kind != MODEL_RANDOM) { /* others copy it from a table */
    free(kept->x);
    kept->x = NULL;
  }
  kept->count = n;
  free(index);
  return status;
}

int projections_prepare(struct projections *projections, size_t tokens, struct pool *pool, struct error *err) {
  const struct model *model = projections->model;
  if (model->d_model == 0) {
    return 0;
  }
  if (projections->texts && projections->texts[0].count < tokens_of(model, 0, tokens)) {
    projections_free(projections);
  }
  if (projections->texts || (model->layer && model->kind != MODEL_RANDOM)) {
    return 0;
  }
  projections->texts = memory_new(model->n_texts, sizeof *projections->texts, "projections", err);
  int status = projections->texts ? 0 : (int)err->code;
  for (size_t text = 0; !status && text < model->n_texts; text++) {
    size_t n = tokens_of(model, text, tokens);
    status = n ? project_text(model, text, n, &projections->texts[text], pool, err) : 0;
  }
  if (status) {
    projections_free(projections);
  }
  return status;
}

const struct kept_text *projections_of(const struct projections *projections, size_t text, const size_t *index,
                                       size_t n) {
  const struct kept_text *kept = projections && projections->texts ? &projections->texts[text] : NULL;
  if (!kept || kept->count == 0) {
    return NULL;
  }
  for (size_t i = 0; projections->model->endless && i < n; i++) {
    if (index[i] >= kept->count) {
      return NULL;
    }
  }
  return kept;
}

size_t projections_bytes(const struct projections *projections) {
  size_t tokens = 0;
  if (!projections->texts) {
    return 0;
  }
  for (size_t text = 0; text < projections->model->n_texts; text++) {
    tokens += projections->texts[text].count;
  }
  return tokens * widths(projections->model) * sizeof(float);
}

void projections_free(struct projections *projections) {
  for (size_t text = 0; projections->texts && text < projections->model->n_texts; text++) {
    free(projections->texts[text].x);
    free(projections->texts[text].q);
    free(projections->texts[text].k);
  }
  free(projections->texts);
  projections->texts = NULL;
}
