#include "input/model.h"

#include "base/memory.h"
#include "input/positions.h"
#include "input/source.h"
#include "input/tokens.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

static int open_kind(struct model *model, const struct section *section, uint64_t seed, struct error *err) {
  if (section_get(section, "weights")->given) {
    return model_open_weights(model, section, seed, err);
  }
  if (section_get(section, "matrix")->given) {
    return model_open_matrix(model, section, err);
  }
  if (section_get(section, "random")->given) {
    return model_open_random(model, section, seed, err);
  }
  if (section_get(section, "qk")->given) {
    return model_open_qk(model, section, err);
  }
  if (section_get(section, "embeddings")->given) {
    return model_open_embeddings(model, section, seed, err);
  }
  return error_set(err, ERROR_CONFIG_MISSING, "model: one of weights, matrix, random, qk or embeddings is needed");
}

int model_add_text(struct model *model, const char *name, size_t count, struct error *err) {
  model->texts = memory_new(1, sizeof *model->texts, "text", err);
  if (!model->texts) {
    return err->code;
  }
  model->n_texts = 1;
  model->texts[0] = (struct text_tokens){.name = memory_copy_text(name, err), .count = count};
  return model->texts[0].name ? 0 : (int)err->code;
}

/* Kinds that know nothing of training have empty texts, so that nobody meets NULL. */
static int fill_training(struct trained_with *trained, struct error *err) {
  char **texts[] = {&trained->scheme, &trained->parameters, &trained->mask, &trained->file};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (!*texts[i]) {
      *texts[i] = memory_copy_text("", err);
    }
    if (!*texts[i]) {
      return err->code;
    }
  }
  return 0;
}

struct model *model_open(const struct section *section, uint64_t seed, struct error *err) {
  struct model *model = memory_new(1, sizeof *model, "model", err);
  if (!model) {
    return NULL;
  }
  model->pe_scale = 1;
  model->positions = memory_new(1, sizeof *model->positions, "positions", err);
  int status = model->positions ? positions_open(model->positions, section_get(section, "positions")->section, err)
                                : (int)err->code;
  status = status ? status : open_kind(model, section, seed, err);
  status = status ? status : fill_training(&model->trained, err);
  if (status) {
    model_close(model);
    return NULL;
  }
  return model;
}

void model_close(struct model *model) {
  if (!model) {
    return;
  }
  if (model->source) {
    model->source->operations.close(model->source);
  }
  if (model->positions) {
    positions_destroy(model->positions);
    free(model->positions);
  }
  tokens_free(model->texts, model->n_texts);
  free(model->trained.scheme);
  free(model->trained.parameters);
  free(model->trained.mask);
  free(model->trained.file);
  free(model);
}

const char *model_piece(const struct model *model, int32_t id) {
  return model->source->operations.piece ? model->source->operations.piece(model, id) : "";
}

/* Indices wrapped around the end of the text; NULL with ERROR_MEMORY. */
static size_t *wrap_indices(const struct model *model, size_t text, const size_t *index, size_t n, struct error *err) {
  assert(text < model->n_texts);
  size_t count = model->texts[text].count;
  size_t *wrapped = memory_new(n, sizeof *wrapped, "indices of tokens", err);
  for (size_t i = 0; wrapped && i < n; i++) {
    wrapped[i] = model->endless ? index[i] : index[i] % count;
  }
  return wrapped;
}

int model_content(const struct model *model, size_t text, const size_t *index, size_t n, float *x, struct error *err) {
  assert(model->d_model);
  size_t *wrapped = wrap_indices(model, text, index, n, err);
  if (!wrapped) {
    return err->code;
  }
  int status = model->source->operations.content(model, &model->texts[text], wrapped, n, x, err);
  free(wrapped);
  return status;
}

size_t model_position_axes(const struct model *model) {
  return model->positions->axes;
}

bool model_positions_are_default(const struct model *model) {
  const struct token_positions *positions = model->positions;
  return positions->kind == POSITIONS_LINE && positions->start == 0 && positions->step == 1;
}

int model_positions(const struct model *model, size_t text, const size_t *index, size_t n, double *out,
                    struct error *err) {
  assert(text < model->n_texts);
  return positions_of(model->positions, &model->texts[text], index, n, out, err);
}

int model_project(const struct model *model, const float *x, size_t n, float *q, float *k, float *v, struct pool *pool,
                  struct error *err) {
  return model_project_layer(model, model->layer, x, n, q, k, v, pool, err);
}

int model_project_layer(const struct model *model, size_t layer, const float *x, size_t n, float *q, float *k, float *v,
                        struct pool *pool, struct error *err) {
  assert(model->d_model && layer <= model->layer);
  return model->source->operations.project(model, layer, x, n, q, k, v, pool, err);
}

int model_pass_layer(const struct model *model, size_t layer, const float *context, size_t n, float *x,
                     struct error *err) {
  assert(layer < model->layer && model->source->operations.pass);
  return model->source->operations.pass(model, layer, context, n, x, err);
}

int model_given_qk(const struct model *model, size_t text, const size_t *index, size_t n, float *q, float *k, float *v,
                   struct error *err) {
  assert(!model->d_model);
  size_t *wrapped = wrap_indices(model, text, index, n, err);
  if (!wrapped) {
    return err->code;
  }
  int status = model->source->operations.given_qk(model, text, wrapped, n, q, k, v, err);
  free(wrapped);
  return status;
}

size_t model_output_width(const struct model *model) {
  return model->source->operations.output_width;
}

int model_output(const struct model *model, const float *context, size_t n, float *out, struct error *err) {
  assert(model->source->operations.output_width);
  return model->source->operations.output(model, context, n, out, err);
}

double model_largest_norm(const float *x, size_t rows, size_t width) {
  double largest = 0;
  for (size_t row = 0; row < rows; row++) {
    double square = 0;
    for (size_t i = 0; i < width; i++) {
      square += (double)x[row * width + i] * (double)x[row * width + i];
    }
    largest = fmax(largest, square);
  }
  return sqrt(largest);
}

int model_check_scores(const struct model *model, const char *what, double query_norm, double key_norm,
                       struct error *err) {
  const double most = FLT_MAX / 1024;
  double score = query_norm * key_norm * fmax(1, fabs(model->score_scale));
  return score <= most ? 0
                       : error_set(err, ERROR_JOB_SETUP,
                                   "%s: scores of these rows could reach %.2g, and float32 ends at %.2g: give smaller "
                                   "numbers or a smaller scale",
                                   what, score, (double)FLT_MAX);
}
