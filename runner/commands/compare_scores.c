/* Biases and scores of both sides, a block of query rows at a time, every head of it. */
#include "commands/compare_pair.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 8, BLOCK_ROWS = 16 };

struct block {
  size_t first, rows;           /* queries */
  float *bias[2];               /* [heads][rows][T] by side; NULL where it has none */
  float *scores[2];             /* [heads][rows][T] */
  double *panel;                /* [width][AT_ONCE] */
  double bias_size, score_size; /* the largest numbers so far */
  double *bias_most, *most;     /* [blocks] the largest differences up to the end of each */
};

/* panel [d][AT_ONCE] = the rows k [count][d] beside each other, 0 behind the last. */
static void pack(const float *k, size_t count, size_t d, double *panel) {
  for (size_t c = 0; c < d; c++) {
    for (size_t row = 0; row < AT_ONCE; row++) {
      panel[c * AT_ONCE + row] = row < count ? (double)k[row * d + c] : 0;
    }
  }
}

/* sum [AT_ONCE] = q . k for each row of a panel. */
static void products(const float *q, const double *panel, size_t d, double sum[AT_ONCE]) {
  for (size_t row = 0; row < AT_ONCE; row++) {
    sum[row] = 0;
  }
  for (size_t c = 0; c < d; c++) {
    for (size_t row = 0; row < AT_ONCE; row++) {
      sum[row] += (double)q[c] * panel[c * AT_ONCE + row];
    }
  }
}

static int fill_bias(const struct pair *pair, const struct side *side, const struct block *block, float *bias,
                     struct error *err) {
  size_t n = pair->n, d = side->width, count = block->rows * n;
  int status = 0;
  memset(bias, 0, pair->heads * count * sizeof *bias);
  for (unsigned h = 0; !status && h < pair->heads; h++) {
    struct bias_tile tile = {.head = h,
                             .seq_len = side->seq_len,
                             .nq = block->rows,
                             .nk = n,
                             .mapped_q = side->positions.values + block->first * side->positions.axes,
                             .mapped_k = side->positions.values,
                             .q = side->q + (h * n + block->first) * d,
                             .k = side->k + h * n * d,
                             .q_stride = d,
                             .k_stride = d,
                             .s = bias + h * count,
                             .s_stride = n};
    status = instance_bias(side->instance, &tile, err);
  }
  if (!status) {
    side_round(pair, side, bias, pair->heads * count);
  }
  return status;
}

/* scores = scale q.k + bias, each summed in double from its first channel to its last. */
static void fill_scores(const struct pair *pair, const struct side *side, const struct block *block, const float *bias,
                        float *scores) {
  size_t n = pair->n, d = side->width;
  double scale = instance_score_scale(side->instance, 1 / sqrt(pair->head_dim)), sum[AT_ONCE];
  for (size_t h = 0; h < pair->heads; h++) {
    for (size_t first = 0; first < n; first += AT_ONCE) {
      size_t count = n - first < AT_ONCE ? n - first : AT_ONCE;
      pack(side->k + (h * n + first) * d, count, d, block->panel);
      for (size_t i = 0; i < block->rows; i++) {
        size_t at = (h * block->rows + i) * n + first;
        products(side->q + (h * n + block->first + i) * d, block->panel, d, sum);
        for (size_t j = 0; j < count; j++) {
          scores[at + j] = (float)(scale * sum[j] + (bias ? (double)bias[at + j] : 0));
        }
      }
    }
  }
}

static int fill_block(const struct pair *pair, size_t which, struct block *block, struct error *err) {
  int status = 0;
  block->first = which * BLOCK_ROWS;
  block->rows = pair->n - block->first < BLOCK_ROWS ? pair->n - block->first : BLOCK_ROWS;
  for (int s = 0; !status && s < 2; s++) {
    const struct side *side = &pair->sides[s];
    status = block->bias[s] ? fill_bias(pair, side, block, block->bias[s], err) : 0;
    if (!status) {
      fill_scores(pair, side, block, block->bias[s], block->scores[s]);
    }
  }
  return status;
}

static void add_to_bands(struct pair *pair, const struct block *block) {
  const struct positions *positions = &pair->sides[0].positions;
  size_t n = pair->n, axes = positions->axes;
  for (size_t i = 0; i < block->rows; i++) {
    for (size_t j = 0; j < n; j++) {
      double distance = fabs(positions->values[(block->first + i) * axes] - positions->values[j * axes]);
      int which = distance < 1 ? 0 : ilogb(distance) + 1;
      if (which < 0 || which >= BANDS) {
        continue;
      }
      struct band *band = &pair->bands[which];
      for (size_t h = 0; h < pair->heads; h++) {
        size_t at = (h * block->rows + i) * n + j;
        double ours = (double)block->scores[0][at], theirs = (double)block->scores[1][at];
        band->largest = fmax(band->largest, fabs(ours - theirs));
        band->squares_a += ours * ours;
        band->squares_b += theirs * theirs;
        band->count++;
      }
    }
  }
}

static struct rows_part part_of(const struct pair *pair, const struct block *block) {
  return (struct rows_part){pair->heads, pair->n, pair->n, block->first, block->rows};
}

/* Everything but the first difference: what is allowed is known behind the last block alone. */
static int run_blocks(struct pair *pair, struct block *block, size_t blocks, struct error *err) {
  int status = 0;
  for (size_t which = 0; !status && which < blocks; which++) {
    status = fill_block(pair, which, block, err);
    if (status) {
      break;
    }
    struct rows_part part = part_of(pair, block);
    size_t count = pair->heads * block->rows * pair->n;
    if (block->bias[0] && block->bias[1]) {
      block->bias_size = fmax(block->bias_size, difference_size(block->bias[0], block->bias[1], count));
      difference_add(&pair->bias, block->bias[0], block->bias[1], &part, INFINITY);
    }
    block->score_size = fmax(block->score_size, difference_size(block->scores[0], block->scores[1], count));
    difference_add(&pair->scores, block->scores[0], block->scores[1], &part, INFINITY);
    block->bias_most[which] = pair->bias.amount;
    block->most[which] = pair->scores.amount;
    add_to_bands(pair, block);
  }
  return status;
}

/* The first difference beyond rounding: its block is the first that reaches it, and is made again. */
static int find_first(const struct pair *pair, struct block *block, const double *most, size_t blocks, double size,
                      float *const sides[2], struct difference *d, struct error *err) {
  double allowed = compare_rounding_share * size;
  size_t which = 0;
  while (which < blocks && !(most[which] > allowed)) {
    which++;
  }
  int status = which < blocks ? fill_block(pair, which, block, err) : 0;
  if (which < blocks && !status) {
    struct rows_part part = part_of(pair, block);
    difference_add(d, sides[0], sides[1], &part, allowed);
  }
  return status;
}

int pair_fill_scores(struct pair *pair, struct error *err) {
  size_t n = pair->n, rows = n < BLOCK_ROWS ? n : BLOCK_ROWS, blocks = (n + BLOCK_ROWS - 1) / BLOCK_ROWS;
  size_t width = pair->sides[0].width > pair->sides[1].width ? pair->sides[0].width : pair->sides[1].width;
  struct block block = {.panel = memory_new(width, AT_ONCE * sizeof(double), "keys", err)};
  block.most = block.panel ? memory_new(2 * blocks, sizeof *block.most, "differences", err) : NULL;
  block.bias_most = block.most ? block.most + blocks : NULL;
  bool held = block.most;
  for (int s = 0; s < 2; s++) {
    bool biased = instance_sites(pair->sides[s].instance) & PE_SITE_BIAS;
    if (held && biased) {
      block.bias[s] = memory_new_3d(pair->heads, rows, n, sizeof *block.bias[s], "biases", err);
      held = block.bias[s];
    }
    if (held) {
      block.scores[s] = memory_new_unset(pair->heads, rows, n, sizeof *block.scores[s], "scores", err);
      held = block.scores[s];
    }
  }
  pair->bias.identical = true;
  pair->scores.identical = true;
  int status = held ? run_blocks(pair, &block, blocks, err) : (int)err->code;
  if (!status) {
    status = find_first(pair, &block, block.bias_most, blocks, block.bias_size, block.bias, &pair->bias, err);
  }
  if (!status) {
    status = find_first(pair, &block, block.most, blocks, block.score_size, block.scores, &pair->scores, err);
  }
  for (int s = 0; s < 2; s++) {
    free(block.bias[s]);
    free(block.scores[s]);
  }
  free(block.most);
  free(block.panel);
  return status;
}
