#include "train/data.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "input/corpus.h"
#include "input/regular_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

static void cut(struct data *data) {
  size_t test = (size_t)((double)data->count * DATA_TEST_SHARE);
  size_t select = (size_t)((double)data->count * DATA_SELECT_SHARE);
  data->begin[SPLIT_TRAIN] = 0;
  data->end[SPLIT_TRAIN] = data->begin[SPLIT_SELECT] = data->count - test - select;
  data->end[SPLIT_SELECT] = data->begin[SPLIT_TEST] = data->count - test;
  data->end[SPLIT_TEST] = data->count;
}

/* More than this is no text to train a small model on in minutes. */
enum { MOST_BYTES = 1 << 28 };

int data_open_text(struct data *data, const char *const *paths, size_t n_paths, struct error *err) {
  *data = (struct data){.task = TASK_TEXT, .vocab = 256};
  size_t capacity = 0;
  for (size_t i = 0; i < n_paths; i++) {
    size_t count;
    char *bytes = regular_file_bytes(paths[i], "a text to train on", MOST_BYTES - data->count, &count, err);
    uint8_t *grown = bytes ? memory_grow(data->bytes, &capacity, data->count + count + 1, 1, paths[i], err) : NULL;
    if (grown) {
      memcpy(grown + data->count, bytes, count);
      data->bytes = grown;
      data->count += count;
    }
    free(bytes);
    if (!grown) {
      data_close(data);
      return err->code;
    }
  }
  cut(data);
  return 0;
}

int data_open_corpus(struct data *data, size_t bytes, uint64_t seed, struct error *err) {
  *data = (struct data){.task = TASK_TEXT, .vocab = 256, .count = bytes};
  struct text text = {0};
  for (uint64_t sentence = 0; !text.failed && text.length < bytes; sentence++) {
    corpus_sentence(&text, seed, sentence);
  }
  data->bytes = (uint8_t *)text_take(&text, err);
  if (!data->bytes) {
    *data = (struct data){0};
    return ERROR_MEMORY;
  }
  cut(data);
  return 0;
}

void data_close(struct data *data) {
  free(data->bytes);
  *data = (struct data){0};
}

size_t data_size(const struct data *data, enum split split) {
  return data->task == TASK_TEXT ? data->end[split] - data->begin[split] : SIZE_MAX;
}

void data_window(const struct data *data, enum split split, size_t start, size_t length, int32_t *ids,
                 int32_t *targets) {
  assert(data->task == TASK_TEXT && start + length + 1 <= data_size(data, split));
  const uint8_t *from = data->bytes + data->begin[split] + start;
  for (size_t i = 0; i < length; i++) {
    ids[i] = from[i];
    targets[i] = from[i + 1];
  }
}

/* ---- tasks ---- */

enum { SYMBOLS = 16, KEY_DIGITS = 3, FILLER = 8, DRAWS = 1 << 20 };

void data_open_task(struct data *data, enum task task) {
  static const size_t vocab[] = {[TASK_TEXT] = 256,        [TASK_COPY] = SYMBOLS + 1, [TASK_REVERSE] = SYMBOLS + 1,
                                 [TASK_ADDITION] = 10 + 2, [TASK_PARITY] = 2 + 1,     [TASK_PASSKEY] = 10 + FILLER + 2};
  assert(task != TASK_TEXT);
  *data = (struct data){.task = task, .vocab = vocab[task]};
}

/* Tokens of an example of size n, input and answer, and the answer's share. */
static size_t tokens_of(enum task task, size_t n, size_t *answer) {
  switch (task) {
  case TASK_ADDITION:
    *answer = n + 1;
    return 3 * n + 3;
  case TASK_PARITY:
    *answer = 1;
    return n + 2;
  case TASK_PASSKEY:
    *answer = KEY_DIGITS;
    return n + 2 * KEY_DIGITS + 2;
  default:
    *answer = n;
    return 2 * n + 1;
  }
}

/* The last token is only a target, so `length` inputs hold an example of length + 1 tokens. */
static size_t size_within(enum task task, size_t length) {
  size_t answer, n = task == TASK_PASSKEY ? 0 : 1;
  while (tokens_of(task, n + 1, &answer) <= length + 1) {
    n++;
  }
  return n;
}

size_t data_shortest(const struct data *data) {
  size_t answer;
  return data->task == TASK_TEXT ? 1 : tokens_of(data->task, data->task == TASK_PASSKEY ? 0 : 1, &answer) - 1;
}

/* An example in the making: token `at` is an input and the target of the one before it. */
struct example {
  size_t length, first_answer;
  int32_t *ids, *targets;
};

static void put(const struct example *example, size_t at, int32_t token) {
  if (at < example->length) {
    example->ids[at] = token;
  }
  if (at >= example->first_answer) {
    example->targets[at - 1] = token;
  }
}

static void make_copy(const struct example *e, const struct rng *rng, uint64_t draw, size_t n, bool reverse) {
  for (size_t i = 0; i < n; i++) {
    int32_t symbol = (int32_t)rng_below(rng, draw + i, SYMBOLS);
    put(e, i, symbol);
    put(e, reverse ? 2 * n - i : n + 1 + i, symbol);
  }
  put(e, n, SYMBOLS);
}

static void make_addition(const struct example *e, const struct rng *rng, uint64_t draw, size_t n) {
  enum { PLUS = 10, EQUALS = 11 };
  int32_t carry = 0;
  for (size_t i = 0; i < n; i++) {
    int32_t a = (int32_t)rng_below(rng, draw + 2 * i, 10), b = (int32_t)rng_below(rng, draw + 2 * i + 1, 10);
    put(e, i, a);
    put(e, n + 1 + i, b);
    put(e, 2 * n + 2 + i, (a + b + carry) % 10);
    carry = (a + b + carry) / 10;
  }
  put(e, n, PLUS);
  put(e, 2 * n + 1, EQUALS);
  put(e, 3 * n + 2, carry);
}

static void make_parity(const struct example *e, const struct rng *rng, uint64_t draw, size_t n) {
  enum { EQUALS = 2 };
  int32_t odd = 0;
  for (size_t i = 0; i < n; i++) {
    int32_t bit = (int32_t)rng_below(rng, draw + i, 2);
    put(e, i, bit);
    odd ^= bit;
  }
  put(e, n, EQUALS);
  put(e, n + 1, odd);
}

/* The filler is a loop, so that only the key is news. */
static void make_passkey(const struct example *e, const struct rng *rng, uint64_t draw, size_t n) {
  enum { KEY = 10 + FILLER, ASK = KEY + 1 };
  size_t before = rng_below(rng, draw, (uint32_t)n + 1), at = 0;
  for (size_t i = 0; i <= n; i++) {
    if (i == before) {
      put(e, at++, KEY);
      for (size_t k = 0; k < KEY_DIGITS; k++) {
        put(e, at++, (int32_t)rng_below(rng, draw + 1 + k, 10));
      }
    }
    if (i < n) {
      put(e, at++, 10 + (int32_t)(i % FILLER));
    }
  }
  put(e, at++, ASK);
  for (size_t k = 0; k < KEY_DIGITS; k++) {
    put(e, at++, (int32_t)rng_below(rng, draw + 1 + k, 10));
  }
}

/* Example `index` in `within` tokens, in a row of `length`. */
static size_t make_example(const struct data *data, enum split split, uint64_t seed, uint64_t index, size_t within,
                           size_t length, int32_t *ids, int32_t *targets) {
  static const char *const streams[] = {"data/train", "data/select", "data/test"};
  size_t answer, n = size_within(data->task, within), tokens = tokens_of(data->task, n, &answer);
  assert(tokens <= length + 1 && length < DRAWS / 2);
  for (size_t i = 0; i < length; i++) {
    ids[i] = 0;
    targets[i] = -1;
  }
  struct rng rng = rng_stream(seed, streams[split]);
  struct example example = {.length = length, .first_answer = tokens - answer, .ids = ids, .targets = targets};
  uint64_t draw = index * DRAWS;
  switch (data->task) {
  case TASK_ADDITION:
    make_addition(&example, &rng, draw, n);
    break;
  case TASK_PARITY:
    make_parity(&example, &rng, draw, n);
    break;
  case TASK_PASSKEY:
    make_passkey(&example, &rng, draw, n);
    break;
  default:
    make_copy(&example, &rng, draw, n, data->task == TASK_REVERSE);
  }
  return tokens - 1;
}

size_t data_example(const struct data *data, enum split split, uint64_t seed, uint64_t index, size_t length,
                    int32_t *ids, int32_t *targets) {
  return make_example(data, split, seed, index, length, length, ids, targets);
}

/* ---- batches ---- */

void data_batch(const struct data *data, uint64_t seed, uint64_t step, size_t sequences, size_t length, int32_t *ids,
                int32_t *targets) {
  enum { SHORTEST = 4 };
  struct rng rng = rng_stream(seed, data->task == TASK_TEXT ? "data/windows" : "data/lengths");
  size_t shortest = data_shortest(data) > SHORTEST ? data_shortest(data) : SHORTEST;
  for (size_t row = 0; row < sequences; row++) {
    uint64_t index = step * sequences + row;
    if (data->task == TASK_TEXT) {
      size_t starts = data_size(data, SPLIT_TRAIN) - length;
      data_window(data, SPLIT_TRAIN, rng_below(&rng, index, (uint32_t)starts), length, ids + row * length,
                  targets + row * length);
    } else {
      size_t within = shortest + rng_below(&rng, index, (uint32_t)(length - shortest + 1));
      make_example(data, SPLIT_TRAIN, seed, index, within, length, ids + row * length, targets + row * length);
    }
  }
}
