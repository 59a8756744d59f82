/* Stretches of tokens at each length: what their last queries look at, given all tokens and given the last L alone; and
 * the same wholly inside the training length. */
#include "experiments/divergence.h"
#include "experiments/extrapolation.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer stretches are worked on one after the other, so that memory stays that of one. */
enum { SIDE_BY_SIDE = 8192 };

/* The measures by [length, span, head], in the order of their names below. */
enum measure_id {
  TRUNCATION_JSD,
  JSD_TO_TRAINED,
  MASS_BEYOND,
  TAIL_DISTANCE,
  FIRST_TOKEN,
  SPAN_90,
  SPAN_99,
  LOGIT_OUTSIDE,
  LOGIT_EXCESS,
  N_MEASURES
};

static const struct {
  const char *name, *long_name, *units;
} measure_table[N_MEASURES] = {
    {"truncation_jsd", "JSD of the last queries over all keys against the same given only the last L tokens", "nat"},
    {"jsd_to_trained", "JSD of the last queries against the model as trained on its last L tokens", "nat"},
    {"mass_beyond", "attention of the last queries on keys at distance L and more", "1"},
    {"tail_distance", "mean distance under attention, last queries", "tokens"},
    {"first_token_share", "attention of the last queries on the first token (attention sink)", "1"},
    {"effective_span_90", "distance within which 90 % of the last queries' attention lies", "tokens"},
    {"effective_span_99", "distance within which 99 % of the last queries' attention lies", "tokens"},
    {"logit_outside", "share of the last queries' logits outside the range seen at L", "1"},
    {"logit_excess", "how far the last queries' logits leave the range seen at L, in widths of it", "1"},
};

struct lengths {
  const struct extrapolation *e;
  struct experiment_context alone; /* without a pool: stretches are the units of work */
  struct spans *spans;             /* [length] */
  size_t most_spans;
  struct spans inside;                   /* of L tokens */
  size_t t;                              /* the length that is worked on */
  double *by_span[N_MEASURES];           /* [length][span][head] */
  double *inside_jsd;                    /* [length][inside span][head] */
  double *range_by_span;                 /* [inside span][bound][head] */
  double *range;                         /* [bound][head] least and largest logit at L */
  uint8_t *undefined;                    /* [span] of the length worked on */
  uint8_t *defined, *trained, *repeated; /* [length] */
};

static double *place(const struct lengths *l, enum measure_id id, size_t span) {
  return l->by_span[id] + (l->t * l->most_spans + span) * l->e->context->model->n_heads;
}

/* Least distance from row i within which `level` of its weights [n] lies. */
static double effective_span(const float *row, size_t n, size_t i, double level) {
  double inside = (double)row[i];
  size_t d = 0;
  size_t furthest = i > n - 1 - i ? i : n - 1 - i;
  while (inside < level && d < furthest) {
    d++;
    inside += i >= d ? (double)row[i - d] : 0;
    inside += i + d < n ? (double)row[i + d] : 0;
  }
  return (double)d;
}

/* The measures of one head's last rows [queries][n] that need nothing else. */
static void measure_weights(const struct lengths *l, size_t span, size_t head, const float *rows, size_t n,
                            size_t queries) {
  double mass = 0, distance = 0, first = 0, span_90 = 0, span_99 = 0;
  for (size_t r = 0; r < queries; r++) {
    size_t i = n - queries + r;
    const float *row = rows + r * n;
    for (size_t j = 0; j < n; j++) {
      double weight = (double)row[j];
      size_t d = i > j ? i - j : j - i;
      distance += weight * (double)d;
      mass += d >= l->e->train_length ? weight : 0;
    }
    first += (double)row[0];
    span_90 += effective_span(row, n, i, 0.9);
    span_99 += effective_span(row, n, i, 0.99);
  }
  place(l, MASS_BEYOND, span)[head] = mass / (double)queries;
  place(l, TAIL_DISTANCE, span)[head] = distance / (double)queries;
  place(l, FIRST_TOKEN, span)[head] = first / (double)queries;
  place(l, SPAN_90, span)[head] = span_90 / (double)queries;
  place(l, SPAN_99, span)[head] = span_99 / (double)queries;
}

/* How the visible logits of one head [count] lie to the range seen at L. */
static void measure_logits(const struct lengths *l, size_t span, size_t head, const float *logits, size_t count) {
  size_t heads = l->e->context->model->n_heads;
  double low = l->range[head];
  double high = l->range[heads + head];
  size_t visible = 0, outside = 0;
  double furthest = 0;
  for (size_t i = 0; i < count; i++) {
    double logit = (double)logits[i];
    if (isnan(logit)) {
      continue; /* masked */
    }
    visible++;
    outside += logit < low || logit > high;
    double below = low - logit, above = logit - high, off = below > above ? below : above;
    furthest = off > furthest ? off : furthest;
  }
  if (isnan(low) || visible == 0) {
    return;
  }
  place(l, LOGIT_OUTSIDE, span)[head] = (double)outside / (double)visible;
  place(l, LOGIT_EXCESS, span)[head] = high > low ? furthest / (high - low) : NAN;
}

/* out [heads]: divergence of the last `queries` of a's `rows` rows [heads][rows][na] from b [heads][queries][nb]. */
static void compare_tails(const float *a, size_t rows, size_t na, const float *b, size_t nb, size_t queries,
                          size_t heads, double *out) {
  for (size_t head = 0; head < heads; head++) {
    out[head] = divergence_rows(a + (head * rows + rows - queries) * na, na, b + head * queries * nb, nb, queries);
  }
}

/* The last queries against two runs over the last L tokens alone: of the scheme, and of the model as trained. */
static int measure_truncation(const struct lengths *l, size_t span, size_t n, const float *full, size_t queries,
                              struct error *err) {
  const struct extrapolation *e = l->e;
  size_t kept = n < e->train_length ? n : e->train_length;
  const struct span *whole = &l->spans[l->t].items[span];
  struct span last = {.text = whole->text, .first = whole->first + n - kept};
  const struct instance *schemes[] = {e->context->scheme, e->context->trained};
  const enum measure_id ids[] = {TRUNCATION_JSD, JSD_TO_TRAINED};
  size_t heads = e->context->model->n_heads;
  for (size_t i = 0; i < 2; i++) {
    if (i && schemes[i] == schemes[0]) {
      memcpy(place(l, ids[i], span), place(l, ids[0], span), heads * sizeof(double));
      continue;
    }
    if (i == 0 && kept == n) { /* the same tokens at the same positions */
      compare_tails(full, queries, n, full, n, queries, heads, place(l, ids[i], span));
      continue;
    }
    float *cut = schemes[i] ? extrapolation_tail(e, &l->alone, schemes[i], &last, kept, queries, err) : NULL;
    if (cut) {
      compare_tails(full, queries, n, cut, kept, queries, heads, place(l, ids[i], span));
      free(cut);
    } else if (schemes[i] && err->code != ERROR_UNDEFINED) {
      return err->code;
    }
  }
  return 0;
}

static int encode_span(const struct lengths *l, const struct span *span, size_t n, size_t queries,
                       struct encoded *encoded, struct error *err) {
  size_t *index = memory_new(n, sizeof *index, "token index", err);
  if (!index) {
    return err->code;
  }
  for (size_t i = 0; i < n; i++) {
    index[i] = span->first + i;
  }
  struct sequence sequence = {
      .text = span->text, .n = n, .index = index, .without_values = true, .queries_from = n - queries};
  int status = encode_sequence(&l->alone, l->alone.scheme, &sequence, encoded, err);
  free(index);
  return status;
}

/* One stretch of the length worked on. A scheme that is not defined there leaves its mark in l->undefined. */
static int measure_span(void *opaque, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  const struct lengths *l = opaque;
  const struct extrapolation *e = l->e;
  size_t heads = e->context->model->n_heads;
  size_t n = (size_t)e->lengths[l->t];
  size_t queries = extrapolation_queries(e, n, e->train_length);
  struct encoded encoded;
  int status = encode_span(l, &l->spans[l->t].items[unit], n, queries, &encoded, err);
  if (status) {
    l->undefined[unit] = status == ERROR_UNDEFINED;
    return status == ERROR_UNDEFINED ? 0 : status;
  }
  if (unit == 0) {
    l->trained[l->t] =
        instance_sites(e->context->scheme) == 0 || /* nothing to train */
        instance_is_trained(e->context->scheme, n, encoded.mapped, encoded.padding, (double)e->train_length);
  }
  float *weights = memory_new_unset(heads, queries, n, sizeof *weights, "attention weights", err);
  float *logits = weights ? memory_new_unset(heads, queries, n, sizeof *logits, "logits", err) : NULL;
  struct attention_output output = {.weights = weights, .logits = logits};
  status = logits ? attend(&l->alone, l->alone.scheme, &encoded, n - queries, e->causal, &output, err) : (int)err->code;
  encoded_free(&encoded);
  for (size_t head = 0; !status && head < heads; head++) {
    measure_weights(l, unit, head, weights + head * queries * n, n, queries);
    measure_logits(l, unit, head, logits + head * queries * n, queries * n);
  }
  free(logits);
  status = status ? status : measure_truncation(l, unit, n, weights, queries, err);
  free(weights);
  if (status == ERROR_UNDEFINED) {
    l->undefined[unit] = 1;
    return 0;
  }
  return status;
}

/* Work on one stretch; `context` is the struct lengths. */
typedef int (*unit_work)(void *, size_t, unsigned, struct error *);

/* Units side by side, or one after the other with threads within each. */
static int run_units(struct lengths *l, size_t n, size_t count, unit_work unit, struct error *err) {
  l->alone = *l->e->context;
  if (n <= SIDE_BY_SIDE) {
    l->alone.pool = NULL;
    return pool_run(l->e->context->pool, count, unit, l, err);
  }
  int status = 0;
  for (size_t i = 0; !status && i < count; i++) {
    status = unit(l, i, 0, err);
  }
  return status;
}

static int measure_length(struct lengths *l, size_t t, struct error *err) {
  const struct extrapolation *e = l->e;
  size_t heads = e->context->model->n_heads;
  size_t count = l->spans[t].count;
  l->t = t;
  l->repeated[t] = l->spans[t].repeated;
  memset(l->undefined, 0, l->most_spans);
  int status = run_units(l, (size_t)e->lengths[t], count, measure_span, err);
  bool undefined = false;
  for (size_t span = 0; span < count; span++) {
    undefined = undefined || l->undefined[span];
  }
  for (size_t id = 0; undefined && id < N_MEASURES; id++) {
    for (size_t i = 0; i < l->most_spans * heads; i++) {
      place(l, (enum measure_id)id, 0)[i] = NAN;
    }
  }
  l->defined[t] = !undefined;
  l->trained[t] = (uint8_t)(l->trained[t] && !undefined);
  return status;
}

/* One stretch of L tokens, by its last queries: their logits' range, and their divergence from the same given only the
 * last L / r. */
static int measure_inside(void *opaque, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  const struct lengths *l = opaque;
  const struct extrapolation *e = l->e;
  const struct span *span = &l->inside.items[unit];
  size_t heads = e->context->model->n_heads;
  size_t L = e->train_length;
  size_t rows = extrapolation_queries(e, L, L);
  struct encoded encoded;
  int status = encode_span(l, span, L, rows, &encoded, err);
  if (status) {
    return status == ERROR_UNDEFINED ? 0 : status;
  }
  float *weights = memory_new_unset(heads, rows, L, sizeof *weights, "attention weights", err);
  float *logits = weights ? memory_new_unset(heads, rows, L, sizeof *logits, "logits", err) : NULL;
  struct attention_output output = {.weights = weights, .logits = logits};
  status = logits ? attend(&l->alone, l->alone.scheme, &encoded, L - rows, e->causal, &output, err) : (int)err->code;
  encoded_free(&encoded);
  for (size_t head = 0; !status && head < heads; head++) {
    double *low = l->range_by_span + unit * 2 * heads + head;
    double *high = low + heads;
    for (size_t i = 0; i < rows * L; i++) {
      *low = fmin(*low, (double)logits[head * rows * L + i]); /* NaN: masked, or none yet */
      *high = fmax(*high, (double)logits[head * rows * L + i]);
    }
  }
  free(logits);
  for (size_t t = 0; !status && t < e->n_lengths; t++) {
    size_t n = (size_t)e->lengths[t];
    if (n <= L) {
      continue; /* nothing is dropped there */
    }
    size_t kept = extrapolation_kept_inside(e, n);
    size_t queries = extrapolation_queries(e, L, kept);
    struct span last = {.text = span->text, .first = span->first + L - kept};
    float *cut = extrapolation_tail(e, &l->alone, l->alone.scheme, &last, kept, queries, err);
    if (cut) {
      compare_tails(weights, rows, L, cut, kept, queries, heads, l->inside_jsd + (t * l->inside.count + unit) * heads);
      free(cut);
    } else if (err->code != ERROR_UNDEFINED) {
      status = err->code;
    }
  }
  free(weights);
  return status == ERROR_UNDEFINED ? 0 : status;
}

static int measure_all_inside(struct lengths *l, struct error *err) {
  size_t heads = l->e->context->model->n_heads;
  int status = run_units(l, l->e->train_length, l->inside.count, measure_inside, err);
  for (size_t span = 0; span < l->inside.count; span++) {
    for (size_t head = 0; head < heads; head++) {
      const double *own = l->range_by_span + span * 2 * heads;
      l->range[head] = fmin(l->range[head], own[head]);
      l->range[heads + head] = fmax(l->range[heads + head], own[heads + head]);
    }
  }
  return status;
}

/* by_text [text][length][head]: mean over a text's stretches; out [length][head]: mean over the texts with a value. */
static void mean_over_spans(const struct lengths *l, enum measure_id id, double *by_text, double *out) {
  const struct model *model = l->e->context->model;
  size_t heads = model->n_heads;
  size_t inner = l->e->n_lengths * heads;
  for (size_t i = 0; i < inner; i++) {
    size_t t = i / heads;
    double sum_of_texts = 0;
    size_t texts = 0;
    for (size_t text = 0; text < model->n_texts; text++) {
      double sum = 0;
      size_t count = 0;
      for (size_t span = 0; span < l->spans[t].count; span++) {
        double value = l->by_span[id][(t * l->most_spans + span) * heads + i % heads];
        if (l->spans[t].items[span].text == text && !isnan(value)) {
          sum += value;
          count++;
        }
      }
      by_text[text * inner + i] = count ? sum / (double)count : NAN;
      sum_of_texts += count ? sum / (double)count : 0;
      texts += count > 0;
    }
    out[i] = texts ? sum_of_texts / (double)texts : NAN;
  }
}

static void *add(struct record *record, const struct tensor_spec *spec, struct error *err) {
  struct tensor *tensor = record_add(record, spec, err);
  return tensor ? tensor->data : NULL;
}

static uint8_t *add_flag(struct record *record, const char *name, const char *long_name, const struct axis_spec *length,
                         struct error *err) {
  struct tensor_spec spec = {.name = name, .element = ELEMENT_U8, .rank = 1, .axis = {*length}, .long_name = long_name};
  return add(record, &spec, err);
}

struct axes {
  struct axis_spec length, text, span, inside, head;
};

/* One measure's means, and by text. */
static int add_measure(const struct lengths *l, enum measure_id id, const struct axes *axes, struct record *record,
                       struct error *err) {
  char by_text[RECORD_NAME];
  snprintf(by_text, sizeof by_text, "%s_by_text", measure_table[id].name);
  struct tensor_spec mean_spec = {.name = measure_table[id].name,
                                  .element = ELEMENT_F64,
                                  .rank = 2,
                                  .axis = {axes->length, axes->head},
                                  .long_name = measure_table[id].long_name,
                                  .units = measure_table[id].units};
  struct tensor_spec text_spec = {.name = by_text,
                                  .element = ELEMENT_F64,
                                  .rank = 3,
                                  .axis = {axes->text, axes->length, axes->head},
                                  .long_name = measure_table[id].long_name,
                                  .units = measure_table[id].units};
  double *mean_data = add(record, &mean_spec, err);
  double *text_data = mean_data ? add(record, &text_spec, err) : NULL;
  if (!text_data) {
    return err->code;
  }
  mean_over_spans(l, id, text_data, mean_data);
  return 0;
}

/* Which stretches there were: the text and first token of each, -1 where there is none. */
static int add_spans(const struct lengths *l, const struct axes *axes, struct record *record, struct error *err) {
  struct tensor_spec text = {.name = "span_text",
                             .element = ELEMENT_I32,
                             .rank = 2,
                             .axis = {axes->length, axes->span},
                             .long_name = "text a stretch is cut from, -1: there is none"};
  struct tensor_spec first = {.name = "span_first",
                              .element = ELEMENT_I32,
                              .rank = 2,
                              .axis = {axes->length, axes->span},
                              .long_name = "its first token in the text, -1: there is none"};
  struct tensor_spec inside = {.name = "inside_span_text",
                               .element = ELEMENT_I32,
                               .rank = 1,
                               .axis = {axes->inside},
                               .long_name = "text a stretch of L tokens is cut from"};
  struct tensor_spec inside_first = {.name = "inside_span_first",
                                     .element = ELEMENT_I32,
                                     .rank = 1,
                                     .axis = {axes->inside},
                                     .long_name = "its first token in the text"};
  int32_t *texts = add(record, &text, err);
  int32_t *firsts = texts ? add(record, &first, err) : NULL;
  int32_t *inside_texts = firsts ? add(record, &inside, err) : NULL;
  int32_t *inside_firsts = inside_texts ? add(record, &inside_first, err) : NULL;
  if (!inside_firsts) {
    return err->code;
  }
  for (size_t t = 0; t < l->e->n_lengths; t++) {
    for (size_t span = 0; span < l->most_spans; span++) {
      bool there = span < l->spans[t].count;
      texts[t * l->most_spans + span] = there ? (int32_t)l->spans[t].items[span].text : -1;
      firsts[t * l->most_spans + span] = there ? (int32_t)l->spans[t].items[span].first : -1;
    }
  }
  for (size_t span = 0; span < l->inside.count; span++) {
    inside_texts[span] = (int32_t)l->inside.items[span].text;
    inside_firsts[span] = (int32_t)l->inside.items[span].first;
  }
  return 0;
}

/* medians and quantiles [length] over stretches, of the mean over heads: what the verdict compares. */
static int add_judged(const struct lengths *l, const struct axes *axes, struct record *record, struct error *err) {
  size_t heads = l->e->context->model->n_heads;
  size_t most = l->most_spans > l->inside.count ? l->most_spans : l->inside.count;
  struct tensor_spec median_spec = {.name = "truncation_median",
                                    .element = ELEMENT_F64,
                                    .rank = 1,
                                    .axis = {axes->length},
                                    .long_name = "median of truncation_jsd over stretches, mean of heads",
                                    .units = "nat"};
  struct tensor_spec inside_spec = {.name = "truncation_inside",
                                    .element = ELEMENT_F64,
                                    .rank = 1,
                                    .axis = {axes->length},
                                    .long_name = "97.5 % quantile of the same with the same share dropped inside L",
                                    .units = "nat"};
  double *median = add(record, &median_spec, err);
  double *inside = median ? add(record, &inside_spec, err) : NULL;
  double *row = inside ? memory_new(most, sizeof *row, "stretches", err) : NULL;
  if (!row) {
    return err->code;
  }
  for (size_t t = 0; t < l->e->n_lengths; t++) {
    size_t count = 0;
    for (size_t span = 0; span < l->spans[t].count; span++) {
      row[count] = mean(l->by_span[TRUNCATION_JSD] + (t * l->most_spans + span) * heads, heads);
      count += isnan(row[count]) ? 0 : 1;
    }
    median[t] = quantile(row, count, 0.5);
    count = 0;
    for (size_t span = 0; span < l->inside.count; span++) {
      row[count] = mean(l->inside_jsd + (t * l->inside.count + span) * heads, heads);
      count += isnan(row[count]) ? 0 : 1;
    }
    inside[t] = quantile(row, count, 0.975);
  }
  free(row);
  return 0;
}

/* Everything that is stored and filled while measuring; the rest follows from it. */
static int add_tensors(struct lengths *l, const struct axes *axes, struct record *record, struct error *err) {
  struct tensor_spec by_span = {.name = "truncation_by_span",
                                .element = ELEMENT_F64,
                                .rank = 3,
                                .axis = {axes->length, axes->span, axes->head},
                                .long_name = "truncation_jsd of each stretch of tokens",
                                .units = "nat"};
  struct tensor_spec inside = {.name = "truncation_inside_by_span",
                               .element = ELEMENT_F64,
                               .rank = 3,
                               .axis = {axes->length, axes->inside, axes->head},
                               .long_name = "JSD of the last queries of L tokens against the same given the last L L/T",
                               .units = "nat"};
  struct tensor_spec range = {
      .name = "logit_range",
      .element = ELEMENT_F64,
      .rank = 2,
      .axis = {{.name = "bound", .length = 2, .long_name = "bound (0 least, 1 largest)"}, axes->head},
      .long_name = "range of the logits of the last queries of L tokens"};
  l->by_span[TRUNCATION_JSD] = add(record, &by_span, err);
  l->inside_jsd = l->by_span[TRUNCATION_JSD] ? add(record, &inside, err) : NULL;
  l->range = l->inside_jsd ? add(record, &range, err) : NULL;
  l->defined =
      l->range ? add_flag(record, "defined", "1: the scheme gives a value at this length", &axes->length, err) : NULL;
  l->trained =
      l->defined ? add_flag(record, "trained", "1: a value that training could have set", &axes->length, err) : NULL;
  l->repeated =
      l->trained ? add_flag(record, "repeated", "1: the tokens are repeated: no verdict", &axes->length, err) : NULL;
  return l->repeated ? 0 : (int)err->code;
}

static void fill_nan(double *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    values[i] = NAN;
  }
}

/* Room for what is not stored by stretch. */
static int make_room(struct lengths *l, struct error *err) {
  size_t heads = l->e->context->model->n_heads;
  size_t inner = l->most_spans * heads;
  for (size_t id = 0; id < N_MEASURES; id++) {
    if (id == TRUNCATION_JSD) {
      continue;
    }
    l->by_span[id] = memory_new_3d(l->e->n_lengths, inner, 1, sizeof(double), measure_table[id].name, err);
    if (!l->by_span[id]) {
      return err->code;
    }
    fill_nan(l->by_span[id], l->e->n_lengths * inner);
  }
  l->range_by_span = memory_new_3d(l->inside.count, 2 * heads, 1, sizeof(double), "range of logits", err);
  l->undefined = l->range_by_span ? memory_new(l->most_spans, 1, "flags", err) : NULL;
  if (!l->undefined) {
    return err->code;
  }
  fill_nan(l->range_by_span, l->inside.count * 2 * heads);
  return 0;
}

static int cut_texts(struct lengths *l, struct error *err) {
  const struct extrapolation *e = l->e;
  const struct model *model = e->context->model;
  l->spans = memory_new(e->n_lengths, sizeof *l->spans, "stretches of tokens", err);
  int status = l->spans ? 0 : (int)err->code;
  for (size_t t = 0; !status && t < e->n_lengths; t++) {
    status = extrapolation_spans(model, (size_t)e->lengths[t], e->spans, &l->spans[t], err);
    l->most_spans = l->spans[t].count > l->most_spans ? l->spans[t].count : l->most_spans;
  }
  /* A quantile near the top needs more of them than a median; they are short. */
  size_t wanted = e->spans > 1 ? 2 * e->spans : 1;
  return status ? status : extrapolation_spans(model, e->train_length, wanted, &l->inside, err);
}

static int measure_all(struct lengths *l, const struct axes *axes, struct record *record, struct error *err) {
  const struct extrapolation *e = l->e;
  double work = 0;
  for (size_t t = 0; t < e->n_lengths; t++) {
    work += e->lengths[t];
  }
  int status = make_room(l, err);
  status = status ? status : add_tensors(l, axes, record, err);
  status = status ? status : measure_all_inside(l, err);
  double done = 0;
  for (size_t t = 0; !status && t < e->n_lengths; t++) {
    status = measure_length(l, t, err);
    done += e->lengths[t];
    extrapolation_progress(e, 0.05 + 0.35 * done / work);
  }
  for (size_t id = 0; !status && id < N_MEASURES; id++) {
    status = add_measure(l, (enum measure_id)id, axes, record, err);
  }
  status = status ? status : add_judged(l, axes, record, err);
  return status ? status : add_spans(l, axes, record, err);
}

int extrapolation_lengths(const struct extrapolation *e, struct record *record, struct error *err) {
  const struct model *model = e->context->model;
  struct lengths l = {.e = e};
  int status = cut_texts(&l, err);
  if (!status) {
    struct axes axes = {.length = {.name = "length",
                                   .length = e->n_lengths,
                                   .values = e->lengths,
                                   .log_values = true,
                                   .long_name = "sequence length",
                                   .units = "tokens"},
                        .text = {.name = "text", .length = model->n_texts},
                        .span = {.name = "span", .length = l.most_spans},
                        .inside = {.name = "inside_span", .length = l.inside.count},
                        .head = axis_head(model)};
    status = measure_all(&l, &axes, record, err);
  }
  for (size_t id = 0; id < N_MEASURES; id++) {
    if (id != TRUNCATION_JSD) {
      free(l.by_span[id]);
    }
  }
  for (size_t t = 0; l.spans && t < e->n_lengths; t++) {
    free(l.spans[t].items);
  }
  free(l.spans);
  free(l.inside.items);
  free(l.range_by_span);
  free(l.undefined);
  return status;
}
