/* A layer of a trained model, read from the file that data/README.md describes. */
#include "base/memory.h"
#include "input/hdf5_reader.h"
#include "input/layer.h"
#include "input/source.h"
#include "input/tokens.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ids that stand for no text where the file does not say how many: <unk>, <s>, </s> and three spare ones. */
enum { RESERVED_IDS = 6, MOST_LAYERS = 1024 };

struct weights {
  struct model_source base;
  struct vocabulary vocabulary;
  bool has_vocabulary;
  size_t n_ids, d_model;
  float *embeddings; /* [n_ids][d_model] */
  float token_scale;
  struct layer layer;
  struct projection output; /* d_out 0: none */
};

static struct weights *weights_of(const struct model *model) {
  return (struct weights *)model->source;
}

static const char *weights_piece(const struct model *model, int32_t id) {
  const struct weights *weights = weights_of(model);
  return weights->has_vocabulary && id >= 0 && (size_t)id < weights->vocabulary.count ? weights->vocabulary.pieces[id]
                                                                                      : "";
}

static int weights_content(const struct model *model, const struct text_tokens *text, const size_t *index, size_t n,
                           float *x, struct error *err) {
  (void)err;
  const struct weights *weights = weights_of(model);
  size_t d = weights->d_model;
  for (size_t i = 0; i < n; i++) {
    int32_t id = text->ids[index[i]];
    const float *row = id < 0 ? NULL : weights->embeddings + (size_t)id * d;
    for (size_t j = 0; j < d; j++) {
      x[i * d + j] = row ? weights->token_scale * row[j] : 0;
    }
  }
  return 0;
}

static int weights_project(const struct model *model, const float *x, size_t n, float *q, float *k, float *v,
                           struct pool *pool, struct error *err) {
  return layer_project(&weights_of(model)->layer, x, n, q, k, v, pool, err);
}

static int weights_output(const struct model *model, const float *context, size_t n, float *out, struct error *err) {
  const struct weights *weights = weights_of(model);
  size_t width = model->value_dim, d_in = weights->output.d_in;
  float *rows = memory_new(n, d_in * sizeof *rows, "rows of context", err);
  if (!rows) {
    return err->code;
  }
  for (size_t head = 0; head < model->n_heads; head++) {
    for (size_t i = 0; i < n; i++) {
      memcpy(rows + i * d_in + head * width, context + (head * n + i) * width, width * sizeof *rows);
    }
  }
  projection_rows(&weights->output, rows, n, weights->output.d_out, 0, out);
  free(rows);
  return 0;
}

static void weights_close(struct model_source *source) {
  struct weights *weights = (struct weights *)source;
  vocabulary_destroy(&weights->vocabulary);
  free(weights->embeddings);
  layer_destroy(&weights->layer);
  projection_destroy(&weights->output);
  free(weights);
}

/* A number attribute, or `absent`. */
static int number_or(struct hdf5_file *file, const char *object, const char *name, double absent, double *value,
                     struct error *err) {
  bool found = false;
  *value = absent;
  return hdf5_number(file, object, name, &found, value, err);
}

/* An attribute that repeats what a shape says must say the same. */
static int cross_check(struct hdf5_file *file, const char *object, const char *name, size_t is, const char *what,
                       struct error *err) {
  double says = 0;
  int status = number_or(file, object, name, (double)is, &says, err);
  if (!status && says != (double)is) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: the attribute %s of %s says %g, but %s has %zu", hdf5_path(file),
                       name, object, says, what, is);
  }
  return status;
}

static int read_vocabulary(struct weights *weights, struct hdf5_file *file, struct error *err) {
  bool found = false;
  int status = hdf5_has(file, "/vocab", &found, err);
  if (status || !found) {
    return status;
  }
  char **pieces = NULL;
  size_t count = 0;
  double reserved = 0, named = 0;
  status = hdf5_texts(file, "/vocab", &pieces, &count, err);
  if (status) {
    return status;
  }
  if (count != weights->n_ids) {
    hdf5_free_texts(pieces, count);
    return error_set(err, ERROR_FILE_CONTENT, "%s: /vocab has %zu pieces, but /embeddings %zu rows", hdf5_path(file),
                     count, weights->n_ids);
  }
  status = number_or(file, "/", "reserved_ids", RESERVED_IDS, &reserved, err);
  status = status ? status : number_or(file, "/", "named_vocab_size", (double)count, &named, err);
  if (!status && (!(reserved >= 0 && reserved <= (double)count) || !(named >= 0 && named <= (double)count))) {
    status = error_set(err, ERROR_FILE_CONTENT,
                       "%s: the attributes reserved_ids (%g) and named_vocab_size (%g) must be 0 to %zu",
                       hdf5_path(file), reserved, named, count);
  }
  if (status) {
    hdf5_free_texts(pieces, count);
    return status;
  }
  for (size_t id = (size_t)named; id < count; id++) {
    pieces[id][0] = '\0';
  }
  weights->has_vocabulary = true;
  return vocabulary_init(&weights->vocabulary, pieces, count, (size_t)reserved, err);
}

static int read_embeddings(struct model *model, struct weights *weights, struct hdf5_file *file, struct error *err) {
  struct hdf5_shape shape = {.rank = 2};
  double scale = 1;
  int status = hdf5_floats(file, "/embeddings", &shape, &weights->embeddings, err);
  weights->n_ids = shape.dim[0];
  weights->d_model = model->d_model = shape.dim[1];
  status = status ? status : cross_check(file, "/", "vocab_size", shape.dim[0], "/embeddings", err);
  status = status ? status : cross_check(file, "/", "d_model", shape.dim[1], "/embeddings", err);
  status = status ? status : number_or(file, "/", "token_scale", 1, &scale, err);
  weights->token_scale = (float)scale;
  return status ? status : read_vocabulary(weights, file, err);
}

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

static int read_norm(struct layer *layer, struct hdf5_file *file, const char *group, struct error *err) {
  char scale[64], bias[64];
  snprintf(scale, sizeof scale, "%s/ln_scale", group);
  snprintf(bias, sizeof bias, "%s/ln_bias", group);
  bool has_scale = false, has_bias = false;
  int status = hdf5_has(file, scale, &has_scale, err);
  status = status ? status : hdf5_has(file, bias, &has_bias, err);
  if (status || (!has_scale && !has_bias)) {
    return status;
  }
  struct hdf5_shape shape = {.rank = 1, .dim = {layer->d_model}};
  status = hdf5_floats(file, scale, &shape, &layer->norm_scale, err);
  status = status ? status : hdf5_floats(file, bias, &shape, &layer->norm_bias, err);
  status = status ? status : number_or(file, group, "ln_epsilon", 1e-5, &layer->norm_epsilon, err);
  if (!status && layer->norm_epsilon < 0) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: the attribute ln_epsilon of %s is %g; allowed is 0 or more",
                       hdf5_path(file), group, layer->norm_epsilon);
  }
  return status;
}

static int read_output(struct model *model, struct weights *weights, struct hdf5_file *file, const char *group,
                       struct error *err) {
  char name[64];
  snprintf(name, sizeof name, "%s/w_o", group);
  bool found = false;
  int status = hdf5_has(file, name, &found, err);
  if (status || !found) {
    return status;
  }
  struct hdf5_shape shape = {.rank = 3, .dim = {model->n_heads, model->value_dim}};
  float *w = NULL, *bias = NULL;
  status = hdf5_floats(file, name, &shape, &w, err);
  snprintf(name, sizeof name, "%s/b_o", group);
  bool has_bias = false;
  status = status ? status : hdf5_has(file, name, &has_bias, err);
  if (!status && has_bias) {
    struct hdf5_shape bias_shape = {.rank = 1, .dim = {shape.dim[2]}};
    status = hdf5_floats(file, name, &bias_shape, &bias, err);
  }
  status = status ? status
                  : projection_init(&weights->output, w, bias, model->n_heads * model->value_dim, shape.dim[2], err);
  weights->base.operations.output_width = status ? 0 : shape.dim[2];
  free(w);
  free(bias);
  return status;
}

static int read_layer(struct model *model, struct weights *weights, struct hdf5_file *file, const char *group,
                      struct error *err) {
  struct layer *layer = &weights->layer;
  struct hdf5_shape q = {.rank = 3, .dim = {model->d_model}}, k = {.rank = 3, .dim = {model->d_model}}, v = k;
  layer->d_model = model->d_model;
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
  model->n_heads = q.dim[1];
  model->n_kv_heads = k.dim[1];
  model->head_dim = layer->head_dim = q.dim[2];
  model->value_dim = layer->value_dim = v.dim[2];
  char w_q[64];
  snprintf(w_q, sizeof w_q, "%s/w_q", group);
  status = cross_check(file, group, "d_in", q.dim[0], w_q, err);
  status = status ? status : cross_check(file, group, "n_heads", q.dim[1], w_q, err);
  status = status ? status : cross_check(file, group, "head_dim", q.dim[2], w_q, err);
  status = status ? status : read_norm(layer, file, group, err);
  status = status ? status : read_output(model, weights, file, group, err);
  if (!status && weights->output.d_out) {
    char w_o[64];
    snprintf(w_o, sizeof w_o, "%s/w_o", group);
    status = cross_check(file, group, "d_out", weights->output.d_out, w_o, err);
  }
  status = status ? status : number_or(file, group, "q_scale", 1 / sqrt((double)q.dim[2]), &model->score_scale, err);
  model->scale_is_trained = true;
  return status;
}

static int count_layers(struct model *model, struct hdf5_file *file, struct error *err) {
  bool found = true;
  int status = 0;
  for (model->n_layers = 0; !status && found && model->n_layers < MOST_LAYERS; model->n_layers += found) {
    char group[32];
    snprintf(group, sizeof group, "/layer%zu", model->n_layers);
    status = hdf5_has(file, group, &found, err);
  }
  if (!status && !model->n_layers) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: there is no group /layer0 with the projections of a layer",
                       hdf5_path(file));
  }
  if (!status && model->layer >= model->n_layers) {
    status = error_set(err, ERROR_JOB_SETUP, "model.layer: %zu; %s has layers 0 to %zu", model->layer, hdf5_path(file),
                       model->n_layers - 1);
  }
  if (!status && model->layer > 0) {
    status =
        error_set(err, ERROR_JOB_SETUP,
                  "model.layer: %zu; it reads what the layer before it gives, which %s does not hold: only layer 0 "
                  "can be fed with tokens (q and k of a later layer can be given by model.qk)",
                  model->layer, hdf5_path(file));
  }
  return status;
}

static int text_or_empty(struct hdf5_file *file, const char *name, char **text, struct error *err) {
  bool found = false;
  int status = hdf5_text(file, "/", name, &found, text, err);
  if (!status && !found) {
    *text = memory_copy_text("", err);
    status = *text ? 0 : (int)err->code;
  }
  return status;
}

static int read_training(struct model *model, struct hdf5_file *file, struct error *err) {
  struct trained_with *trained = &model->trained;
  int status = text_or_empty(file, "trained_with", &trained->scheme, err);
  status = status ? status : text_or_empty(file, "trained_with_parameters", &trained->parameters, err);
  status = status ? status : text_or_empty(file, "trained_mask", &trained->mask, err);
  status = status ? status : number_or(file, "/", "max_length", 0, &trained->max_length, err);
  if (status) {
    return status;
  }
  if (trained->mask[0] && strcmp(trained->mask, "none") && strcmp(trained->mask, "causal")) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: the attribute trained_mask is '%s'; allowed are none and causal",
                     hdf5_path(file), trained->mask);
  }
  if (!(trained->max_length >= 0) || trained->max_length != floor(trained->max_length)) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: the attribute max_length is %g; allowed is a number of tokens",
                     hdf5_path(file), trained->max_length);
  }
  if (!trained->parameters[0]) {
    return 0;
  }
  json_error_t problem;
  json_t *parameters = json_loads(trained->parameters, JSON_REJECT_DUPLICATES, &problem);
  if (!json_is_object(parameters)) {
    status = error_set(err, ERROR_FILE_CONTENT,
                       "%s: the attribute trained_with_parameters is no JSON object of parameters: %s", hdf5_path(file),
                       parameters ? "it is another kind of value" : problem.text);
  }
  json_decref(parameters);
  return status;
}

static int read_file(struct model *model, struct weights *weights, struct hdf5_file *file, struct error *err) {
  char group[32];
  snprintf(group, sizeof group, "/layer%zu", model->layer);
  int status = count_layers(model, file, err);
  status = status ? status : read_embeddings(model, weights, file, err);
  status = status ? status : read_layer(model, weights, file, group, err);
  return status ? status : read_training(model, file, err);
}

int model_open_weights(struct model *model, const struct section *section, uint64_t seed, struct error *err) {
  struct weights *weights = memory_new(1, sizeof *weights, "model", err);
  if (!weights) {
    return err->code;
  }
  model->kind = MODEL_WEIGHTS;
  model->layer = (size_t)section_get(section, "layer")->integer;
  model->source = &weights->base;
  weights->base.operations = (struct source_operations){.piece = weights_piece,
                                                        .content = weights_content,
                                                        .project = weights_project,
                                                        .output = weights_output,
                                                        .close = weights_close};
  struct hdf5_file *file = hdf5_file_open(section_get(section, "weights")->text, err);
  if (!file) {
    return err->code;
  }
  int status = read_file(model, weights, file, err);
  hdf5_file_close(file);
  return status ? status
                : tokens_read(section_get(section, "tokens")->section,
                              weights->has_vocabulary ? &weights->vocabulary : NULL, weights->n_ids, seed,
                              &model->texts, &model->n_texts, err);
}
