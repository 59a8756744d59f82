#include "train/evaluate.h"

#include "attention/attention.h"
#include "base/blas.h"
#include "base/memory.h"
#include "train/kernels.h"
#include "train/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the feed-forward that are worked on at a time: their hidden layer stays in the cache. */
enum { ROWS = 64 };

enum { SUMMARIES = 3 };

/* Memory of one thread. */
struct space {
  float *x, *y;              /* [T][d] */
  float *q, *k, *v;          /* [T][d] as projected */
  float *by_head[3];         /* [heads][T][max(width, head_dim)] */
  float *context;            /* [heads][T][head_dim] */
  float *wide;               /* [ROWS][d_ff] */
  float *logits;             /* [ROWS][vocab] */
  double *by_row[SUMMARIES]; /* [heads][T] */
};

struct run {
  const struct evaluation *e;
  struct encoding encoding; /* of the whole length; its bias is not used */
  float **by_distance; /* [layers] bias_by_distance of relative schemes at even positions; NULL: asked tile by tile */
  float *turned;       /* [d][vocab] embeddings transposed, where they are the output, too; else NULL */
  struct space *spaces;
  double *losses;
  uint8_t *correct;
  double *sums; /* [sequences][SUMMARIES][layers][heads] or NULL */
};

static const float *layer_tensor(const struct evaluation *e, size_t layer, enum layer_parameter which) {
  return e->parameters + e->layout->items[parameter_of_layer(layer, which)].offset;
}

/* ---- bias ---- */

struct bias_context {
  const struct run *run;
  size_t layer;
  const float *q, *k; /* [heads][nq][width], [heads][T][width]: for schemes that look at content */
  size_t width, nq;
};

static int add_bias(void *context, size_t head, size_t row, size_t nq, size_t column, size_t nk, float *s,
                    size_t s_stride, struct error *err) {
  const struct bias_context *bias = context;
  const struct evaluation *e = bias->run->e;
  double seq_len;
  const double *mapped = encoding_positions(&bias->run->encoding, e->stack, bias->layer, &seq_len);
  struct bias_tile tile = {.layer = (unsigned)bias->layer,
                           .head = (unsigned)head,
                           .seq_len = seq_len,
                           .nq = nq,
                           .nk = nk,
                           .mapped_q = mapped + e->length - bias->nq + row,
                           .mapped_k = mapped + column,
                           .q = bias->q + (head * bias->nq + row) * bias->width,
                           .k = bias->k + (head * e->length + column) * bias->width,
                           .q_stride = bias->width,
                           .k_stride = bias->width,
                           .s = s,
                           .s_stride = s_stride};
  return instance_bias(stack_layer(e->stack, bias->layer), &tile, err);
}

static bool evenly_spaced(const double *mapped, size_t n) {
  for (size_t i = 2; i < n; i++) {
    if (mapped[i] - mapped[i - 1] != mapped[1] - mapped[0]) {
      return false;
    }
  }
  return true;
}

/* First row that a layer has to compute. */
static size_t first_row(const struct evaluation *e, size_t layer) {
  return layer + 1 == e->layout->shape.layers ? e->first : 0;
}

/* The last query against all keys gives every distance that a causal mask lets through. */
static int fill_distances(struct run *run, size_t layer, struct error *err) {
  const struct evaluation *e = run->e;
  const struct instance *scheme = stack_layer(e->stack, layer);
  size_t n = e->length, nq = n - first_row(e, layer), heads = e->layout->shape.heads;
  double seq_len;
  const double *mapped = encoding_positions(&run->encoding, e->stack, layer, &seq_len);
  uint32_t traits = instance_traits(scheme);
  if (!(instance_sites(scheme) & PE_SITE_BIAS) || !(traits & PE_TRAIT_RELATIVE) || (traits & PE_TRAIT_CONTENT) ||
      !evenly_spaced(mapped, n)) {
    return 0;
  }
  run->by_distance[layer] = memory_new_3d(heads, nq + n - 1, 1, sizeof(float), "biases by distance", err);
  float *row = run->by_distance[layer] ? memory_new(n, sizeof *row, "biases by distance", err) : NULL;
  int status = row ? 0 : ERROR_MEMORY;
  for (size_t head = 0; !status && head < heads; head++) {
    memset(row, 0, n * sizeof *row);
    struct bias_tile tile = {.layer = (unsigned)layer,
                             .head = (unsigned)head,
                             .seq_len = seq_len,
                             .nq = 1,
                             .nk = n,
                             .mapped_q = mapped + n - 1,
                             .mapped_k = mapped,
                             .s = row,
                             .s_stride = n};
    status = instance_bias(scheme, &tile, err);
    for (size_t j = 0; j < n; j++) {
      /* Element i - j + n - 1, i counted from the first query: distance + nq - 1. */
      run->by_distance[layer][head * (nq + n - 1) + (n - 1 - j) + nq - 1] = row[j];
    }
  }
  free(row);
  return status;
}

/* ---- one sequence ---- */

static void gather_heads(size_t n, size_t heads, size_t head_dim, const float *rows, float *to) {
  for (size_t head = 0; head < heads; head++) {
    for (size_t t = 0; t < n; t++) {
      memcpy(to + (head * n + t) * head_dim, rows + (t * heads + head) * head_dim, head_dim * sizeof *to);
    }
  }
}

/* space->context [heads][nq][head_dim] of rows `from` .. T - 1 of a layer, from space->q (those rows), k and v. */
static int attend(const struct run *run, struct space *space, size_t layer, size_t from, double *sums,
                  struct error *err) {
  const struct evaluation *e = run->e;
  const struct decoder_shape *shape = &e->layout->shape;
  const struct instance *scheme = stack_layer(e->stack, layer);
  size_t n = e->length, nq = n - from, heads = shape->heads, head_dim = shape->d_model / heads;
  size_t width = instance_qk_width(scheme);
  double seq_len;
  const double *mapped = encoding_positions(&run->encoding, e->stack, layer, &seq_len);
  /* by_head[2] holds rows as projected until they are moved; in the end the values. */
  gather_heads(nq, heads, head_dim, space->q, space->by_head[2]);
  int status = instance_rotate(scheme, PE_ROLE_QUERY, (unsigned)layer, 0, (unsigned)heads, nq, mapped + from, NULL,
                               seq_len, space->by_head[2], space->by_head[0], err);
  gather_heads(n, heads, head_dim, space->k, space->by_head[2]);
  status = status ? status
                  : instance_rotate(scheme, PE_ROLE_KEY, (unsigned)layer, 0, (unsigned)heads, n, mapped, NULL, seq_len,
                                    space->by_head[2], space->by_head[1], err);
  if (status) {
    return status;
  }
  gather_heads(n, heads, head_dim, space->v, space->by_head[2]);
  struct bias_context bias = {run, layer, space->by_head[0], space->by_head[1], width, nq};
  struct attention_input input = {.n_heads = heads,
                                  .n_kv_heads = heads,
                                  .nq = nq,
                                  .nk = n,
                                  .width = width,
                                  .value_width = head_dim,
                                  .q = space->by_head[0],
                                  .k = space->by_head[1],
                                  .v = space->by_head[2],
                                  .scale = shape->score_scale,
                                  .causal = true};
  if (run->by_distance[layer]) {
    input.bias_by_distance = run->by_distance[layer];
  } else if (instance_sites(scheme) & PE_SITE_BIAS) {
    input.bias = add_bias;
    input.bias_context = &bias;
  }
  struct attention_output output = {.context = space->context,
                                    .entropy = sums ? space->by_row[0] : NULL,
                                    .mean_distance = sums ? space->by_row[1] : NULL,
                                    .mass_on_first = sums ? space->by_row[2] : NULL};
  return attention_run(&input, &output, NULL, err);
}

/* sums [SUMMARIES][layers][heads]: means over the counted rows of one layer. */
static void summarise(const struct run *run, const struct space *space, size_t layer, size_t from, double *sums) {
  const struct evaluation *e = run->e;
  size_t heads = e->layout->shape.heads, layers = e->layout->shape.layers, nq = e->length - from;
  for (size_t head = 0; head < heads; head++) {
    for (size_t i = e->first - from; i < nq; i++) {
      double visible = (double)(from + i + 1);
      for (size_t what = 0; what < SUMMARIES; what++) {
        double value = space->by_row[what][head * nq + i];
        value = what > 0 ? value : visible > 1 ? value / log(visible) : 0;
        sums[(what * layers + layer) * heads + head] += value / (double)(e->length - e->first);
      }
    }
  }
}

/* x += (context w_o + b_o), then the feed-forward half; rows of x from `from` on. */
static void finish_layer(const struct run *run, struct space *space, size_t layer, size_t from) {
  const struct evaluation *e = run->e;
  const struct decoder_shape *s = &e->layout->shape;
  size_t d = s->d_model, head_dim = d / s->heads, nq = e->length - from;
  for (size_t head = 0; head < s->heads; head++) {
    for (size_t t = 0; t < nq; t++) {
      memcpy(space->y + t * d + head * head_dim, space->context + (head * nq + t) * head_dim, head_dim * sizeof(float));
    }
  }
  float *x = space->x + from * d;
  linear(nq, d, d, space->y, layer_tensor(e, layer, W_O), layer_tensor(e, layer, B_O), true, x);
  for (size_t row = 0; row < nq; row += ROWS) {
    size_t count = nq - row < ROWS ? nq - row : ROWS;
    train_kernels()->norm(count, d, (float)s->norm_epsilon, x + row * d, layer_tensor(e, layer, FF_LN_SCALE),
                          layer_tensor(e, layer, FF_LN_BIAS), space->y, NULL, NULL);
    linear(count, d, s->d_ff, space->y, layer_tensor(e, layer, W_1), layer_tensor(e, layer, B_1), false, space->wide);
    if (s->gelu == GELU_TANH) {
      train_kernels()->gelu_tanh(count * s->d_ff, space->wide, space->wide, NULL);
    } else {
      gelu_erf(count * s->d_ff, space->wide, space->wide, NULL);
    }
    linear(count, s->d_ff, d, space->wide, layer_tensor(e, layer, W_2), layer_tensor(e, layer, B_2), true, x + row * d);
  }
}

/* Logits [count][vocab] of rows of x from `first` on. */
static void fill_logits(const struct run *run, const struct space *space, size_t first, size_t count) {
  const struct evaluation *e = run->e;
  const struct parameters *layout = e->layout;
  size_t d = layout->shape.d_model, vocab = layout->shape.vocab;
  const float *block = e->parameters, *bias = block + layout->items[layout->b_out].offset;
  train_kernels()->norm(count, d, (float)layout->shape.norm_epsilon, space->x + first * d,
                        block + layout->items[layout->final_ln_scale].offset,
                        block + layout->items[layout->final_ln_bias].offset, space->y, NULL, NULL);
  const float *w_out = run->turned ? run->turned : block + layout->items[layout->w_out].offset;
  linear(count, d, vocab, space->y, w_out, bias, false, space->logits);
}

static void score_target(const struct run *run, float *logits, int32_t target, size_t at) {
  size_t vocab = run->e->layout->shape.vocab;
  run->losses[at] = NAN;
  if (run->correct) {
    run->correct[at] = 0;
  }
  if (target < 0) {
    return;
  }
  if (run->correct) {
    size_t best = 0;
    for (size_t id = 1; id < vocab; id++) {
      best = logits[id] > logits[best] ? id : best;
    }
    run->correct[at] = best == (size_t)target;
  }
  run->losses[at] = train_kernels()->cross_entropy(vocab, (size_t)target, 1.0f, logits);
}

static void score_targets(const struct run *run, const struct space *space, size_t sequence) {
  const struct evaluation *e = run->e;
  size_t vocab = e->layout->shape.vocab, counted = e->length - e->first;
  for (size_t t = 0; t < counted; t += ROWS) {
    size_t count = counted - t < ROWS ? counted - t : ROWS;
    fill_logits(run, space, e->first + t, count);
    for (size_t i = 0; i < count; i++) {
      score_target(run, space->logits + i * vocab, e->targets[sequence * e->length + e->first + t + i],
                   sequence * counted + t + i);
    }
  }
}

static int run_sequence(void *context, size_t sequence, unsigned thread, struct error *err) {
  const struct run *run = context;
  const struct evaluation *e = run->e;
  const struct decoder_shape *s = &e->layout->shape;
  struct space *space = &run->spaces[thread];
  size_t n = e->length, d = s->d_model;
  double *sums = run->sums ? run->sums + sequence * SUMMARIES * s->layers * s->heads : NULL;
  for (size_t t = 0; t < n; t++) {
    const float *row = e->parameters + (size_t)e->ids[sequence * n + t] * d;
    for (size_t i = 0; i < d; i++) {
      space->x[t * d + i] = (float)s->embed_scale * row[i];
    }
  }
  if (run->encoding.rows) {
    train_kernels()->add_scaled(n * d, (float)s->pe_scale, run->encoding.rows, space->x);
  }
  for (size_t layer = 0; layer < s->layers; layer++) {
    size_t from = first_row(e, layer);
    train_kernels()->norm(n, d, (float)s->norm_epsilon, space->x, layer_tensor(e, layer, LN_SCALE),
                          layer_tensor(e, layer, LN_BIAS), space->y, NULL, NULL);
    linear(n - from, d, d, space->y + from * d, layer_tensor(e, layer, W_Q), layer_tensor(e, layer, B_Q), false,
           space->q);
    linear(n, d, d, space->y, layer_tensor(e, layer, W_K), layer_tensor(e, layer, B_K), false, space->k);
    linear(n, d, d, space->y, layer_tensor(e, layer, W_V), layer_tensor(e, layer, B_V), false, space->v);
    int status = attend(run, space, layer, from, sums, err);
    if (status) {
      return status;
    }
    if (sums) {
      summarise(run, space, layer, from, sums);
    }
    finish_layer(run, space, layer, from);
  }
  score_targets(run, space, sequence);
  return 0;
}

/* ---- all of them ---- */

static bool take(float **slot, size_t a, size_t b, struct error *err) {
  *slot = memory_new_3d(a, b, 1, sizeof(float), "evaluation", err);
  return *slot != NULL;
}

static bool take_space(const struct evaluation *e, struct space *space, bool summaries, struct error *err) {
  const struct decoder_shape *s = &e->layout->shape;
  size_t n = e->length, d = s->d_model, width = d / s->heads;
  for (size_t layer = 0; layer < s->layers; layer++) {
    size_t moved = instance_qk_width(stack_layer(e->stack, layer));
    width = moved > width ? moved : width;
  }
  /* The feed-forward takes ROWS rows of y at a time, however short the sequence is. */
  size_t rows = n > ROWS ? n : ROWS;
  bool taken = take(&space->x, n, d, err) && take(&space->y, rows, d, err) && take(&space->q, n, d, err) &&
               take(&space->k, n, d, err) && take(&space->v, n, d, err) && take(&space->context, n, d, err) &&
               take(&space->wide, ROWS, s->d_ff, err) && take(&space->logits, ROWS, s->vocab, err);
  for (size_t i = 0; taken && i < 3; i++) {
    taken = take(&space->by_head[i], n * s->heads, width, err);
  }
  for (size_t i = 0; taken && summaries && i < SUMMARIES; i++) {
    space->by_row[i] = memory_new_3d(s->heads, n, 1, sizeof(double), "evaluation", err);
    taken = space->by_row[i] != NULL;
  }
  return taken;
}

static void free_space(struct space *space) {
  float *const blocks[] = {space->x,          space->y,          space->q,         space->k,
                           space->v,          space->context,    space->wide,      space->logits,
                           space->by_head[0], space->by_head[1], space->by_head[2]};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    free(blocks[i]);
  }
  for (size_t i = 0; i < SUMMARIES; i++) {
    free(space->by_row[i]);
  }
}

/* Means over the sequences, in their order. */
static void add_up(const struct run *run, const struct attention_summary *summary) {
  const struct decoder_shape *s = &run->e->layout->shape;
  size_t count = s->layers * s->heads;
  double *const out[SUMMARIES] = {summary->entropy, summary->mean_distance, summary->first_share};
  for (size_t what = 0; what < SUMMARIES; what++) {
    for (size_t i = 0; i < count; i++) {
      double sum = 0;
      for (size_t sequence = 0; sequence < run->e->sequences; sequence++) {
        sum += run->sums[(sequence * SUMMARIES + what) * count + i];
      }
      out[what][i] = sum / (double)run->e->sequences;
    }
  }
}

int evaluate(const struct evaluation *evaluation, struct pool *pool, double *losses, uint8_t *correct,
             const struct attention_summary *summary, struct error *err) {
  const struct decoder_shape *s = &evaluation->layout->shape;
  unsigned threads = pool_threads(pool);
  struct run run = {.e = evaluation, .losses = losses, .correct = correct};
  int status = blas_open(err);
  status = status ? status : encoding_init(&run.encoding, s, evaluation->stack, evaluation->length, false, err);
  if (status) {
    return status;
  }
  run.by_distance = memory_new(s->layers, sizeof *run.by_distance, "evaluation", err);
  run.spaces = run.by_distance ? memory_new(threads, sizeof *run.spaces, "evaluation", err) : NULL;
  bool taken = run.spaces != NULL;
  if (taken && summary) {
    run.sums =
        memory_new_3d(evaluation->sequences * SUMMARIES, s->layers, s->heads, sizeof *run.sums, "evaluation", err);
    taken = run.sums != NULL;
  }
  if (taken && s->tied) {
    taken = take(&run.turned, s->d_model, s->vocab, err);
  }
  for (unsigned thread = 0; taken && thread < threads; thread++) {
    taken = take_space(evaluation, &run.spaces[thread], summary != NULL, err);
  }
  status = taken ? encoding_fill(&run.encoding, s, evaluation->stack, evaluation->length, pool, err) : ERROR_MEMORY;
  if (run.turned && !status) {
    train_kernels()->transpose(s->vocab, s->d_model, 1.0f, evaluation->parameters, s->d_model, run.turned, s->vocab);
  }
  for (size_t layer = 0; !status && layer < s->layers; layer++) {
    status = fill_distances(&run, layer, err);
  }
  status = status ? status : pool_run(pool, evaluation->sequences, run_sequence, &run, err);
  if (!status && summary) {
    add_up(&run, summary);
  }
  for (unsigned thread = 0; run.spaces && thread < threads; thread++) {
    free_space(&run.spaces[thread]);
  }
  for (size_t layer = 0; run.by_distance && layer < s->layers; layer++) {
    free(run.by_distance[layer]);
  }
  free(run.by_distance);
  free(run.turned);
  free(run.spaces);
  free(run.sums);
  encoding_destroy(&run.encoding);
  return status;
}
