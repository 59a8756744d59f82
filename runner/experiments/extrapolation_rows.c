/* How attention spreads over the rows of each text, read from its start: the second half of them and each quarter. */
#include "experiments/extrapolation.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUARTERS = 4 };

enum measure_id { ENTROPY, DISTANCE, FIRST, N_MEASURES };

static const struct {
  const char *name, *long_name, *units;
  bool of_half; /* its mean over the second half of the rows is stored too */
} measure_table[N_MEASURES] = {
    {"normalised_entropy", "entropy over ln of the visible keys", "1", true},
    {"mean_distance", "mean distance under attention", "tokens", true},
    {"first_token_share", "attention on the first token (attention sink)", "1", false},
};

struct rows {
  const struct extrapolation *e;
  double *of_half[N_MEASURES];    /* [length][head] */
  double *by_text[N_MEASURES];    /* [text][length][head] of the half */
  double *by_quarter[N_MEASURES]; /* [length][quarter][head] */
  float *mass_by_distance;        /* [length][distance] */
  size_t longest;
};

/* Mean over rows first .. end - 1 of one head. */
static double mean_of_rows(const struct rows *r, enum measure_id id, const double *const gathered[N_MEASURES], size_t n,
                           size_t head, size_t first, size_t end) {
  double sum = 0;
  for (size_t i = first; i < end; i++) {
    double visible = r->e->causal ? (double)i + 1 : (double)n;
    double value = gathered[id][head * n + i];
    sum += id != ENTROPY ? value : visible > 1 ? value / log(visible) : NAN;
  }
  return end > first ? sum / (double)(end - first) : NAN;
}

/* Add one text's share to the means. */
static void take_in(const struct rows *r, const double *const gathered[N_MEASURES], const double *mass, size_t text,
                    size_t t, size_t n, size_t n_texts) {
  size_t heads = r->e->context->model->n_heads;
  for (size_t id = 0; id < N_MEASURES; id++) {
    for (size_t head = 0; head < heads; head++) {
      if (measure_table[id].of_half) {
        double half = mean_of_rows(r, (enum measure_id)id, gathered, n, head, n / 2, n);
        r->by_text[id][(text * r->e->n_lengths + t) * heads + head] = half;
        r->of_half[id][t * heads + head] += half / (double)n_texts;
      }
      for (size_t quarter = 0; quarter < QUARTERS; quarter++) {
        r->by_quarter[id][(t * QUARTERS + quarter) * heads + head] +=
            mean_of_rows(r, (enum measure_id)id, gathered, n, head, quarter * n / QUARTERS,
                         (quarter + 1) * n / QUARTERS) /
            (double)n_texts;
      }
    }
  }
  float *row = r->mass_by_distance + t * r->longest;
  for (size_t head = 0; head < heads; head++) {
    for (size_t d = 0; d < n; d++) {
      row[d] += (float)(mass[head * n + d] / (double)(heads * n_texts));
    }
  }
}

static int measure_text(const struct rows *r, size_t text, size_t t, size_t n_texts, struct error *err) {
  const struct extrapolation *e = r->e;
  size_t heads = e->context->model->n_heads;
  size_t n = (size_t)e->lengths[t];
  struct sequence sequence = {.text = text, .n = n, .without_values = true};
  struct encoded encoded;
  int status = encode_sequence(e->context, e->context->scheme, &sequence, &encoded, err);
  if (status) {
    return status;
  }
  double *entropy = memory_new_3d(heads, n, 1, sizeof *entropy, "entropy", err);
  double *distance = entropy ? memory_new_3d(heads, n, 1, sizeof *distance, "distance", err) : NULL;
  double *first = distance ? memory_new_3d(heads, n, 1, sizeof *first, "first token", err) : NULL;
  double *mass = first ? memory_new_3d(heads, n, 1, sizeof *mass, "mass by distance", err) : NULL;
  struct attention_output output = {.entropy = entropy,
                                    .mean_distance = distance,
                                    .mass_on_first = first,
                                    .mass_by_distance = mass,
                                    .mass_first_row = n / 2};
  status = mass ? attend(e->context, e->context->scheme, &encoded, 0, e->causal, &output, err) : (int)err->code;
  if (!status) {
    const double *const gathered[N_MEASURES] = {entropy, distance, first};
    take_in(r, gathered, mass, text, t, n, n_texts);
  }
  encoded_free(&encoded);
  free(entropy);
  free(distance);
  free(first);
  free(mass);
  return status;
}

/* What is summed up at a length starts at 0, or is not defined. */
static void start_length(const struct rows *r, size_t t, double value) {
  size_t heads = r->e->context->model->n_heads;
  for (size_t id = 0; id < N_MEASURES; id++) {
    for (size_t head = 0; head < heads; head++) {
      if (measure_table[id].of_half) {
        r->of_half[id][t * heads + head] = value;
      }
      for (size_t quarter = 0; quarter < QUARTERS; quarter++) {
        r->by_quarter[id][(t * QUARTERS + quarter) * heads + head] = value;
      }
    }
  }
  for (size_t d = 0; d < (size_t)r->e->lengths[t]; d++) {
    r->mass_by_distance[t * r->longest + d] = (float)value;
  }
}

static int measure_length(const struct rows *r, size_t t, struct error *err) {
  const struct extrapolation *e = r->e;
  struct spans texts; /* one stretch of each text that is long enough, from its start */
  int status = extrapolation_spans(e->context->model, (size_t)e->lengths[t], 1, &texts, err);
  start_length(r, t, 0);
  for (size_t i = 0; !status && i < texts.count; i++) {
    status = measure_text(r, texts.items[i].text, t, texts.count, err);
  }
  free(texts.items);
  if (status == ERROR_UNDEFINED) {
    start_length(r, t, NAN);
    return 0;
  }
  return status;
}

static void *add(struct record *record, const struct tensor_spec *spec, struct error *err) {
  struct tensor *tensor = record_add(record, spec, err);
  return tensor ? tensor->data : NULL;
}

static int add_measure(struct rows *r, enum measure_id id, const struct axis_spec *length, struct record *record,
                       struct error *err) {
  const struct model *model = r->e->context->model;
  char name[RECORD_NAME];
  char long_name[160];
  snprintf(long_name, sizeof long_name, "%s, second half of the rows", measure_table[id].long_name);
  struct tensor_spec spec = {.name = measure_table[id].name,
                             .element = ELEMENT_F64,
                             .rank = 2,
                             .axis = {*length, axis_head(model)},
                             .long_name = long_name,
                             .units = measure_table[id].units};
  if (measure_table[id].of_half) {
    r->of_half[id] = add(record, &spec, err);
    snprintf(name, sizeof name, "%s_by_text", measure_table[id].name);
    struct tensor_spec by_text = spec;
    by_text.name = name;
    by_text.rank = 3;
    by_text.axis[0] = (struct axis_spec){.name = "text", .length = model->n_texts};
    by_text.axis[1] = *length;
    by_text.axis[2] = axis_head(model);
    r->by_text[id] = r->of_half[id] ? add(record, &by_text, err) : NULL;
    if (!r->by_text[id]) {
      return err->code;
    }
  }
  snprintf(name, sizeof name, "%s_by_quarter", measure_table[id].name);
  snprintf(long_name, sizeof long_name, "%s, by quarter of the rows", measure_table[id].long_name);
  spec.name = name;
  spec.rank = 3;
  spec.axis[1] = (struct axis_spec){.name = "quarter", .length = QUARTERS, .long_name = "quarter of the rows"};
  spec.axis[2] = axis_head(model);
  r->by_quarter[id] = add(record, &spec, err);
  return r->by_quarter[id] ? 0 : (int)err->code;
}

static int add_tensors(struct rows *r, struct record *record, struct error *err) {
  struct axis_spec length = {.name = "length",
                             .length = r->e->n_lengths,
                             .values = r->e->lengths,
                             .log_values = true,
                             .long_name = "sequence length",
                             .units = "tokens"};
  int status = 0;
  for (size_t id = 0; !status && id < N_MEASURES; id++) {
    status = add_measure(r, (enum measure_id)id, &length, record, err);
  }
  struct tensor_spec mass = {.name = "mass_by_distance",
                             .element = ELEMENT_F32,
                             .rank = 2,
                             .axis = {length, {.name = "distance", .length = r->longest}},
                             .long_name = "attention by distance, second half of the rows, mean of heads"};
  r->mass_by_distance = status ? NULL : add(record, &mass, err);
  return r->mass_by_distance ? 0 : (int)err->code;
}

int extrapolation_rows(const struct extrapolation *e, struct record *record, struct error *err) {
  struct rows r = {.e = e};
  double work = 0;
  for (size_t t = 0; t < e->n_lengths; t++) {
    size_t n = (size_t)e->lengths[t];
    r.longest = n > r.longest ? n : r.longest;
    work += e->lengths[t] * e->lengths[t];
  }
  int status = add_tensors(&r, record, err);
  double done = 0;
  for (size_t t = 0; !status && t < e->n_lengths; t++) {
    status = measure_length(&r, t, err);
    done += e->lengths[t] * e->lengths[t];
    extrapolation_progress(e, 0.4 + 0.2 * done / work);
  }
  return status;
}
