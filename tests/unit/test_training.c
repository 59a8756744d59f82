/* The decoder's gradients against differences of its own loss, and bits against the number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "decoder_fixture.h"
#include "decoder_reference.h"

enum { SEQUENCES = 2, LENGTH = 12, VOCAB = 17, DIRECTIONS = 20 };

static const struct decoder_shape shape = {.layers = 2,
                                           .d_model = 24,
                                           .heads = 3,
                                           .d_ff = 40,
                                           .vocab = VOCAB,
                                           .embed_scale = 1.5,
                                           .pe_scale = 0.5,
                                           .score_scale = 0.4,
                                           .norm_epsilon = 1e-5};

static const struct {
  const char *id, *params;
} schemes[] = {
    {"none", "{}"},
    {"sinusoidal", "{}"},
    {"learned", "{max_positions: 32}"},
    {"rope", "{}"},
    {"xpos", "{}"},
    {"alibi", "{distance: symmetric}"},
    {"t5", "{num_buckets: 8, max_distance: 12, direction: causal}"},
    {"kerple", "{kernel: log}"},
    {"kerple", "{kernel: power}"},
    {"fire", "{threshold: 8.5}"},
    {"sandwich", "{}"},
};

struct tokens {
  int32_t ids[SEQUENCES * LENGTH], targets[SEQUENCES * LENGTH];
};

static struct batch batch_of(struct tokens *tokens) {
  struct rng ids = rng_stream(3, "ids"), targets = rng_stream(3, "targets");
  for (size_t i = 0; i < SEQUENCES * LENGTH; i++) {
    tokens->ids[i] = (int32_t)rng_below(&ids, i, VOCAB);
    /* Some are not counted. */
    tokens->targets[i] = (int32_t)rng_below(&targets, i, VOCAB + 3) - 3;
    tokens->targets[i] = tokens->targets[i] < 0 ? -1 : tokens->targets[i];
  }
  return (struct batch){.sequences = SEQUENCES, .length = LENGTH, .ids = tokens->ids, .targets = tokens->targets};
}

/* Matrices of a size at which every part of the model matters; kerple's and fire's numbers well away from where
 * they are held or bend. */
static void spread(decoder_fixture *fixture) {
  for (size_t i = 0; i < fixture->layout.scheme; i++) {
    const struct parameter *parameter = &fixture->layout.items[i];
    struct rng rng = rng_stream(11, parameter->name);
    for (size_t j = 0; j < parameter->count; j++) {
      fixture->parameters[parameter->offset + j] += (float)(0.25 * rng_normal(&rng, j));
    }
  }
  for (size_t i = fixture->layout.scheme; i < fixture->layout.n; i++) {
    const struct parameter *parameter = &fixture->layout.items[i];
    bool held = !strcmp(parameter->name, "scheme/a") || !strcmp(parameter->name, "scheme/p");
    for (size_t j = 0; held && j < parameter->count; j++) {
      fixture->parameters[parameter->offset + j] = 0.5f + 0.25f * (float)j;
    }
    /* A unit of fire's network that is on at all distances adds the same to all keys, which is nothing. These bend at
     * 0.14 or 0.375 of the normalised distance, where with c = 1 none lies: 0, then ln 2 / ln 12 = 0.279 to
     * ln 2 / ln 9.5 = 0.308, then ln 3 / ln 12 = 0.442 and more. */
    bool slope = !strcmp(parameter->name, "scheme/w1"), shift = !strcmp(parameter->name, "scheme/b1");
    for (size_t j = 0; (slope || shift) && j < parameter->count; j++) {
      float sign = j % 2 ? 1 : -1, bend = j % 4 < 2 ? 0.14f : 0.375f;
      fixture->parameters[parameter->offset + j] = slope ? sign : -sign * bend;
    }
    if (!strcmp(parameter->name, "scheme/c")) {
      fixture->parameters[parameter->offset] = 1;
    }
  }
}

/* One tensor's check: where its numbers are moved to, in float64, and the loss there. */
struct probe {
  decoder_fixture *fixture;
  decoder_reference *reference;
  const struct parameter *parameter;
  const struct batch *batch;
  double *values;    /* block of the layout */
  double *direction; /* [parameter->count], of length 1 */
};

/* Loss at parameters + step * direction, which are put back; *along: gradient . (what was really added). A scheme's
 * tensor is told to it in float32, and so moved by what float32 can hold. */
static double loss_along(struct probe *p, double step, double *along) {
  const struct parameter *parameter = p->parameter;
  const float *g = p->fixture->gradient + parameter->offset, *kept = p->fixture->parameters + parameter->offset;
  double *values = p->values + parameter->offset;
  bool of_scheme = !strncmp(parameter->name, "scheme/", 7);
  float *moved = malloc(parameter->count * sizeof *moved);
  assert_non_null(moved);
  *along = 0;
  for (size_t i = 0; i < parameter->count; i++) {
    double to = (double)kept[i] + step * p->direction[i];
    moved[i] = (float)to;
    values[i] = of_scheme ? (double)moved[i] : to;
    *along += (double)g[i] * (values[i] - (double)kept[i]);
  }
  if (of_scheme) {
    const struct parameters *layout = &p->fixture->layout;
    instance_set_tensor(p->fixture->scheme, layout->scheme_tensor[(size_t)(parameter - layout->items) - layout->scheme],
                        moved);
    decoder_reference_ask(p->reference, p->fixture);
  }
  double loss = decoder_reference_loss(p->reference, p->values, p->batch);
  for (size_t i = 0; i < parameter->count; i++) {
    values[i] = kept[i];
  }
  free(moved);
  return loss;
}

static double length_of(const float *g, size_t count) {
  double square = 0;
  for (size_t i = 0; i < count; i++) {
    square += (double)g[i] * (double)g[i];
  }
  return sqrt(square);
}

/* Whether keys are moved by their positions. */
static bool moves(const decoder_reference *reference) {
  size_t map = reference->width * (reference->layout->shape.d_model / reference->layout->shape.heads);
  return memcmp(reference->moves, reference->moves + map, map * sizeof *reference->moves) != 0;
}

/* Adding the same to all scores of a row changes no softmax: in exact arithmetic this gradient is 0. */
static bool is_in_vain(const struct probe *p, const char *name) {
  size_t length = strlen(name);
  bool keys = length > 4 && !strcmp(name + length - 4, "/b_k");
  return (keys && !moves(p->reference)) || !strcmp(name, "scheme/b2");
}

/* |g . d - (L(p + h d) - L(p - h d)) / 2h| <= 1e-3 |g| |d|, differences of a float64 loss. Where a scheme's tensors are
 * moved its values are rounded to float32, so the step is larger and the difference of fourth order. A gradient that is
 * 0 in exact arithmetic is rounding and has no direction: it is held against the length of the whole gradient. */
static void check_tensor(struct probe *p, double whole, const char *scheme) {
  const struct parameter *parameter = p->parameter;
  double norm = length_of(p->fixture->gradient + parameter->offset, parameter->count);
  bool in_vain = is_in_vain(p, parameter->name), of_scheme = !strncmp(parameter->name, "scheme/", 7);
  /* As large as golden/README.md allows a float32 gradient of 0 to be, element by element. */
  if (in_vain ? norm > 5e-7 * sqrt((double)parameter->count) : norm < 1e-6) {
    fail_msg("%s: %s: |gradient| %.9g", scheme, parameter->name, norm);
  }
  for (size_t d = 0; d < DIRECTIONS; d++) {
    struct rng rng = rng_stream(d, parameter->name);
    double length = 0;
    for (size_t i = 0; i < parameter->count; i++) {
      p->direction[i] = rng_normal(&rng, i);
      length += p->direction[i] * p->direction[i];
    }
    for (size_t i = 0; i < parameter->count; i++) {
      p->direction[i] /= sqrt(length);
    }
    double h = of_scheme ? 0.02 : 1e-4, up, down, further_up = 0, further_down = 0;
    double measured = loss_along(p, h, &up) - loss_along(p, -h, &down), expected = up - down;
    if (of_scheme) {
      double far = loss_along(p, 2 * h, &further_up) - loss_along(p, -2 * h, &further_down);
      measured = (8 * measured - far) / 6;
      expected = (8 * expected - (further_up - further_down)) / 6;
    }
    if (!(fabs(measured - expected) <= 1e-3 * (in_vain ? whole : norm) * 2 * h)) {
      fail_msg("%s: %s, direction %zu: gradient %.9g, difference %.9g, |gradient| %.9g", scheme, parameter->name, d,
               expected / (2 * h), measured / (2 * h), norm);
    }
  }
}

static void check_scheme(decoder_fixture *fixture, const struct batch *batch, const char *scheme) {
  decoder_reference reference;
  spread(fixture);
  double loss = decoder_fixture_loss(fixture, batch, true);
  decoder_reference_open(&reference, fixture, LENGTH);
  double *values = malloc(fixture->layout.count * sizeof *values);
  double *direction = malloc(fixture->layout.count * sizeof *direction);
  assert_true(values && direction);
  for (size_t i = 0; i < fixture->layout.count; i++) {
    values[i] = fixture->parameters[i];
  }
  /* 2e-5 is what golden/README.md allows a float32 loss. */
  assert_true(fabs(loss - decoder_reference_loss(&reference, values, batch)) <= 2e-5);
  double whole = length_of(fixture->gradient, fixture->layout.count);
  for (size_t i = 0; i < fixture->layout.n; i++) {
    struct probe probe = {fixture, &reference, &fixture->layout.items[i], batch, values, direction};
    check_tensor(&probe, whole, scheme);
    if (i >= fixture->layout.scheme) {
      parameters_to_scheme(&fixture->layout, fixture->parameters, fixture->scheme);
      decoder_reference_ask(&reference, fixture);
    }
  }
  free(values);
  free(direction);
  decoder_reference_close(&reference);
}

static void test_directional_derivatives(void **state) {
  (void)state;
  struct tokens tokens;
  struct batch batch = batch_of(&tokens);
  for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
    decoder_fixture fixture;
    decoder_fixture_open(&fixture, schemes[s].id, schemes[s].params, &shape, LENGTH, SEQUENCES, LENGTH, 1);
    check_scheme(&fixture, &batch, schemes[s].id);
    decoder_fixture_close(&fixture);
  }
}

/* The scheme `table` has one of three tensors, which the config gives. */
static void test_directional_derivatives_of_table(void **state) {
  (void)state;
  enum { BIAS, EMBEDDING, INV_FREQ, TENSORS };
  static float bias[3 * LENGTH], embedding[LENGTH * 24], inv_freq[4];
  struct rng rng = rng_stream(4, "table");
  for (size_t i = 0; i < sizeof embedding / sizeof *embedding; i++) {
    embedding[i] = (float)rng_normal(&rng, i);
    bias[i % (3 * LENGTH)] = embedding[i];
    inv_freq[i % 4] = 0.1f + 0.2f * (float)(i % 4);
  }
  const struct tensor_source sources[TENSORS] = {{bias, {.rank = 2, .dim = {3, LENGTH}}, "the test"},
                                                 {embedding, {.rank = 2, .dim = {LENGTH, 24}}, "the test"},
                                                 {inv_freq, {.rank = 1, .dim = {4}}, "the test"}};
  struct tokens tokens;
  struct batch batch = batch_of(&tokens);
  for (size_t which = 0; which < TENSORS; which++) {
    struct tensor_source given[TENSORS] = {0};
    given[which] = sources[which];
    decoder_fixture fixture;
    decoder_fixture_open_with(&fixture, "table", "{}", given, &shape, LENGTH, SEQUENCES, LENGTH, 1);
    check_scheme(&fixture, &batch, "table");
    decoder_fixture_close(&fixture);
  }
}

/* Three steps, on 1 and on 3 threads. */
static void test_threads_do_not_show(void **state) {
  (void)state;
  struct tokens tokens;
  struct batch batch = batch_of(&tokens);
  struct optimiser_setting setting = {.learning_rate = 1e-2,
                                      .beta1 = 0.9,
                                      .beta2 = 0.95,
                                      .epsilon = 1e-8,
                                      .weight_decay = 0.1,
                                      .clip_norm = 1,
                                      .total_steps = 3,
                                      .min_ratio = 0.1};
  for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
    decoder_fixture one, three;
    decoder_fixture *both[] = {&one, &three};
    double losses[2] = {0};
    for (size_t f = 0; f < 2; f++) {
      decoder_fixture_open(both[f], schemes[s].id, schemes[s].params, &shape, LENGTH, SEQUENCES, LENGTH, f ? 3 : 1);
      for (size_t step = 0; step < 3; step++) {
        struct error err = {0};
        double norm;
        losses[f] = decoder_fixture_loss(both[f], &batch, true);
        assert_int_equal(optimiser_step(&both[f]->layout, &setting, step, optimiser_learning_rate(&setting, step),
                                        both[f]->gradient, both[f]->first, both[f]->second, both[f]->parameters,
                                        both[f]->pool, &norm, &err),
                         0);
      }
    }
    assert_memory_equal(&losses[0], &losses[1], sizeof losses[0]);
    assert_memory_equal(one.parameters, three.parameters, one.layout.count * sizeof(float));
    decoder_fixture_close(&one);
    decoder_fixture_close(&three);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_directional_derivatives),
                                     cmocka_unit_test(test_directional_derivatives_of_table),
                                     cmocka_unit_test(test_threads_do_not_show)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
