/* Word vectors with seeded random projections: HDF5, .npy, or GloVe's text format. */
#include "base/memory.h"
#include "input/hdf5_reader.h"
#include "input/npy.h"
#include "input/random_layer.h"
#include "input/source.h"
#include "input/tensor_file.h"
#include "input/tokens.h"
#include "input/word_vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Queries look for what resembles them, as they do in trained layers; the same as the default of model.random. */
#define CORRELATION 0.5

struct embeddings {
  struct model_source base;
  struct vocabulary vocabulary;
  bool has_vocabulary;
  size_t n_ids;
  float *vectors; /* [n_ids][d_model] */
  float scale;
  struct layer layer;
};

static const char *embeddings_piece(const struct model *model, int32_t id) {
  const struct embeddings *embeddings = (const struct embeddings *)model->source;
  return embeddings->has_vocabulary && id >= 0 && (size_t)id < embeddings->vocabulary.count
             ? embeddings->vocabulary.pieces[id]
             : "";
}

static int embeddings_content(const struct model *model, const struct text_tokens *text, const size_t *index, size_t n,
                              float *x, struct error *err) {
  (void)err;
  const struct embeddings *embeddings = (const struct embeddings *)model->source;
  size_t d = model->d_model;
  for (size_t i = 0; i < n; i++) {
    int32_t id = text->ids[index[i]];
    const float *row = id < 0 ? NULL : embeddings->vectors + (size_t)id * d;
    for (size_t j = 0; j < d; j++) {
      x[i * d + j] = row ? embeddings->scale * row[j] : 0;
    }
  }
  return 0;
}

static int embeddings_project(const struct model *model, size_t layer, const float *x, size_t n, float *q, float *k,
                              float *v, struct pool *pool, struct error *err) {
  (void)layer; /* there is one */
  return layer_project(&((const struct embeddings *)model->source)->layer, x, n, q, k, v, pool, err);
}

static const struct layer *embeddings_layer(const struct model *model) {
  return &((const struct embeddings *)model->source)->layer;
}

static void embeddings_close(struct model_source *source) {
  struct embeddings *embeddings = (struct embeddings *)source;
  vocabulary_destroy(&embeddings->vocabulary);
  free(embeddings->vectors);
  layer_destroy(&embeddings->layer);
  free(embeddings);
}

/* /vocab of the same file, where it has one, names the rows. */
static int read_hdf5_words(struct hdf5_file *file, const char *dataset, size_t n_ids, char ***words,
                           struct error *err) {
  bool found = false;
  size_t count = 0;
  *words = NULL;
  int status = hdf5_has(file, "/vocab", &found, err);
  if (status || !found) {
    return status;
  }
  status = hdf5_texts(file, "/vocab", words, &count, err);
  if (!status && count != n_ids) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: /vocab has %zu words, but %s has %zu rows", hdf5_path(file), count,
                       dataset, n_ids);
    hdf5_free_texts(*words, count);
    *words = NULL;
  }
  return status;
}

static int read_hdf5(const char *path, const char *dataset, struct word_vectors *read, struct error *err) {
  struct hdf5_file *file = hdf5_file_open(path, err);
  if (!file) {
    return err->code;
  }
  struct hdf5_shape shape = {.rank = 2};
  int status = hdf5_floats(file, dataset, &shape, &read->vectors, err);
  read->count = shape.dim[0];
  read->width = shape.dim[1];
  status = status ? status : read_hdf5_words(file, dataset, read->count, &read->words, err);
  hdf5_file_close(file);
  return status;
}

static int read_npy(const char *path, struct word_vectors *read, struct error *err) {
  struct npy_array array;
  int status = npy_read(path, &array, err);
  if (status) {
    return status;
  }
  if (array.rank != 2) {
    free(array.data);
    return error_set(err, ERROR_FILE_CONTENT, "%s: has %u axes; needed is [ids, d_model]", path, array.rank);
  }
  *read = (struct word_vectors){.count = array.dim[0], .width = array.dim[1], .vectors = array.data};
  return 0;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), end_length = strlen(end);
  return length > end_length && !strcmp(text + length - end_length, end);
}

static int read_file(const char *name, struct word_vectors *read, struct error *err) {
  char *file = NULL, *dataset = NULL;
  int status = tensor_split_name(name, &file, &dataset, err);
  if (status) {
    return status;
  }
  if (dataset || ends_with(file, ".h5") || ends_with(file, ".hdf5")) {
    status = read_hdf5(file, dataset ? dataset : "/embeddings", read, err);
  } else if (ends_with(file, ".npy")) {
    status = read_npy(file, read, err);
  } else {
    status = word_vectors_read(file, read, err);
  }
  free(file);
  free(dataset);
  return status;
}

static int take_layer(struct model *model, struct embeddings *embeddings, const struct section *own, uint64_t seed,
                      struct error *err) {
  size_t heads = (size_t)section_get(own, "heads")->integer;
  struct random_layer_shape shape = {.d_model = model->d_model,
                                     .n_heads = heads,
                                     .n_kv_heads = heads,
                                     .head_dim = (size_t)section_get(own, "head_dim")->integer,
                                     .correlation = CORRELATION};
  model->n_layers = 1;
  model->n_heads = model->n_kv_heads = heads;
  model->head_dim = model->value_dim = shape.head_dim;
  model->score_scale = 1 / sqrt((double)shape.head_dim);
  return random_layer_init(&embeddings->layer, &shape, seed, err);
}

int model_open_embeddings(struct model *model, const struct section *section, uint64_t seed, struct error *err) {
  struct embeddings *embeddings = memory_new(1, sizeof *embeddings, "model", err);
  if (!embeddings) {
    return err->code;
  }
  const struct section *own = section_get(section, "embeddings")->section;
  model->kind = MODEL_EMBEDDINGS;
  model->source = &embeddings->base;
  embeddings->base.operations = (struct source_operations){.piece = embeddings_piece,
                                                           .content = embeddings_content,
                                                           .project = embeddings_project,
                                                           .layer = embeddings_layer,
                                                           .close = embeddings_close};
  embeddings->scale = (float)section_get(own, "scale")->real;
  struct word_vectors read = {0};
  int status = read_file(section_get(own, "file")->text, &read, err);
  embeddings->vectors = read.vectors;
  embeddings->n_ids = read.count;
  model->d_model = read.width;
  if (!status && read.words) {
    embeddings->has_vocabulary = true;
    status = vocabulary_init(&embeddings->vocabulary, read.words, read.count, 0, err);
  }
  status = status ? status : take_layer(model, embeddings, own, seed, err);
  return status ? status
                : tokens_read(section_get(section, "tokens")->section,
                              embeddings->has_vocabulary ? &embeddings->vocabulary : NULL, false, embeddings->n_ids,
                              seed, &model->texts, &model->n_texts, err);
}
