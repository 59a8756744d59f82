/* The random-weight control: what a model's attention would be if its projections had the same moments and no training.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "input/layer.h"
#include "input/source.h"

#include <math.h>
#include <stdlib.h>

struct moments {
  double mean, deviation;
};

struct twin {
  struct model_source base;
  const struct model *model; /* the one it is a twin of */
  struct layer layer;
  struct moments *q, *k; /* of given q and k: [heads][width] */
  struct rng rng_q, rng_k;
};

static const struct twin *twin_of(const struct model *model) {
  return (const struct twin *)model->source;
}

/* Of every stride-th number. */
static struct moments moments_of(const float *values, size_t count, size_t stride) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += (double)values[i * stride];
  }
  double mean = sum / (double)count;
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    double off = (double)values[i * stride] - mean;
    squares += off * off;
  }
  return (struct moments){mean, sqrt(squares / (double)count)};
}

/* w [d_in][d_out] of a projection, out of its panels. */
static float *plain_weights(const struct projection *projection, struct error *err) {
  size_t d_in = projection->d_in, d_out = projection->d_out;
  float *w = memory_new_3d(d_in, d_out, 1, sizeof *w, "projection", err);
  for (size_t c = 0; w && c < d_out; c++) {
    const float *panel = projection->panels + c / PROJECTION_PANEL * PROJECTION_PANEL * d_in;
    for (size_t row = 0; row < d_in; row++) {
      w[row * d_out + c] = panel[row * PROJECTION_PANEL + c % PROJECTION_PANEL];
    }
  }
  return w;
}

/* Redraw columns first .. first + width - 1 of values [rows][columns]. */
static void redraw(float *values, size_t rows, size_t columns, size_t first, size_t width, const struct rng *rng) {
  double mean = 0, squares = 0;
  for (size_t row = 0; row < rows; row++) {
    struct moments part = moments_of(values + row * columns + first, width, 1);
    mean += part.mean / (double)rows;
    squares += (part.deviation * part.deviation + part.mean * part.mean) / (double)rows;
  }
  double deviation = sqrt(fmax(squares - mean * mean, 0)), normal[64];
  size_t most = sizeof normal / sizeof *normal;
  for (size_t row = 0; row < rows; row++) {
    for (size_t done = 0, count; done < width; done += count) {
      size_t at = row * columns + first + done;
      count = width - done < most ? width - done : most;
      rng_normals(rng, at, count, normal);
      for (size_t c = 0; c < count; c++) {
        values[at + c] = (float)(mean + deviation * normal[c]);
      }
    }
  }
}

/* A projection with redrawn weights and biases, head by head. */
static int redraw_projection(const struct projection *from, size_t head_dim, uint64_t seed, const char *name,
                             const char *bias_name, struct projection *out, struct error *err) {
  float *w = plain_weights(from, err);
  float *bias = w ? memory_new(from->d_out, sizeof *bias, "bias", err) : NULL;
  int status = bias ? 0 : (int)err->code;
  struct rng rng = rng_stream(seed, name);
  struct rng bias_rng = rng_stream(seed, bias_name);
  for (size_t c = 0; !status && c < from->d_out; c++) {
    bias[c] = from->bias[c];
  }
  for (size_t first = 0; !status && first < from->d_out; first += head_dim) {
    redraw(w, from->d_in, from->d_out, first, head_dim, &rng);
    redraw(bias, 1, from->d_out, first, head_dim, &bias_rng);
  }
  status = status ? status : projection_init(out, w, bias, from->d_in, from->d_out, err);
  free(w);
  free(bias);
  return status;
}

static float *copy_floats(const float *from, size_t count, struct error *err) {
  float *copy = memory_new(count, sizeof *copy, "layer norm", err);
  for (size_t i = 0; copy && i < count; i++) {
    copy[i] = from[i];
  }
  return copy;
}

static int redraw_layer(const struct layer *from, uint64_t seed, struct layer *out, struct error *err) {
  *out = (struct layer){.d_model = from->d_model, .norm_epsilon = from->norm_epsilon, .head_dim = from->head_dim};
  if (from->norm_scale) {
    out->norm_scale = copy_floats(from->norm_scale, from->d_model, err);
    out->norm_bias = out->norm_scale ? copy_floats(from->norm_bias, from->d_model, err) : NULL;
    if (!out->norm_bias) {
      return err->code;
    }
  }
  int status = redraw_projection(&from->q, from->head_dim, seed, "twin.w_q", "twin.b_q", &out->q, err);
  return status ? status : redraw_projection(&from->k, from->head_dim, seed, "twin.w_k", "twin.b_k", &out->k, err);
}

/* Moments of each channel of the given rows of the first text; the others come from the same tensors. */
static int moments_of_given(const struct model *model, struct twin *twin, struct error *err) {
  size_t width = model->head_dim, tokens = model->texts[0].count;
  size_t *index = memory_new(tokens, sizeof *index, "token index", err);
  float *q = index ? memory_new_3d(model->n_heads, tokens, width, sizeof *q, "queries", err) : NULL;
  float *k = q ? memory_new_3d(model->n_kv_heads, tokens, width, sizeof *k, "keys", err) : NULL;
  twin->q = k ? memory_new(model->n_heads, width * sizeof *twin->q, "moments", err) : NULL;
  twin->k = twin->q ? memory_new(model->n_kv_heads, width * sizeof *twin->k, "moments", err) : NULL;
  int status = twin->k ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < tokens; i++) {
    index[i] = i;
  }
  status = status ? status : model_given_qk(model, 0, index, tokens, q, k, NULL, err);
  for (size_t c = 0; !status && c < model->n_heads * width; c++) {
    twin->q[c] = moments_of(q + c / width * tokens * width + c % width, tokens, width);
  }
  for (size_t c = 0; !status && c < model->n_kv_heads * width; c++) {
    twin->k[c] = moments_of(k + c / width * tokens * width + c % width, tokens, width);
  }
  free(index);
  free(q);
  free(k);
  return status;
}

static void draw_rows(const struct moments *moments, size_t heads, size_t width, const struct rng *rng, size_t first,
                      const size_t *index, size_t n, float *out) {
  for (size_t head = 0; head < heads; head++) {
    for (size_t i = 0; i < n; i++) {
      for (size_t c = 0; c < width; c++) {
        struct moments own = moments[head * width + c];
        double normal = rng_normal(rng, ((first + index[i]) * heads + head) * width + c);
        out[(head * n + i) * width + c] = (float)(own.mean + own.deviation * normal);
      }
    }
  }
}

static int twin_given_qk(const struct model *model, size_t text, const size_t *index, size_t n, float *q, float *k,
                         float *v, struct error *err) {
  (void)v, (void)err;
  const struct twin *twin = twin_of(model);
  size_t first = 0; /* texts stand one behind the other */
  for (size_t i = 0; i < text; i++) {
    first += model->texts[i].count;
  }
  if (q) {
    draw_rows(twin->q, model->n_heads, model->head_dim, &twin->rng_q, first, index, n, q);
  }
  if (k) {
    draw_rows(twin->k, model->n_kv_heads, model->head_dim, &twin->rng_k, first, index, n, k);
  }
  return 0;
}

static int twin_content(const struct model *model, const struct text_tokens *text, const size_t *index, size_t n,
                        float *x, struct error *err) {
  const struct model *own = twin_of(model)->model;
  return own->source->operations.content(own, text, index, n, x, err);
}

/* The layers below are the model's own. */
static int twin_project(const struct model *model, size_t layer, const float *x, size_t n, float *q, float *k, float *v,
                        struct pool *pool, struct error *err) {
  const struct model *own = twin_of(model)->model;
  return layer == model->layer ? layer_project(&twin_of(model)->layer, x, n, q, k, NULL, pool, err)
                               : own->source->operations.project(own, layer, x, n, q, k, v, pool, err);
}

static int twin_pass(const struct model *model, size_t layer, const float *context, size_t n, float *x,
                     struct error *err) {
  const struct model *own = twin_of(model)->model;
  return own->source->operations.pass(own, layer, context, n, x, err);
}

void model_random_twin_close(struct model *twin) {
  if (!twin) {
    return;
  }
  struct twin *source = (struct twin *)twin->source;
  layer_destroy(&source->layer);
  free(source->q);
  free(source->k);
  free(source);
  free(twin);
}

struct model *model_random_twin(const struct model *model, uint64_t seed, struct error *err) {
  *err = (struct error){0};
  const struct source_operations *operations = &model->source->operations;
  const struct layer *layer = operations->layer ? operations->layer(model) : NULL;
  if (!layer && !operations->given_qk) {
    return NULL;
  }
  struct model *twin = memory_new(1, sizeof *twin, "model", err);
  struct twin *source = twin ? memory_new(1, sizeof *source, "model", err) : NULL;
  if (!source) {
    free(twin);
    return NULL;
  }
  *twin = *model;
  twin->source = &source->base;
  twin->value_dim = model->layer ? model->value_dim : 0; /* the layers below pass theirs on */
  *source = (struct twin){.model = model, .rng_q = rng_stream(seed, "twin.q"), .rng_k = rng_stream(seed, "twin.k")};
  source->base.operations =
      layer ? (struct source_operations){.content = twin_content, .project = twin_project, .pass = twin_pass}
            : (struct source_operations){.given_qk = twin_given_qk};
  int status = layer ? redraw_layer(layer, seed, &source->layer, err) : moments_of_given(model, source, err);
  if (status) {
    model_random_twin_close(twin);
    return NULL;
  }
  return twin;
}
