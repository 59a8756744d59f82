/* Layers of a trained model, read from the file that data/README.md describes. */
#include "base/memory.h"
#include "input/hdf5_reader.h"
#include "input/source.h"
#include "input/tokens.h"
#include "input/weights_layer.h"

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
  bool is_bytes;                /* ids are bytes */
  struct weights_layer *layers; /* [n_layers]: the model's layer and those below it */
  size_t n_layers;
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

static int weights_project(const struct model *model, size_t layer, const float *x, size_t n, float *q, float *k,
                           float *v, struct pool *pool, struct error *err) {
  return layer_project(&weights_of(model)->layers[layer].layer, x, n, q, k, v, pool, err);
}

static int weights_output(const struct model *model, const float *context, size_t n, float *out, struct error *err) {
  return weights_layer_output(&weights_of(model)->layers[model->layer], context, n, out, err);
}

static int weights_pass(const struct model *model, size_t layer, const float *context, size_t n, float *x,
                        struct error *err) {
  return weights_layer_pass(&weights_of(model)->layers[layer], context, n, x, err);
}

static const struct layer *weights_layer(const struct model *model) {
  return &weights_of(model)->layers[model->layer].layer;
}

static void weights_close(struct model_source *source) {
  struct weights *weights = (struct weights *)source;
  vocabulary_destroy(&weights->vocabulary);
  free(weights->embeddings);
  for (size_t i = 0; weights->layers && i < weights->n_layers; i++) {
    weights_layer_destroy(&weights->layers[i]);
  }
  free(weights->layers);
  free(weights);
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
  status = weights_number_or(file, "/", "reserved_ids", RESERVED_IDS, &reserved, err);
  status = status ? status : weights_number_or(file, "/", "named_vocab_size", (double)count, &named, err);
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

/* The attribute `tokens`: what ids stand for where there is no vocabulary. */
static int read_bytes(struct weights *weights, struct hdf5_file *file, struct error *err) {
  char *tokens = NULL;
  bool found = false;
  int status = hdf5_text(file, "/", "tokens", &found, &tokens, err);
  weights->is_bytes = !status && found && !strcmp(tokens, "bytes");
  if (!status && found && (!weights->is_bytes || weights->n_ids != 256)) {
    status =
        error_set(err, ERROR_FILE_CONTENT, "%s: the attribute tokens is '%s', with %zu ids; known is bytes, with 256",
                  hdf5_path(file), tokens, weights->n_ids);
  }
  free(tokens);
  return status;
}

static int read_embeddings(struct model *model, struct weights *weights, struct hdf5_file *file, struct error *err) {
  struct hdf5_shape shape = {.rank = 2};
  double scale = 1;
  int status = hdf5_floats(file, "/embeddings", &shape, &weights->embeddings, err);
  weights->n_ids = shape.dim[0];
  weights->d_model = model->d_model = shape.dim[1];
  status = status ? status : weights_cross_check(file, "/", "vocab_size", shape.dim[0], "/embeddings", err);
  status = status ? status : weights_cross_check(file, "/", "d_model", shape.dim[1], "/embeddings", err);
  status = status ? status : weights_number_or(file, "/", "token_scale", 1, &scale, err);
  weights->token_scale = (float)scale;
  status = status ? status : read_bytes(weights, file, err);
  return status ? status : read_vocabulary(weights, file, err);
}

/* The model's layer, and those below, through which tokens reach it. */
static int read_layers(struct model *model, struct weights *weights, struct hdf5_file *file, struct error *err) {
  weights->layers = memory_new(model->layer + 1, sizeof *weights->layers, "layers", err);
  int status = weights->layers ? 0 : ERROR_MEMORY;
  for (size_t i = 0; !status && i <= model->layer; i++) {
    weights->n_layers = i + 1;
    status = weights_layer_read(file, i, model->d_model, &weights->layers[i], err);
    if (!status && i < model->layer && !weights_layer_goes_on(&weights->layers[i])) {
      status = error_set(err, ERROR_JOB_SETUP,
                         "model.layer: %zu; it reads what the layer before it gives, which %s does not hold: only "
                         "layer 0 can be fed with tokens (q and k of a later layer can be given by model.qk)",
                         model->layer, hdf5_path(file));
    }
  }
  if (status) {
    return status;
  }
  const struct weights_layer *last = &weights->layers[model->layer];
  for (size_t i = 0; i < model->layer; i++) {
    const struct weights_layer *layer = &weights->layers[i];
    if (layer->n_heads != last->n_heads || layer->n_kv_heads != last->n_kv_heads ||
        layer->layer.head_dim != last->layer.head_dim || layer->layer.value_dim != last->layer.value_dim ||
        layer->score_scale != last->score_scale) {
      return error_set(err, ERROR_FILE_CONTENT,
                       "%s: /layer%zu has other heads, widths or q_scale than /layer%zu; they must be the same in all "
                       "layers",
                       hdf5_path(file), i, model->layer);
    }
  }
  model->n_heads = last->n_heads;
  model->n_kv_heads = last->n_kv_heads;
  model->head_dim = last->layer.head_dim;
  model->value_dim = last->layer.value_dim;
  model->score_scale = last->score_scale;
  model->scale_is_trained = true;
  weights->base.operations.output_width = last->output.d_out;
  return 0;
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
  status = status ? status : weights_number_or(file, "/", "max_length", 0, &trained->max_length, err);
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
  int status = count_layers(model, file, err);
  status = status ? status : read_embeddings(model, weights, file, err);
  status = status ? status : read_layers(model, weights, file, err);
  status = status ? status : weights_number_or(file, "/", "pe_scale", 1, &model->pe_scale, err);
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
                                                        .pass = weights_pass,
                                                        .layer = weights_layer,
                                                        .close = weights_close};
  const char *path = section_get(section, "weights")->text;
  struct hdf5_file *file = hdf5_file_open(path, err);
  if (!file) {
    return err->code;
  }
  model->trained.file = memory_copy_text(path, err);
  int status = model->trained.file ? read_file(model, weights, file, err) : ERROR_MEMORY;
  hdf5_file_close(file);
  return status ? status
                : tokens_read(section_get(section, "tokens")->section,
                              weights->has_vocabulary ? &weights->vocabulary : NULL, weights->is_bytes, weights->n_ids,
                              seed, &model->texts, &model->n_texts, err);
}
