/* A picture: the attention of one short window of tokens inside the training length, straddling its end, just past it,
 * and far out. */
#include "experiments/divergence.h"
#include "experiments/extrapolation.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 4, TOKENS = 16 };

static const char place_names[] = "inside straddling just_past four_L";

/* Tokens that are shown: few enough to be read, and no more than L holds. */
static size_t tokens_shown(const struct extrapolation *e) {
  const struct model *model = e->context->model;
  size_t n = e->train_length < TOKENS ? e->train_length : TOKENS;
  return model->endless || model->texts[0].count >= n ? n : model->texts[0].count;
}

/* The pieces of the vocabulary, one a line; nothing where the tokens have no names. */
static int name_tokens(const struct model *model, size_t n, struct tensor *tensor, struct error *err) {
  const int32_t *ids = model->texts[0].ids;
  struct text text = {0};
  bool named = false;
  for (size_t i = 0; ids && i < n; i++) {
    const char *piece = model_piece(model, ids[i]);
    named = named || *piece;
    text_printf(&text, "%s%s", i ? "\n" : "", piece);
  }
  char *joined = text_take(&text, err);
  int status = !joined ? (int)err->code : named ? attributes_set_text(&tensor->attributes, "tokens", joined, err) : 0;
  free(joined);
  return status;
}

static float *weights_at(const struct extrapolation *e, size_t n, double offset, struct error *err) {
  struct sequence sequence = {.text = 0, .n = n, .offset = offset};
  return attention_weights(e->context, e->context->scheme, &sequence, 0, e->causal, err);
}

/* Copy what is defined, and how far it is from the same tokens at position 0. */
static int measure_place(const struct extrapolation *e, size_t n, double offset, const float *at_start, float *kept,
                         double *jsd, struct error *err) {
  size_t heads = e->context->model->n_heads;
  float *weights = weights_at(e, n, offset, err);
  if (!weights) {
    return err->code == ERROR_UNDEFINED ? 0 : (int)err->code;
  }
  memcpy(kept, weights, heads * n * n * sizeof *kept);
  for (size_t head = 0; at_start && head < heads; head++) {
    jsd[head] = divergence_rows(at_start + head * n * n, n, weights + head * n * n, n, n);
  }
  free(weights);
  return 0;
}

int extrapolation_moved(const struct extrapolation *e, struct record *record, struct error *err) {
  const struct model *model = e->context->model;
  size_t n = tokens_shown(e);
  double L = (double)e->train_length;
  const double offsets[PLACES] = {floor((L - (double)n) / 2), L - ceil((double)n / 2), L, 4 * L};
  struct axis_spec place = {
      .name = "place", .length = PLACES, .long_name = "place (0 inside, 1 straddling L, 2 just past, 3 at 4 L)"};
  struct axis_spec query = {.name = "window_query", .length = n};
  struct axis_spec key = {.name = "window_key", .length = n};
  struct tensor_spec jsd_spec = {.name = "window_attention_jsd",
                                 .element = ELEMENT_F64,
                                 .rank = 2,
                                 .axis = {place, axis_head(model)},
                                 .long_name = "JSD of window_attention against the same tokens at positions 0 ...",
                                 .units = "nat"};
  struct tensor_spec spec = {.name = "window_attention",
                             .element = ELEMENT_F32,
                             .rank = 4,
                             .axis = {place, axis_head(model), query, key},
                             .long_name = "attention of the first tokens of the first text, moved along",
                             .image = true};
  struct tensor *jsd_tensor = record_add(record, &jsd_spec, err);
  double *jsd = jsd_tensor ? jsd_tensor->data : NULL;
  struct tensor *tensor = jsd ? record_add(record, &spec, err) : NULL;
  if (!tensor) {
    return err->code;
  }
  float *kept = tensor->data;
  int status = attributes_set_text(&tensor->attributes, "place_names", place_names, err);
  status = status ? status : attributes_set_reals(&tensor->attributes, "place_offsets", offsets, PLACES, err);
  status = status ? status : name_tokens(model, n, tensor, err);
  float *at_start = status ? NULL : weights_at(e, n, 0, err);
  if (!status && !at_start && err->code != ERROR_UNDEFINED) {
    status = err->code;
  }
  for (size_t i = 0; !status && i < PLACES; i++) {
    status =
        measure_place(e, n, offsets[i], at_start, kept + i * model->n_heads * n * n, jsd + i * model->n_heads, err);
  }
  free(at_start);
  return status;
}
