/* The whole sequence at each length: what the last queries look at, and how attention spreads. */
#include "experiments/divergence.h"
#include "experiments/extrapolation.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The measures by [text, length, head], in the order of their names below. */
enum measure_id {
  TRUNCATION_JSD,
  JSD_TO_TRAINED,
  MASS_BEYOND,
  TAIL_DISTANCE,
  NORMALISED_ENTROPY,
  MEAN_DISTANCE,
  FIRST_TOKEN,
  N_MEASURES
};

static const struct {
  const char *name, *long_name, *units;
} measure_table[N_MEASURES] = {
    {"truncation_jsd", "JSD of the last queries over all keys against the same given only the last L tokens", "nat"},
    {"jsd_to_trained", "JSD of the last queries against the model as trained on its last L tokens", "nat"},
    {"mass_beyond", "attention of the last queries on keys at distance L and more", "1"},
    {"tail_distance", "mean distance under attention, last queries", "tokens"},
    {"normalised_entropy", "entropy over ln of the visible keys, second half of the rows", "1"},
    {"mean_distance", "mean distance under attention, second half of the rows", "tokens"},
    {"first_token_share", "attention of the last queries on the first token", "1"},
};

struct lengths {
  const struct extrapolation *e;
  double *by_text[N_MEASURES]; /* [text][length][head] */
  double *mean[N_MEASURES];    /* [length][head] */
  float *mass_by_distance;     /* [length][distance] */
  size_t longest;
  uint8_t *defined, *trained, *repeated; /* [length] */
};

/* Attention of the last `queries` rows of tokens first .. first + n - 1 at positions 0 ...: [heads][queries][n]. */
static float *tail_weights(const struct extrapolation *e, const struct instance *scheme, size_t text, size_t first,
                           size_t n, size_t queries, struct error *err) {
  size_t *index = memory_new(n, sizeof *index, "token index", err);
  if (!index) {
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    index[i] = first + i;
  }
  struct sequence sequence = {.text = text, .n = n, .index = index};
  float *weights = attention_weights(e->context, scheme, &sequence, n - queries, e->causal, err);
  free(index);
  return weights;
}

/* out [heads]: divergence of a [heads][queries][n] from b [heads][queries][kept]. */
static void compare_tails(const float *a, size_t n, const float *b, size_t kept, size_t queries, size_t heads,
                          double *out) {
  for (size_t head = 0; head < heads; head++) {
    out[head] = divergence_rows(a + head * queries * n, n, b + head * queries * kept, kept, queries);
  }
}

/* mass_beyond, tail_distance and first_token_share of one head's rows [queries][n]. */
static void measure_tail(const float *rows, size_t n, size_t queries, size_t beyond, double *mass, double *distance,
                         double *first) {
  *mass = *distance = *first = 0;
  for (size_t r = 0; r < queries; r++) {
    size_t i = n - queries + r;
    for (size_t j = 0; j < n; j++) {
      double weight = (double)rows[r * n + j];
      size_t d = i > j ? i - j : j - i;
      *distance += weight * (double)d;
      *mass += d >= beyond ? weight : 0;
    }
    *first += (double)rows[r * n];
  }
  *mass /= (double)queries;
  *distance /= (double)queries;
  *first /= (double)queries;
}

static double *place(const struct lengths *l, enum measure_id id, size_t text, size_t length_index) {
  size_t heads = l->e->context->model->n_heads;
  return l->by_text[id] + (text * l->e->n_lengths + length_index) * heads;
}

/* The last queries against the two truncated runs. */
static int measure_truncation(const struct lengths *l, size_t text, size_t t, size_t n, const float *full,
                              size_t queries, struct error *err) {
  const struct extrapolation *e = l->e;
  size_t heads = e->context->model->n_heads;
  size_t kept = n < e->train_length ? n : e->train_length;
  float *own = tail_weights(e, e->context->scheme, text, n - kept, kept, queries, err);
  if (own) {
    compare_tails(full, n, own, kept, queries, heads, place(l, TRUNCATION_JSD, text, t));
    free(own);
  } else if (err->code != ERROR_UNDEFINED) {
    return err->code;
  }
  if (!e->context->trained) {
    return 0;
  }
  float *trained = tail_weights(e, e->context->trained, text, n - kept, kept, queries, err);
  if (trained) {
    compare_tails(full, n, trained, kept, queries, heads, place(l, JSD_TO_TRAINED, text, t));
    free(trained);
    return 0;
  }
  return err->code == ERROR_UNDEFINED ? 0 : (int)err->code;
}

/* Entropy, distances and the mass by distance of the second half of the rows. */
static int measure_spread(const struct lengths *l, const struct encoded *encoded, size_t text, size_t t, size_t n_texts,
                          struct error *err) {
  const struct extrapolation *e = l->e;
  size_t n = encoded->n;
  size_t heads = encoded->n_heads;
  size_t first = n / 2;
  double *entropy = memory_new_3d(heads, n, 1, sizeof *entropy, "entropy", err);
  double *distance = entropy ? memory_new_3d(heads, n, 1, sizeof *distance, "distance", err) : NULL;
  double *mass = distance ? memory_new_3d(heads, n, 1, sizeof *mass, "mass by distance", err) : NULL;
  struct attention_output output = {
      .entropy = entropy, .mean_distance = distance, .mass_by_distance = mass, .mass_first_row = first};
  int status = mass ? attend(e->context, e->context->scheme, encoded, 0, e->causal, &output, err) : (int)err->code;
  for (size_t head = 0; !status && head < heads; head++) {
    double sum_entropy = 0;
    double sum_distance = 0;
    for (size_t i = first; i < n; i++) {
      double visible = e->causal ? (double)i + 1 : (double)n;
      sum_entropy += visible > 1 ? entropy[head * n + i] / log(visible) : NAN;
      sum_distance += distance[head * n + i];
    }
    place(l, NORMALISED_ENTROPY, text, t)[head] = sum_entropy / (double)(n - first);
    place(l, MEAN_DISTANCE, text, t)[head] = sum_distance / (double)(n - first);
    float *row = l->mass_by_distance + t * l->longest;
    for (size_t d = 0; d < n; d++) {
      row[d] += (float)(mass[head * n + d] / (double)(heads * n_texts));
    }
  }
  free(entropy);
  free(distance);
  free(mass);
  return status;
}

static int measure_text(const struct lengths *l, size_t text, size_t t, size_t n, size_t n_texts, struct error *err) {
  const struct extrapolation *e = l->e;
  size_t heads = e->context->model->n_heads;
  size_t queries = e->queries < n ? e->queries : n;
  queries = queries < e->train_length ? queries : e->train_length;
  struct sequence sequence = {.text = text, .n = n, .without_values = true};
  struct encoded encoded;
  int status = encode_sequence(e->context, e->context->scheme, &sequence, &encoded, err);
  if (status) {
    return status;
  }
  l->trained[t] = instance_sites(e->context->scheme) == 0 || /* nothing to train */
                  instance_is_trained(e->context->scheme, n, encoded.mapped, encoded.padding, (double)e->train_length);
  float *full = memory_new_3d(heads, queries, n, sizeof *full, "attention weights", err);
  struct attention_output output = {.weights = full};
  status =
      full ? attend(e->context, e->context->scheme, &encoded, n - queries, e->causal, &output, err) : (int)err->code;
  for (size_t head = 0; !status && head < heads; head++) {
    measure_tail(full + head * queries * n, n, queries, e->train_length, &place(l, MASS_BEYOND, text, t)[head],
                 &place(l, TAIL_DISTANCE, text, t)[head], &place(l, FIRST_TOKEN, text, t)[head]);
  }
  if (!status) {
    status = measure_truncation(l, text, t, n, full, queries, err);
  }
  if (!status) {
    status = measure_spread(l, &encoded, text, t, n_texts, err);
  }
  free(full);
  encoded_free(&encoded);
  return status;
}

/* Which texts are used at a length: those that are long enough; all, repeated, where none is. */
static size_t usable_texts(const struct model *model, size_t n, bool *repeated) {
  size_t enough = 0;
  for (size_t text = 0; text < model->n_texts; text++) {
    enough += (size_t)(model->endless || model->texts[text].count >= n);
  }
  *repeated = enough == 0;
  return enough ? enough : model->n_texts;
}

static int measure_length(const struct lengths *l, size_t t, struct error *err) {
  const struct extrapolation *e = l->e;
  const struct model *model = e->context->model;
  size_t n = (size_t)e->lengths[t];
  bool repeated;
  size_t used = usable_texts(model, n, &repeated);
  l->repeated[t] = repeated;
  for (size_t d = 0; d < n; d++) {
    l->mass_by_distance[t * l->longest + d] = 0;
  }
  for (size_t text = 0; text < model->n_texts; text++) {
    if (!repeated && !model->endless && model->texts[text].count < n) {
      continue;
    }
    int status = measure_text(l, text, t, n, used, err);
    if (status == ERROR_UNDEFINED) {
      for (size_t d = 0; d < n; d++) {
        l->mass_by_distance[t * l->longest + d] = NAN;
      }
      return 0;
    }
    if (status) {
      return status;
    }
  }
  l->defined[t] = 1;
  return 0;
}

/* Mean over the texts that have a value. */
static void mean_over_texts(const struct lengths *l) {
  size_t inner = l->e->n_lengths * l->e->context->model->n_heads;
  for (size_t id = 0; id < N_MEASURES; id++) {
    for (size_t i = 0; i < inner; i++) {
      double sum = 0;
      size_t count = 0;
      for (size_t text = 0; text < l->e->context->model->n_texts; text++) {
        double value = l->by_text[id][text * inner + i];
        sum += isnan(value) ? 0 : value;
        count += (size_t)!isnan(value);
      }
      l->mean[id][i] = count ? sum / (double)count : NAN;
    }
  }
}

static uint8_t *add_flag(struct record *record, const char *name, const char *long_name, const struct axis_spec *length,
                         struct error *err) {
  struct tensor *tensor = record_add(
      record,
      &(struct tensor_spec){.name = name, .element = ELEMENT_U8, .rank = 1, .axis = {*length}, .long_name = long_name},
      err);
  return tensor ? tensor->data : NULL;
}

static int add_tensors(struct lengths *l, struct record *record, struct error *err) {
  const struct model *model = l->e->context->model;
  struct axis_spec length = {.name = "length",
                             .length = l->e->n_lengths,
                             .values = l->e->lengths,
                             .log_values = true,
                             .long_name = "sequence length",
                             .units = "tokens"};
  struct axis_spec text = {.name = "text", .length = model->n_texts};
  for (size_t id = 0; id < N_MEASURES; id++) {
    char by_text[RECORD_NAME];
    snprintf(by_text, sizeof by_text, "%s_by_text", measure_table[id].name);
    struct tensor_spec spec = {.name = measure_table[id].name,
                               .element = ELEMENT_F64,
                               .rank = 2,
                               .axis = {length, axis_head(model)},
                               .long_name = measure_table[id].long_name,
                               .units = measure_table[id].units};
    struct tensor *mean_tensor = record_add(record, &spec, err);
    l->mean[id] = mean_tensor ? mean_tensor->data : NULL;
    spec = (struct tensor_spec){.name = by_text,
                                .element = ELEMENT_F64,
                                .rank = 3,
                                .axis = {text, length, axis_head(model)},
                                .long_name = measure_table[id].long_name,
                                .units = measure_table[id].units};
    struct tensor *tensor = mean_tensor ? record_add(record, &spec, err) : NULL;
    l->by_text[id] = tensor ? tensor->data : NULL;
    if (!tensor) {
      return err->code;
    }
  }
  struct tensor *mass = record_add(record,
                                   &(struct tensor_spec){.name = "mass_by_distance",
                                                         .element = ELEMENT_F32,
                                                         .rank = 2,
                                                         .axis = {length, {.name = "distance", .length = l->longest}},
                                                         .long_name = "attention by distance, second half of the rows, "
                                                                      "mean of heads"},
                                   err);
  l->mass_by_distance = mass ? mass->data : NULL;
  l->defined = mass ? add_flag(record, "defined", "1: the scheme gives a value at this length", &length, err) : NULL;
  l->trained = l->defined ? add_flag(record, "trained", "1: a value that training could have set", &length, err) : NULL;
  l->repeated =
      l->trained ? add_flag(record, "repeated", "1: the tokens are repeated: no verdict", &length, err) : NULL;
  return l->repeated ? 0 : (int)err->code;
}

int extrapolation_lengths(const struct extrapolation *e, struct record *record, struct error *err) {
  struct lengths l = {.e = e};
  double work = 0;
  for (size_t t = 0; t < e->n_lengths; t++) {
    size_t n = (size_t)e->lengths[t];
    l.longest = n > l.longest ? n : l.longest;
    work += e->lengths[t] * e->lengths[t];
  }
  int status = add_tensors(&l, record, err);
  double done = 0;
  for (size_t t = 0; !status && t < e->n_lengths; t++) {
    status = measure_length(&l, t, err);
    done += e->lengths[t] * e->lengths[t];
    if (e->context->progress) {
      e->context->progress(e->context->progress_context, 0.5 * done / work);
    }
  }
  if (!status) {
    mean_over_texts(&l);
  }
  return status;
}
