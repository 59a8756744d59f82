/* A literal input X [T][d] with identity projections: q = k = v = X, cut into heads by columns. */
#include "base/memory.h"
#include "input/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct matrix {
  struct model_source base;
  float *x; /* [rows][d_model] */
};

static int matrix_content(const struct model *model, const struct text_tokens *text, const size_t *index, size_t n,
                          float *x, struct error *err) {
  (void)text, (void)err;
  const struct matrix *matrix = (const struct matrix *)model->source;
  for (size_t i = 0; i < n; i++) {
    memcpy(x + i * model->d_model, matrix->x + index[i] * model->d_model, model->d_model * sizeof *x);
  }
  return 0;
}

static int matrix_project(const struct model *model, size_t layer, const float *x, size_t n, float *q, float *k,
                          float *v, struct pool *pool, struct error *err) {
  (void)layer, (void)pool, (void)err; /* one layer */
  float *outs[3] = {q, k, v};
  size_t width = model->head_dim;
  for (size_t o = 0; o < 3; o++) {
    for (size_t head = 0; outs[o] && head < model->n_heads; head++) {
      for (size_t i = 0; i < n; i++) {
        memcpy(outs[o] + (head * n + i) * width, x + i * model->d_model + head * width, width * sizeof *x);
      }
    }
  }
  return 0;
}

static void matrix_close(struct model_source *source) {
  free(((struct matrix *)source)->x);
  free(source);
}

static int read_rows(struct model *model, struct matrix *matrix, const struct key_value *x, struct error *err) {
  matrix->x = memory_new(x->rows, x->columns * sizeof *matrix->x, "model.matrix.x", err);
  if (!matrix->x) {
    return err->code;
  }
  for (size_t i = 0; i < x->rows * x->columns; i++) {
    matrix->x[i] = (float)x->list[i];
    if (!isfinite(matrix->x[i])) {
      return error_set(err, ERROR_JOB_SETUP, "model.matrix.x[%zu][%zu]: %g is not a finite float32 number",
                       i / x->columns, i % x->columns, x->list[i]);
    }
  }
  double norm = model_largest_norm(matrix->x, x->rows, x->columns);
  int status = model_check_scores(model, "model.matrix.x", norm, norm, err);
  return status ? status : model_add_text(model, "matrix", x->rows, err);
}

int model_open_matrix(struct model *model, const struct section *section, struct error *err) {
  struct matrix *matrix = memory_new(1, sizeof *matrix, "model", err);
  if (!matrix) {
    return err->code;
  }
  const struct section *own = section_get(section, "matrix")->section;
  const struct key_value *x = section_get(own, "x"), *scale = section_get(own, "scale");
  size_t heads = (size_t)section_get(own, "heads")->integer;
  model->kind = MODEL_MATRIX;
  model->source = &matrix->base;
  matrix->base.operations =
      (struct source_operations){.content = matrix_content, .project = matrix_project, .close = matrix_close};
  if (!heads || x->columns % heads) {
    return error_set(err, ERROR_JOB_SETUP, "model.matrix.heads: %zu does not divide the %zu columns of x", heads,
                     x->columns);
  }
  model->n_layers = 1;
  model->d_model = x->columns;
  model->n_heads = model->n_kv_heads = heads;
  model->head_dim = model->value_dim = x->columns / heads;
  model->score_scale = scale->given && !scale->is_auto ? scale->real : 1 / sqrt((double)model->head_dim);
  return read_rows(model, matrix, x, err);
}
