#include "decoder_reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double *block_of(size_t count) {
  double *block = calloc(count, sizeof *block);
  assert_non_null(block);
  return block;
}

static void widen(double *to, const float *from, size_t count) {
  for (size_t i = 0; i < count; i++) {
    to[i] = from[i];
  }
}

/* ---- what the scheme gives ---- */

/* A linear map is known by what it makes of the unit vectors. */
static void ask_moves(decoder_reference *reference, const struct instance *scheme, const double *mapped,
                      double seq_len) {
  const struct decoder_shape *s = &reference->layout->shape;
  struct error err = {0};
  size_t n = reference->length, head_dim = s->d_model / s->heads, width = reference->width;
  float *in = calloc(s->heads * n * head_dim, sizeof *in), *out = calloc(s->heads * n * width, sizeof *out);
  assert_true(in && out);
  double *to = reference->moves;
  for (int role = 0; role < 2; role++) {
    for (size_t layer = 0; layer < s->layers; layer++, to += s->heads * n * width * head_dim) {
      for (size_t c = 0; c < head_dim; c++) {
        for (size_t i = 0; i < s->heads * n * head_dim; i++) {
          in[i] = i % head_dim == c;
        }
        assert_int_equal(instance_rotate(scheme, role ? PE_ROLE_KEY : PE_ROLE_QUERY, (unsigned)layer, 0,
                                         (unsigned)s->heads, n, mapped, NULL, seq_len, in, out, &err),
                         0);
        for (size_t i = 0; i < s->heads * n * width; i++) {
          to[i * head_dim + c] = out[i];
        }
      }
    }
  }
  free(in);
  free(out);
}

static void ask_bias(decoder_reference *reference, const struct instance *scheme, const double *mapped,
                     double seq_len) {
  const struct decoder_shape *s = &reference->layout->shape;
  struct error err = {0};
  size_t n = reference->length;
  float *tile = calloc(n * n, sizeof *tile);
  assert_non_null(tile);
  for (size_t unit = 0; unit < s->layers * s->heads; unit++) {
    memset(tile, 0, n * n * sizeof *tile);
    struct bias_tile request = {.layer = (unsigned)(unit / s->heads),
                                .head = (unsigned)(unit % s->heads),
                                .seq_len = seq_len,
                                .nq = n,
                                .nk = n,
                                .mapped_q = mapped,
                                .mapped_k = mapped,
                                .s = tile,
                                .s_stride = n};
    assert_int_equal(instance_bias(scheme, &request, &err), 0);
    widen(reference->bias + unit * n * n, tile, n * n);
  }
  free(tile);
}

void decoder_reference_ask(decoder_reference *reference, const decoder_fixture *fixture) {
  struct error err = {0};
  size_t n = reference->length, d = reference->layout->shape.d_model;
  double *positions = block_of(2 * n), *mapped = positions + n, seq_len;
  float *rows = calloc(n * d, sizeof *rows);
  assert_non_null(rows);
  for (size_t i = 0; i < n; i++) {
    positions[i] = (double)i;
  }
  assert_int_equal(instance_map_positions(fixture->scheme, n, positions, NULL, mapped, &seq_len, &err), 0);
  assert_int_equal(instance_embed(fixture->scheme, n, mapped, NULL, seq_len, rows, d, &err), 0);
  widen(reference->rows, rows, n * d);
  ask_moves(reference, fixture->scheme, mapped, seq_len);
  ask_bias(reference, fixture->scheme, mapped, seq_len);
  free(rows);
  free(positions);
}

void decoder_reference_open(decoder_reference *reference, const decoder_fixture *fixture, size_t length) {
  const struct decoder_shape *s = &fixture->layout.shape;
  size_t width = instance_qk_width(fixture->scheme), head_dim = s->d_model / s->heads;
  *reference = (decoder_reference){.layout = &fixture->layout, .length = length, .width = width};
  reference->rows = block_of(length * s->d_model);
  reference->moves = block_of(2 * s->layers * s->heads * length * width * head_dim);
  reference->bias = block_of(s->layers * s->heads * length * length);
  /* x, y, q, k, v, context; moved q, moved k; the feed-forward's row; scores; logits */
  reference->scratch = block_of(6 * length * s->d_model + 2 * length * width + s->d_ff + length + s->vocab);
  decoder_reference_ask(reference, fixture);
}

void decoder_reference_close(decoder_reference *reference) {
  free(reference->rows);
  free(reference->moves);
  free(reference->bias);
  free(reference->scratch);
}

/* ---- the model ---- */

struct model {
  const decoder_reference *reference;
  const struct decoder_shape *shape;
  const double *values;
  double *x, *y, *q, *k, *v, *context, *moved_q, *moved_k, *wide, *scores, *logits;
};

static const double *tensor(const struct model *m, size_t index) {
  return m->values + m->reference->layout->items[index].offset;
}

static const double *of_layer(const struct model *m, size_t layer, enum layer_parameter which) {
  return tensor(m, parameter_of_layer(layer, which));
}

static void norm(const struct model *m, const double *x, const double *scale, const double *bias, double *y) {
  size_t d = m->shape->d_model;
  double mean = 0, variance = 0;
  for (size_t i = 0; i < d; i++) {
    mean += x[i] / (double)d;
  }
  for (size_t i = 0; i < d; i++) {
    variance += (x[i] - mean) * (x[i] - mean) / (double)d;
  }
  for (size_t i = 0; i < d; i++) {
    y[i] = (x[i] - mean) / sqrt(variance + m->shape->norm_epsilon) * scale[i] + bias[i];
  }
}

/* y (+)= x w + b for one row. */
static void product(const double *x, const double *w, const double *b, size_t in, size_t out, bool add, double *y) {
  for (size_t j = 0; j < out; j++) {
    y[j] = (add ? y[j] : 0) + b[j];
  }
  for (size_t i = 0; i < in; i++) {
    for (size_t j = 0; j < out; j++) {
      y[j] += x[i] * w[i * out + j];
    }
  }
}

/* moved [T][width] of one head's rows. */
static void move(const struct model *m, int role, size_t layer, size_t head, const double *rows, double *moved) {
  const struct decoder_shape *s = m->shape;
  size_t n = m->reference->length, width = m->reference->width, head_dim = s->d_model / s->heads;
  size_t unit = ((size_t)role * s->layers + layer) * s->heads + head;
  const double *map = m->reference->moves + unit * n * width * head_dim;
  for (size_t i = 0; i < n * width; i++) {
    const double *row = rows + i / width * s->d_model + head * head_dim;
    moved[i] = 0;
    for (size_t c = 0; c < head_dim; c++) {
      moved[i] += map[i * head_dim + c] * row[c];
    }
  }
}

static void attend(const struct model *m, size_t layer, size_t head) {
  const struct decoder_shape *s = m->shape;
  size_t n = m->reference->length, width = m->reference->width, head_dim = s->d_model / s->heads;
  const double *bias = m->reference->bias + (layer * s->heads + head) * n * n;
  move(m, 0, layer, head, m->q, m->moved_q);
  move(m, 1, layer, head, m->k, m->moved_k);
  for (size_t i = 0; i < n; i++) {
    double *to = m->context + i * s->d_model + head * head_dim, most = -INFINITY, sum = 0;
    for (size_t j = 0; j <= i; j++) {
      m->scores[j] = bias[i * n + j];
      for (size_t c = 0; c < width; c++) {
        m->scores[j] += s->score_scale * m->moved_q[i * width + c] * m->moved_k[j * width + c];
      }
      most = fmax(most, m->scores[j]);
    }
    memset(to, 0, head_dim * sizeof *to);
    for (size_t j = 0; j <= i; j++) {
      m->scores[j] = exp(m->scores[j] - most);
      sum += m->scores[j];
    }
    for (size_t j = 0; j <= i; j++) {
      for (size_t c = 0; c < head_dim; c++) {
        to[c] += m->scores[j] / sum * m->v[j * s->d_model + head * head_dim + c];
      }
    }
  }
}

static void run_layer(const struct model *m, size_t layer) {
  const struct decoder_shape *s = m->shape;
  size_t n = m->reference->length, d = s->d_model;
  for (size_t i = 0; i < n; i++) {
    double *y = m->y + i * d;
    norm(m, m->x + i * d, of_layer(m, layer, LN_SCALE), of_layer(m, layer, LN_BIAS), y);
    product(y, of_layer(m, layer, W_Q), of_layer(m, layer, B_Q), d, d, false, m->q + i * d);
    product(y, of_layer(m, layer, W_K), of_layer(m, layer, B_K), d, d, false, m->k + i * d);
    product(y, of_layer(m, layer, W_V), of_layer(m, layer, B_V), d, d, false, m->v + i * d);
  }
  for (size_t head = 0; head < s->heads; head++) {
    attend(m, layer, head);
  }
  for (size_t i = 0; i < n; i++) {
    double *x = m->x + i * d, *y = m->y + i * d;
    product(m->context + i * d, of_layer(m, layer, W_O), of_layer(m, layer, B_O), d, d, true, x);
    norm(m, x, of_layer(m, layer, FF_LN_SCALE), of_layer(m, layer, FF_LN_BIAS), y);
    product(y, of_layer(m, layer, W_1), of_layer(m, layer, B_1), d, s->d_ff, false, m->wide);
    for (size_t j = 0; j < s->d_ff; j++) {
      double h = m->wide[j];
      m->wide[j] = h / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (h + 0.044715 * h * h * h)));
    }
    product(m->wide, of_layer(m, layer, W_2), of_layer(m, layer, B_2), s->d_ff, d, true, x);
  }
}

/* -ln p(target) of a row. */
static double loss_of_row(const struct model *m, size_t row, size_t target) {
  const struct parameters *layout = m->reference->layout;
  size_t d = m->shape->d_model, vocab = m->shape->vocab;
  norm(m, m->x + row * d, tensor(m, layout->final_ln_scale), tensor(m, layout->final_ln_bias), m->y);
  product(m->y, tensor(m, layout->w_out), tensor(m, layout->b_out), d, vocab, false, m->logits);
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < vocab; i++) {
    most = fmax(most, m->logits[i]);
  }
  for (size_t i = 0; i < vocab; i++) {
    sum += exp(m->logits[i] - most);
  }
  return log(sum) + most - m->logits[target];
}

double decoder_reference_loss(const decoder_reference *reference, const double *values, const struct batch *batch) {
  const struct decoder_shape *s = &reference->layout->shape;
  size_t n = reference->length, d = s->d_model, counted = 0;
  double *at = reference->scratch, sum = 0;
  struct model m = {.reference = reference, .shape = s, .values = values};
  double **const slots[] = {&m.x, &m.y, &m.q, &m.k, &m.v, &m.context};
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++, at += n * d) {
    *slots[i] = at;
  }
  m.moved_q = at;
  m.moved_k = m.moved_q + n * reference->width;
  m.wide = m.moved_k + n * reference->width;
  m.scores = m.wide + s->d_ff;
  m.logits = m.scores + n;
  assert_int_equal(batch->length, n);
  for (size_t sequence = 0; sequence < batch->sequences; sequence++) {
    for (size_t i = 0; i < n * d; i++) {
      size_t id = (size_t)batch->ids[sequence * n + i / d];
      m.x[i] = s->embed_scale * tensor(&m, 0)[id * d + i % d] + s->pe_scale * reference->rows[i];
    }
    for (size_t layer = 0; layer < s->layers; layer++) {
      run_layer(&m, layer);
    }
    for (size_t i = 0; i < n; i++) {
      int32_t target = batch->targets[sequence * n + i];
      sum += target < 0 ? 0 : loss_of_row(&m, i, (size_t)target);
      counted += target >= 0;
    }
  }
  return sum / (double)counted;
}
