/* Queries, keys and values that someone's own model gave, before positions were applied. */
#include "base/memory.h"
#include "input/hdf5_reader.h"
#include "input/npy.h"
#include "input/source.h"
#include "input/tensor_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct given {
  struct model_source base;
  float *q, *k, *v; /* [heads][tokens][width] of the layer; v may be NULL */
  size_t tokens;
  size_t *first; /* [texts] where each begins */
};

/* One of q, k and v: the layer's part, and the whole tensor's shape. */
struct part {
  const char *key;
  char *from;
  size_t layers, heads, tokens, width;
  float *data;
};

static void gather(const float *in, size_t heads, size_t tokens, size_t width, size_t first, const size_t *index,
                   size_t n, float *out) {
  for (size_t head = 0; head < heads; head++) {
    for (size_t i = 0; i < n; i++) {
      memcpy(out + (head * n + i) * width, in + (head * tokens + first + index[i]) * width, width * sizeof *out);
    }
  }
}

static int given_qk(const struct model *model, size_t text, const size_t *index, size_t n, float *q, float *k, float *v,
                    struct error *err) {
  (void)err;
  const struct given *given = (const struct given *)model->source;
  if (q) {
    gather(given->q, model->n_heads, given->tokens, model->head_dim, given->first[text], index, n, q);
  }
  if (k) {
    gather(given->k, model->n_kv_heads, given->tokens, model->head_dim, given->first[text], index, n, k);
  }
  if (v && given->v) {
    gather(given->v, model->n_kv_heads, given->tokens, model->value_dim, given->first[text], index, n, v);
  }
  return 0;
}

static void given_close(struct model_source *source) {
  struct given *given = (struct given *)source;
  free(given->q);
  free(given->k);
  free(given->v);
  free(given->first);
  free(given);
}

static int read_part(const struct section *own, size_t layer, struct part *part, struct error *err) {
  struct tensor_shape shape;
  int status = tensor_shape_of(section_get(own, part->key), &shape, &part->from, err);
  if (status) {
    return status;
  }
  if (shape.rank != 3 && shape.rank != 4) {
    return error_set(err, ERROR_FILE_CONTENT,
                     "%s: model.qk.%s has %u axes; needed are [layer, head, token, width] or [head, token, width]",
                     part->from, part->key, shape.rank);
  }
  const size_t *dim = shape.dim + (shape.rank == 4);
  part->layers = shape.rank == 4 ? shape.dim[0] : 1;
  part->heads = dim[0];
  part->tokens = dim[1];
  part->width = dim[2];
  if (layer >= part->layers) {
    return error_set(err, ERROR_JOB_SETUP, "model.layer: %zu; model.qk.%s (%s) has %zu layer%s", layer, part->key,
                     part->from, part->layers, part->layers == 1 ? "" : "s");
  }
  return shape.rank == 4 ? tensor_floats_of(section_get(own, part->key), &shape, layer, &part->data, err)
                         : tensor_floats(section_get(own, part->key), &shape, &part->data, err);
}

/* Layers, tokens and widths of `part` must be those of `other`. */
static int check_alike(const struct part *part, const struct part *other, bool same_width, struct error *err) {
  static const char *const names[] = {"layers", "tokens", "numbers per row"};
  size_t has[] = {part->layers, part->tokens, part->width}, needed[] = {other->layers, other->tokens, other->width};
  for (size_t i = 0; i < (same_width ? 3u : 2u); i++) {
    if (has[i] != needed[i]) {
      return error_set(err, ERROR_FILE_CONTENT, "model.qk: %s (%s) and %s (%s) differ in %s: %zu and %zu", part->key,
                       part->from, other->key, other->from, names[i], has[i], needed[i]);
    }
  }
  return 0;
}

static int check_parts(const struct part *q, const struct part *k, const struct part *v, struct error *err) {
  int status = check_alike(k, q, true, err);
  if (!status && q->heads % k->heads) {
    status = error_set(err, ERROR_FILE_CONTENT,
                       "model.qk: q (%s) has %zu heads, which is no multiple of the %zu heads of k (%s)", q->from,
                       q->heads, k->heads, k->from);
  }
  if (!status && v->data) {
    status = check_alike(v, q, false, err);
    if (!status && v->heads != k->heads) {
      status = error_set(err, ERROR_FILE_CONTENT, "model.qk: v (%s) has %zu heads, k (%s) has %zu", v->from, v->heads,
                         k->from, k->heads);
    }
  }
  return status;
}

static void take_numbers(struct model *model, const struct section *own, const struct part *q, const struct part *k,
                         const struct part *v) {
  const struct key_value *scale = section_get(own, "scale");
  model->n_layers = q->layers;
  model->n_heads = q->heads;
  model->n_kv_heads = k->heads;
  model->head_dim = q->width;
  model->value_dim = v->data ? v->width : 0;
  model->score_scale = scale->given && !scale->is_auto ? scale->real : 1 / sqrt((double)q->width);
  model->scale_is_trained = true;
}

/* The texts that stand one behind the other in the tensors. */
static int add_texts(struct model *model, const struct key_value *texts, size_t tokens, struct error *err) {
  struct given *given = (struct given *)model->source;
  bool one = !texts->given || texts->is_auto;
  size_t count = one ? 1 : texts->count;
  size_t sum = 0;
  given->first = memory_new(count, sizeof *given->first, "texts", err);
  model->texts = given->first ? memory_new(count, sizeof *model->texts, "texts", err) : NULL;
  if (!model->texts) {
    return err->code;
  }
  model->n_texts = count;
  for (size_t i = 0; i < count; i++) {
    size_t own = one ? tokens : (size_t)texts->list[i];
    model->texts[i] = (struct text_tokens){.name = memory_copy_text("q and k", err), .count = own};
    if (!model->texts[i].name) {
      return err->code;
    }
    given->first[i] = sum;
    sum += own;
  }
  return sum == tokens
             ? 0
             : error_set(err, ERROR_JOB_SETUP, "model.qk.texts: %zu tokens in all, but q and k have %zu", sum, tokens);
}

int model_open_qk(struct model *model, const struct section *section, struct error *err) {
  struct given *given = memory_new(1, sizeof *given, "model", err);
  if (!given) {
    return err->code;
  }
  const struct section *own = section_get(section, "qk")->section;
  struct part q = {.key = "q"}, k = {.key = "k"}, v = {.key = "v"};
  model->kind = MODEL_QK;
  model->layer = (size_t)section_get(section, "layer")->integer;
  model->source = &given->base;
  given->base.operations = (struct source_operations){.given_qk = given_qk, .close = given_close};
  int status = read_part(own, model->layer, &q, err);
  status = status ? status : read_part(own, model->layer, &k, err);
  if (!status && section_get(own, "v")->given) {
    status = read_part(own, model->layer, &v, err);
  }
  status = status ? status : check_parts(&q, &k, &v, err);
  given->q = q.data;
  given->k = k.data;
  given->v = v.data;
  given->tokens = q.tokens;
  if (!status) {
    take_numbers(model, own, &q, &k, &v);
    status = model_check_scores(model, "model.qk", model_largest_norm(q.data, q.heads * q.tokens, q.width),
                                model_largest_norm(k.data, k.heads * k.tokens, k.width), err);
  }
  if (!status) {
    status = add_texts(model, section_get(own, "texts"), q.tokens, err);
  }
  free(q.from);
  free(k.from);
  free(v.from);
  return status;
}
