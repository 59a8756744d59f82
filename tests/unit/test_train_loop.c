/* A training goes on from its state with the same bits; the evaluation agrees with the decoder. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "decoder_fixture.h"
#include "train/evaluate.h"
#include "train/training.h"

enum { LENGTH = 24, SEQUENCES = 4, STEPS = 12, EVERY = 5 };

static struct decoder_shape shape(void) {
  return (struct decoder_shape){.layers = 2,
                                .d_model = 16,
                                .heads = 2,
                                .d_ff = 32,
                                .vocab = 256,
                                .embed_scale = 1,
                                .pe_scale = 1,
                                .score_scale = 0.35,
                                .norm_epsilon = 1e-5};
}

static struct training training_of(decoder_fixture *fixture, const struct data *data, const char *state) {
  return (struct training){.layout = &fixture->layout,
                           .stack = &fixture->stack,
                           .data = data,
                           .optimiser = {.learning_rate = 5e-3,
                                         .beta1 = 0.9,
                                         .beta2 = 0.95,
                                         .epsilon = 1e-8,
                                         .weight_decay = 0.1,
                                         .clip_norm = 1,
                                         .warmup_steps = 3,
                                         .total_steps = STEPS,
                                         .min_ratio = 0.1},
                           .seed = 9,
                           .sequences = SEQUENCES,
                           .length = LENGTH,
                           .state_path = state,
                           .state_key = "this one",
                           .state_every = EVERY};
}

static void die_at_seven(void *context, size_t step, double loss) {
  (void)context;
  (void)loss;
  if (step == 7) {
    _exit(3);
  }
}

static void note_first(void *context, size_t step, double loss) {
  (void)loss;
  size_t *first = context;
  *first = *first ? *first : step;
}

static void train(const char *scheme, const char *params, const char *state, bool dies, size_t *first,
                  float *parameters, double *losses) {
  struct error err = {0};
  struct data data;
  decoder_fixture fixture;
  struct decoder_shape s = shape();
  assert_int_equal(data_open_corpus(&data, 4096, 1, &err), 0);
  decoder_fixture_open(&fixture, scheme, params, &s, LENGTH, SEQUENCES, LENGTH, 1);
  struct training training = training_of(&fixture, &data, state);
  training.progress = dies ? die_at_seven : note_first;
  training.progress_context = first;
  if (training_run(&training, NULL, fixture.parameters, losses, &err)) {
    fail_msg("%s", err.text);
  }
  memcpy(parameters, fixture.parameters, fixture.layout.count * sizeof *parameters);
  decoder_fixture_close(&fixture);
  data_close(&data);
}

static void test_interrupted_training_goes_on(void **state) {
  (void)state;
  char path[] = TEST_BUILD_DIR "/training-state-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  static float whole[1 << 16], resumed[1 << 16];
  double losses[STEPS], resumed_losses[STEPS];
  size_t first = 0;
  const char *params = "{num_buckets: 8, max_distance: 12, direction: causal}";
  train("t5", params, NULL, false, &first, whole, losses);
  assert_int_equal(first, 1);
  /* A process that dies in the middle; the empty file that stands there is no state. */
  pid_t child = fork();
  if (child == 0) {
    train("t5", params, path, true, NULL, resumed, resumed_losses);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  /* What was done is told first. Then the state is that of a finished training: nothing is done any more. */
  for (size_t known = EVERY; known <= STEPS; known += STEPS - EVERY) {
    first = 0;
    memset(resumed, 0, sizeof resumed);
    memset(resumed_losses, 0, sizeof resumed_losses);
    train("t5", params, path, false, &first, resumed, resumed_losses);
    assert_int_equal(first, known);
    assert_memory_equal(whole, resumed, sizeof whole);
    assert_memory_equal(losses, resumed_losses, sizeof losses);
  }
  assert_int_equal(unlink(path), 0);
}

/* Losses by the attention kernel against those of the training's own forward pass: the same formula in float32, so
 * equal within the 2e-5 that data/README.md of the golden files allows a float32 program. */
static void check_scheme(const char *scheme, const char *params) {
  struct error err = {0};
  struct data data;
  decoder_fixture fixture;
  struct decoder_shape s = shape();
  int32_t ids[SEQUENCES * LENGTH], targets[SEQUENCES * LENGTH];
  assert_int_equal(data_open_corpus(&data, 4096, 1, &err), 0);
  decoder_fixture_open(&fixture, scheme, params, &s, LENGTH, SEQUENCES, LENGTH, 1);
  data_batch(&data, 2, 0, SEQUENCES, LENGTH, ids, targets);
  struct batch batch = {.sequences = SEQUENCES, .length = LENGTH, .ids = ids, .targets = targets};
  for (size_t first = 0; first < LENGTH; first += LENGTH - 5) {
    for (size_t i = 0; i < SEQUENCES * LENGTH; i++) {
      targets[i] = i % LENGTH < first ? -1 : targets[i];
    }
    double expected = decoder_fixture_loss(&fixture, &batch, false), losses[SEQUENCES * LENGTH], sum = 0;
    uint8_t correct[SEQUENCES * LENGTH];
    double entropy[4], distance[4], share[4];
    struct attention_summary summary = {entropy, distance, share};
    struct evaluation evaluation = {.layout = &fixture.layout,
                                    .stack = &fixture.stack,
                                    .parameters = fixture.parameters,
                                    .sequences = SEQUENCES,
                                    .length = LENGTH,
                                    .first = first,
                                    .ids = ids,
                                    .targets = targets};
    if (evaluate(&evaluation, NULL, losses, correct, &summary, &err)) {
      fail_msg("%s: %s", scheme, err.text);
    }
    size_t counted = SEQUENCES * (LENGTH - first);
    for (size_t i = 0; i < counted; i++) {
      sum += losses[i];
    }
    if (fabs(sum / (double)counted - expected) > 2e-5) {
      fail_msg("%s: evaluated %.9g, trained %.9g", scheme, sum / (double)counted, expected);
    }
    for (size_t i = 0; i < 4; i++) {
      assert_true(entropy[i] > 0 && entropy[i] <= 1.000001 && distance[i] > 0 && share[i] > 0 && share[i] < 1);
    }
  }
  decoder_fixture_close(&fixture);
  data_close(&data);
}

static void test_evaluation_agrees(void **state) {
  (void)state;
  check_scheme("none", "{}");
  check_scheme("sinusoidal", "{}");
  check_scheme("learned", "{max_positions: 32}");
  check_scheme("rope", "{}");
  check_scheme("alibi", "{}");
  check_scheme("t5", "{num_buckets: 8, max_distance: 12, direction: causal}");
  check_scheme("fire", "{threshold: 8}");
  check_scheme("kerple", "{}");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_interrupted_training_goes_on),
                                     cmocka_unit_test(test_evaluation_agrees)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
