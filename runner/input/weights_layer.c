#include "input/weights_layer.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int weights_number_or(struct hdf5_file *file, const char *object, const char *name, double absent, double *value,
                      struct error *err) {
  bool found = false;
  *value = absent;
  return hdf5_number(file, object, name, &found, value, err);
}

int weights_cross_check(struct hdf5_file *file, const char *object, const char *name, size_t is, const char *what,
                        struct error *err) {
  double says = 0;
  int status = weights_number_or(file, object, name, (double)is, &says, err);
  if (!status && says != (double)is) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: the attribute %s of %s says %g, but %s has %zu", hdf5_path(file),
                       name, object, says, what, is);
  }
  return status;
}

/* ---- reading ---- */

/* What one of q, k, v is made with: /layerN/w_X [d_in][heads][width] and, where it is there, /layerN/b_X. */
static int read_projection(struct hdf5_file *file, const char *group, const char *letter, struct hdf5_shape *shape,
                           struct projection *projection, struct error *err) {
  char name[64];
  float *w = NULL, *bias = NULL;
  snprintf(name, sizeof name, "%s/w_%s", group, letter);
  int status = hdf5_floats(file, name, shape, &w, err);
  bool has_bias = false;
  snprintf(name, sizeof name, "%s/b_%s", group, letter);
  status = status ? status : hdf5_has(file, name, &has_bias, err);
  if (!status && has_bias) {
    struct hdf5_shape bias_shape = {.rank = 2, .dim = {shape->dim[1], shape->dim[2]}};
    status = hdf5_floats(file, name, &bias_shape, &bias, err);
  }
  status = status ? status : projection_init(projection, w, bias, shape->dim[0], shape->dim[1] * shape->dim[2], err);
  free(w);
  free(bias);
  return status;
}

/* <group>/<prefix>_scale and _bias [d_model], both or neither. */
static int read_norm(struct hdf5_file *file, const char *group, const char *prefix, size_t d_model, float **norm_scale,
                     float **norm_bias, double *epsilon, struct error *err) {
  char scale[64], bias[64];
  snprintf(scale, sizeof scale, "%s/%s_scale", group, prefix);
  snprintf(bias, sizeof bias, "%s/%s_bias", group, prefix);
  bool has_scale = false, has_bias = false;
  int status = hdf5_has(file, scale, &has_scale, err);
  status = status ? status : hdf5_has(file, bias, &has_bias, err);
  if (status || (!has_scale && !has_bias)) {
    return status;
  }
  struct hdf5_shape shape = {.rank = 1, .dim = {d_model}};
  status = hdf5_floats(file, scale, &shape, norm_scale, err);
  status = status ? status : hdf5_floats(file, bias, &shape, norm_bias, err);
  status = status ? status : weights_number_or(file, group, "ln_epsilon", 1e-5, epsilon, err);
  if (!status && *epsilon < 0) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: the attribute ln_epsilon of %s is %g; allowed is 0 or more",
                       hdf5_path(file), group, *epsilon);
  }
  return status;
}

/* A dataset of which *shape is known in part, and a bias [last axis] if there is one. */
static int read_matrix(struct hdf5_file *file, const char *weight, const char *bias_name, struct hdf5_shape *shape,
                       struct projection *projection, struct error *err) {
  float *w = NULL, *bias = NULL;
  bool has_bias = false;
  int status = hdf5_floats(file, weight, shape, &w, err);
  status = status ? status : hdf5_has(file, bias_name, &has_bias, err);
  size_t out = shape->dim[shape->rank - 1], in = shape->dim[0] * (shape->rank == 3 ? shape->dim[1] : 1);
  if (!status && has_bias) {
    struct hdf5_shape bias_shape = {.rank = 1, .dim = {out}};
    status = hdf5_floats(file, bias_name, &bias_shape, &bias, err);
  }
  status = status ? status : projection_init(projection, w, bias, in, out, err);
  free(w);
  free(bias);
  return status;
}

static int read_output(struct hdf5_file *file, const char *group, struct weights_layer *out, struct error *err) {
  char weight[64], bias[64];
  snprintf(weight, sizeof weight, "%s/w_o", group);
  snprintf(bias, sizeof bias, "%s/b_o", group);
  bool found = false;
  int status = hdf5_has(file, weight, &found, err);
  if (status || !found) {
    return status;
  }
  struct hdf5_shape shape = {.rank = 3, .dim = {out->n_heads, out->layer.value_dim}};
  status = read_matrix(file, weight, bias, &shape, &out->output, err);
  return status ? status : weights_cross_check(file, group, "d_out", out->output.d_out, weight, err);
}

/* The kinds of norm and activation, once for all layers. */
static int read_kinds(struct hdf5_file *file, struct weights_layer *out, struct error *err) {
  char *norm = NULL, *activation = NULL;
  bool has_norm = false, has_activation = false;
  int status = hdf5_text(file, "/", "norm", &has_norm, &norm, err);
  status = status ? status : hdf5_text(file, "/", "activation", &has_activation, &activation, err);
  if (!status && has_norm && strcmp(norm, "pre_layer_norm")) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: the attribute norm is '%s'; known is pre_layer_norm",
                       hdf5_path(file), norm);
  }
  out->gelu_is_erf = !status && has_activation && !strcmp(activation, "gelu_erf");
  if (!status && has_activation && !out->gelu_is_erf && strcmp(activation, "gelu_tanh")) {
    status =
        error_set(err, ERROR_FILE_CONTENT, "%s: the attribute activation is '%s'; known are gelu_tanh and gelu_erf",
                  hdf5_path(file), activation);
  }
  free(norm);
  free(activation);
  return status;
}

static int read_feed_forward(struct hdf5_file *file, const char *group, struct weights_layer *out, struct error *err) {
  char name[4][64];
  static const char *const names[] = {"w_1", "b_1", "w_2", "b_2"};
  for (size_t i = 0; i < 4; i++) {
    snprintf(name[i], sizeof name[i], "%s/%s", group, names[i]);
  }
  bool found = false;
  size_t d = out->layer.d_model;
  int status = hdf5_has(file, name[0], &found, err);
  if (status || !found) {
    return status;
  }
  struct hdf5_shape up = {.rank = 2, .dim = {d}}, down = {.rank = 2};
  status = read_kinds(file, out, err);
  status = status ? status : read_matrix(file, name[0], name[1], &up, &out->up, err);
  down.dim[0] = up.dim[1];
  down.dim[1] = d;
  status = status ? status : read_matrix(file, name[2], name[3], &down, &out->down, err);
  return status ? status : read_norm(file, group, "ff_ln", d, &out->ff_scale, &out->ff_bias, &out->ff_epsilon, err);
}

int weights_layer_read(struct hdf5_file *file, size_t index, size_t d_model, struct weights_layer *out,
                       struct error *err) {
  char group[32], w_q[64], w_k[64];
  snprintf(group, sizeof group, "/layer%zu", index);
  snprintf(w_q, sizeof w_q, "%s/w_q", group);
  snprintf(w_k, sizeof w_k, "%s/w_k", group);
  *out = (struct weights_layer){.layer = {.d_model = d_model}};
  struct layer *layer = &out->layer;
  struct hdf5_shape q = {.rank = 3, .dim = {d_model}}, k = {.rank = 3, .dim = {d_model}}, v = k;
  int status = read_projection(file, group, "q", &q, &layer->q, err);
  k.dim[2] = q.dim[2];
  status = status ? status : read_projection(file, group, "k", &k, &layer->k, err);
  v.dim[1] = k.dim[1];
  status = status ? status : read_projection(file, group, "v", &v, &layer->v, err);
  if (status) {
    return status;
  }
  if (q.dim[1] % k.dim[1]) {
    return error_set(err, ERROR_FILE_CONTENT,
                     "%s: %s has %zu query heads and %zu key heads; the first must be a multiple of the second",
                     hdf5_path(file), group, q.dim[1], k.dim[1]);
  }
  out->n_heads = q.dim[1];
  out->n_kv_heads = k.dim[1];
  layer->head_dim = q.dim[2];
  layer->value_dim = v.dim[2];
  status = weights_cross_check(file, group, "d_in", q.dim[0], w_q, err);
  status = status ? status : weights_cross_check(file, group, "n_heads", q.dim[1], w_q, err);
  status = status ? status : weights_cross_check(file, group, "n_kv_heads", k.dim[1], w_k, err);
  status = status ? status : weights_cross_check(file, group, "head_dim", q.dim[2], w_q, err);
  status =
      status ? status
             : read_norm(file, group, "ln", d_model, &layer->norm_scale, &layer->norm_bias, &layer->norm_epsilon, err);
  status = status ? status : read_output(file, group, out, err);
  status = status ? status : read_feed_forward(file, group, out, err);
  double usual = 1 / sqrt((double)q.dim[2]);
  return status ? status : weights_number_or(file, group, "q_scale", usual, &out->score_scale, err);
}

void weights_layer_destroy(struct weights_layer *layer) {
  layer_destroy(&layer->layer);
  projection_destroy(&layer->output);
  projection_destroy(&layer->up);
  projection_destroy(&layer->down);
  free(layer->ff_scale);
  free(layer->ff_bias);
  *layer = (struct weights_layer){0};
}

/* ---- going on ---- */

bool weights_layer_goes_on(const struct weights_layer *layer) {
  return layer->output.d_out == layer->layer.d_model && layer->ff_scale;
}

int weights_layer_output(const struct weights_layer *layer, const float *context, size_t n, float *out,
                         struct error *err) {
  size_t width = layer->layer.value_dim, d_in = layer->output.d_in;
  float *rows = memory_new(n, d_in * sizeof *rows, "rows of context", err);
  if (!rows) {
    return err->code;
  }
  for (size_t head = 0; head < layer->n_heads; head++) {
    for (size_t i = 0; i < n; i++) {
      memcpy(rows + i * d_in + head * width, context + (head * n + i) * width, width * sizeof *rows);
    }
  }
  projection_rows(&layer->output, rows, n, layer->output.d_out, 0, out);
  free(rows);
  return 0;
}

static void gelu(float *x, size_t n, bool is_erf) {
  const double root = 0.79788456080286535588, half_root = 0.70710678118654752440; /* sqrt(2 / pi), 1 / sqrt 2 */
  for (size_t i = 0; i < n; i++) {
    double v = (double)x[i];
    double share = is_erf ? erf(v * half_root) : tanh(root * (v + 0.044715 * v * v * v));
    x[i] = (float)(v / 2 * (1 + share));
  }
}

int weights_layer_pass(const struct weights_layer *layer, const float *context, size_t n, float *x, struct error *err) {
  size_t d = layer->layer.d_model, wide = layer->up.d_out;
  float *rows = memory_new(n, d * sizeof *rows, "rows of a layer", err);
  float *hidden = rows ? memory_new(n, wide * sizeof *hidden, "rows of a layer", err) : NULL;
  int status = hidden ? weights_layer_output(layer, context, n, rows, err) : ERROR_MEMORY;
  if (!status) {
    for (size_t i = 0; i < n * d; i++) {
      x[i] += rows[i];
    }
    layer_norm_rows(x, n, d, layer->ff_scale, layer->ff_bias, layer->ff_epsilon, rows);
    projection_rows(&layer->up, rows, n, wide, 0, hidden);
    gelu(hidden, n * wide, layer->gelu_is_erf);
    projection_rows(&layer->down, hidden, n, d, 0, rows);
    for (size_t i = 0; i < n * d; i++) {
      x[i] += rows[i];
    }
  }
  free(rows);
  free(hidden);
  return status;
}
