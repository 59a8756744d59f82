/* What a decoder is trained on and tried on: bytes of a text, or tasks that isolate position.
 *
 * A text is cut once, by bytes, into train, select and test; windows never cross a border. Tasks make examples from
 * keyed random numbers, each split with streams of its own:
 *
 *     copy      x1 .. xn | x1 .. xn                      16 symbols
 *     reverse   x1 .. xn | xn .. x1
 *     addition  a1 .. an + b1 .. bn = c1 .. cn+1         digits, least significant first
 *     parity    b1 .. bn = p                             p: whether the number of ones is odd
 *     passkey   filler K k1 k2 k3 filler ? k1 k2 k3      the key at a random place of a filler text
 *
 * Only the tokens of the answer are targets.
 */
#ifndef PE_TRAIN_DATA_H
#define PE_TRAIN_DATA_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum task { TASK_TEXT, TASK_COPY, TASK_REVERSE, TASK_ADDITION, TASK_PARITY, TASK_PASSKEY };
enum split { SPLIT_TRAIN, SPLIT_SELECT, SPLIT_TEST };

struct data {
  enum task task;
  size_t vocab;
  uint8_t *bytes; /* of a text, [count] */
  size_t count;
  size_t begin[3], end[3]; /* of the splits, in bytes */
};

/* Shares of a text that are kept for selection and for testing, from its end. */
#define DATA_SELECT_SHARE 0.05
#define DATA_TEST_SHARE 0.10

/* Files one after the other, as bytes. ERROR_FILE_*, ERROR_MEMORY. */
int data_open_text(struct data *data, const char *const *paths, size_t n_paths, struct error *err);
/* `bytes` bytes of verb-grammar sentences (input/corpus.h). */
int data_open_corpus(struct data *data, size_t bytes, uint64_t seed, struct error *err);
void data_open_task(struct data *data, enum task task);
void data_close(struct data *data);

/* Bytes of a split; SIZE_MAX for tasks. */
size_t data_size(const struct data *data, enum split split);

/* ids, targets [length]: window of a text that begins at byte `start` of the split (start + length + 1 <= size): every
 * token is a target. */
void data_window(const struct data *data, enum split split, size_t start, size_t length, int32_t *ids,
                 int32_t *targets);

/* Example `index` of a task in at most `length` tokens (4 or more), padded with id 0 and without targets behind it;
 * returns how many tokens are used. The answer's targets stand at its end. */
size_t data_example(const struct data *data, enum split split, uint64_t seed, uint64_t index, size_t length,
                    int32_t *ids, int32_t *targets);

/* Smallest length at which a task has an example of its own size. */
size_t data_shortest(const struct data *data);

/* Batch `step` of a training: ids, targets [sequences][length]. A text gives windows at random places; a task gives
 * examples whose lengths are uniform in [4, length] (from data_shortest where that is more; length is at least as
 * long). A pure function of its arguments, the same for every scheme. */
void data_batch(const struct data *data, uint64_t seed, uint64_t step, size_t sequences, size_t length, int32_t *ids,
                int32_t *targets);

#endif
