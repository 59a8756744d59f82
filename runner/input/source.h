/* What the kinds of model have in common: a table of operations that model.c calls. Each kind's struct begins with a
 * struct model_source. */
#ifndef PE_INPUT_SOURCE_H
#define PE_INPUT_SOURCE_H

#include "input/model.h"

struct layer;

struct source_operations {
  /* As the functions of model.h; NULL where the kind has no such thing. `index` is wrapped around already. */
  const char *(*piece)(const struct model *model, int32_t id);
  int (*content)(const struct model *model, const struct text_tokens *text, const size_t *index, size_t n, float *x,
                 struct error *err);
  int (*project)(const struct model *model, size_t layer, const float *x, size_t n, float *q, float *k, float *v,
                 struct pool *pool, struct error *err);
  int (*pass)(const struct model *model, size_t layer, const float *context, size_t n, float *x, struct error *err);
  int (*given_qk)(const struct model *model, size_t text, const size_t *index, size_t n, float *q, float *k, float *v,
                  struct error *err);
  int (*output)(const struct model *model, const float *context, size_t n, float *out, struct error *err);
  size_t output_width;
  const struct layer *(*layer)(const struct model *model); /* the projections; NULL where there are none of its own */
  void (*close)(struct model_source *source);
};

struct model_source {
  struct source_operations operations;
};

/* Open one kind: fill the model's numbers and its source in. `section` is the section `model`. On error the model may
 * be half filled; model_close releases it. */
int model_open_weights(struct model *model, const struct section *section, uint64_t seed, struct error *err);
int model_open_matrix(struct model *model, const struct section *section, struct error *err);
int model_open_random(struct model *model, const struct section *section, uint64_t seed, struct error *err);
int model_open_qk(struct model *model, const struct section *section, struct error *err);
int model_open_embeddings(struct model *model, const struct section *section, uint64_t seed, struct error *err);

/* Give the model its one text, without ids, of `count` tokens. 0 or ERROR_MEMORY. */
int model_add_text(struct model *model, const char *name, size_t count, struct error *err);

/* The largest Euclidean norm of rows x [rows][width]. */
double model_largest_norm(const float *x, size_t rows, size_t width);

/* ERROR_JOB_SETUP where queries and keys with norms up to these could give a score that float32 does not hold, with
 * some room for what positions add: sums would be infinite, and differences of them no number. `what`: whose they are.
 */
int model_check_scores(const struct model *model, const char *what, double query_norm, double key_norm,
                       struct error *err);

#endif
