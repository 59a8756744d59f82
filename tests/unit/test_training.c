/* The decoder's gradients against differences of its own loss, and bits against the number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "decoder_fixture.h"

enum { SEQUENCES = 4, LENGTH = 16, VOCAB = 17, DIRECTIONS = 20 };

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
    for (size_t j = 0; !strcmp(parameter->name, "scheme/b1") && j < parameter->count; j++) {
      fixture->parameters[parameter->offset + j] = j % 2 ? 1.3f : -1.3f; /* w1 is within 1 */
    }
    if (!strcmp(parameter->name, "scheme/c")) {
      fixture->parameters[parameter->offset] = 1;
    }
  }
}

/* Loss at parameters + step * direction, which are put back. */
static double loss_along(decoder_fixture *fixture, const struct parameter *parameter, const double *direction,
                         double step, const struct batch *batch) {
  float *values = fixture->parameters + parameter->offset;
  float *kept = malloc(parameter->count * sizeof *kept);
  assert_non_null(kept);
  memcpy(kept, values, parameter->count * sizeof *kept);
  for (size_t i = 0; i < parameter->count; i++) {
    values[i] = (float)((double)kept[i] + step * direction[i]);
  }
  double loss = decoder_fixture_loss(fixture, batch, false);
  memcpy(values, kept, parameter->count * sizeof *kept);
  free(kept);
  return loss;
}

/* |g . d - (L(p + h d) - L(p - h d)) / 2h| <= 1e-3 |g| |d|, the difference taken to fourth order. A loss in float32 has
 * an error of about 1e-7, so h is as large as the loss is smooth. */
static void check_tensor(decoder_fixture *fixture, const struct parameter *parameter, const struct batch *batch,
                         const char *scheme) {
  const float *g = fixture->gradient + parameter->offset;
  double *direction = malloc(parameter->count * sizeof *direction);
  assert_non_null(direction);
  double norm = 0;
  for (size_t i = 0; i < parameter->count; i++) {
    norm += (double)g[i] * (double)g[i];
  }
  norm = sqrt(norm);
  for (size_t d = 0; d < DIRECTIONS; d++) {
    struct rng rng = rng_stream(d, parameter->name);
    double length = 0, expected = 0;
    for (size_t i = 0; i < parameter->count; i++) {
      direction[i] = rng_normal(&rng, i);
      length += direction[i] * direction[i];
    }
    for (size_t i = 0; i < parameter->count; i++) {
      direction[i] /= sqrt(length);
      expected += (double)g[i] * direction[i];
    }
    bool steep = strstr(parameter->name, "scheme/"); /* a power of distances up to 20 */
    double h = steep ? 0.02 : 0.04;
    double near =
        loss_along(fixture, parameter, direction, h, batch) - loss_along(fixture, parameter, direction, -h, batch);
    double far = loss_along(fixture, parameter, direction, 2 * h, batch) -
                 loss_along(fixture, parameter, direction, -2 * h, batch);
    double measured = (8 * near - far) / (12 * h);
    /* What float32 losses cannot show: gradients that are 0 in exact arithmetic (b_k, b2 of fire). */
    double noise = 1.6e-7 / h;
    if (!(fabs(measured - expected) <= 1e-3 * norm + noise)) {
      fail_msg("%s: %s, direction %zu: gradient %.9g, difference %.9g, |gradient| %.9g", scheme, parameter->name, d,
               expected, measured, norm);
    }
  }
  free(direction);
}

static void test_directional_derivatives(void **state) {
  (void)state;
  struct tokens tokens;
  struct batch batch = batch_of(&tokens);
  for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
    decoder_fixture fixture;
    decoder_fixture_open(&fixture, schemes[s].id, schemes[s].params, &shape, LENGTH, SEQUENCES, LENGTH, 1);
    spread(&fixture);
    decoder_fixture_loss(&fixture, &batch, true);
    for (size_t i = 0; i < fixture.layout.n; i++) {
      check_tensor(&fixture, &fixture.layout.items[i], &batch, schemes[s].id);
    }
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
                                     cmocka_unit_test(test_threads_do_not_show)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
