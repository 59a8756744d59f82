#include "attention/block.h"

#include "base/matrix.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)ROWS_TILE % (int)PRODUCT_PANEL == 0, "a column tile is made of whole panels of keys");

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static size_t rounded_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/* ---- memory of a thread -------------------------------------------------------------------------------------------
 */

int block_space_init(struct block_space *space, const struct attention_input *input,
                     const struct attention_output *output, const struct product_method *product, size_t block_rows,
                     struct error *err) {
  const char *what = "attention scores";
  struct rows_state *rows = &space->rows;
  *space =
      (struct block_space){.q = memory_new_unset(product->query_bytes(block_rows, input->width), 1, 1, 1, what, err),
                           .tile = memory_new_unset(2, BLOCK_STRIP, ROWS_TILE, sizeof(float), what, err),
                           .weight = memory_new(block_rows, sizeof(float), what, err)};
  *rows = (struct rows_state){.max = memory_new(block_rows, sizeof *rows->max, what, err),
                              .recent = memory_new(block_rows, sizeof *rows->recent, what, err),
                              .sums = memory_new(block_rows, sizeof *rows->sums, what, err),
                              .distances = memory_new(block_rows, sizeof *rows->distances, what, err),
                              .ref = memory_new(block_rows, sizeof *rows->ref, what, err),
                              .limit = memory_new(block_rows, sizeof *rows->limit, what, err),
                              .moved = memory_new(block_rows, sizeof *rows->moved, what, err)};
  if (!space->q || !space->tile || !space->weight || !rows->max || !rows->recent || !rows->sums || !rows->distances ||
      !rows->ref || !rows->limit || !rows->moved) {
    return ERROR_MEMORY;
  }
  if (!output->mass_by_distance && !output->mass_on_first && !output->weights && !output->context) {
    return 0;
  }
  /* An odd number of cache lines, so that the rows do not all fall on the same sets of a cache. */
  size_t lines = (rounded_up(input->nk, ROWS_VECTOR) + ROWS_MARGIN) / ROWS_VECTOR;
  space->e_stride = (lines | 1) * ROWS_VECTOR;
  space->ref_stride = input->nk / ROWS_TILE + 2;
  space->memory = memory_new_3d(block_rows + 1, space->e_stride, 1, sizeof(float), what, err);
  space->ref = memory_new_3d(block_rows, space->ref_stride, 1, sizeof(float), what, err);
  space->written = memory_new(block_rows, sizeof *space->written, what, err);
  space->e = space->memory ? space->memory + ROWS_MARGIN : NULL;
  return space->memory && space->ref && space->written ? 0 : ERROR_MEMORY;
}

void block_space_free(struct block_space *space) {
  free(space->q);
  free(space->tile);
  free(space->weight);
  free(space->rows.max);
  free(space->rows.recent);
  free(space->rows.sums);
  free(space->rows.distances);
  free(space->rows.ref);
  free(space->rows.limit);
  free(space->rows.moved);
  free(space->memory);
  free(space->ref);
  free(space->written);
}

/* ---- scores -------------------------------------------------------------------------------------------------------
 */

/* i + nk - nq of the block's first row: the key that stands where it stands. */
static ptrdiff_t diagonal_of(const struct block *block) {
  return (ptrdiff_t)block->row + (ptrdiff_t)block->input->nk - (ptrdiff_t)block->input->nq;
}

/* Keys 0 .. n - 1 are not hidden from row r of the block by the causal mask. */
static size_t seen_by(const struct block *block, size_t r) {
  ptrdiff_t n = diagonal_of(block) + (ptrdiff_t)r + 1;
  if (!block->input->causal) {
    return block->input->nk;
  }
  return n > 0 ? smaller((size_t)n, block->input->nk) : 0;
}

static bool begin(const struct block *block, const struct block_space *space) {
  const struct attention_input *in = block->input;
  const float *q = in->q + (block->head * in->nq + block->row) * in->width;
  rows_state_reset(&space->rows, block->n_rows);
  return block->product->pack_queries(q, block->n_rows, in->width, (float)in->scale, space->q);
}

/* Rows whose scores are made at a time: a tile of them stays in the first cache. */
struct strip {
  size_t r, n_rows;     /* rows r .. r + n_rows - 1 of the block */
  size_t n_filled;      /* columns of e that it fills: what its last row sees, rounded up */
  size_t n_seen;        /* columns that all its rows see */
  struct product whole; /* of a tile of ROWS_TILE columns */
};

/* A strip and some columns. */
struct tile {
  const struct strip *strip;
  size_t r, n_rows;
  size_t column, n; /* n: a multiple of ROWS_VECTOR */
  float *scores;    /* [n_rows][ROWS_TILE] */
};

/* The bias by distance, and -INFINITY where a key is hidden, in a tile where some are or that is kept. */
static void finish_edge(const struct block *block, const struct tile *tile, const float *bias) {
  const uint8_t *padding = block->input->padding_k;
  for (size_t r = 0; r < tile->n_rows; r++) {
    float *s = tile->scores + r * ROWS_TILE;
    size_t seen = seen_by(block, tile->r + r);
    size_t n_seen = seen > tile->column ? smaller(seen - tile->column, tile->n) : 0;
    for (size_t j = 0; bias && j < n_seen; j++) {
      s[j] += *(bias + r - j);
    }
    for (size_t j = 0; padding && j < n_seen; j++) {
      s[j] = padding[tile->column + j] ? -INFINITY : s[j];
    }
    for (size_t j = n_seen; j < tile->n; j++) {
      s[j] = -INFINITY;
    }
  }
}

static void keep_logits(const struct block *block, const struct tile *tile) {
  const struct attention_input *in = block->input;
  for (size_t r = 0; r < tile->n_rows; r++) {
    float *logits = block->output->logits + (block->head * in->nq + block->row + tile->r + r) * in->nk;
    size_t seen = seen_by(block, tile->r + r);
    for (size_t j = tile->column; j < smaller(tile->column + tile->n, seen); j++) {
      bool padded = in->padding_k && in->padding_k[j];
      logits[j] = padded ? NAN : tile->scores[r * ROWS_TILE + j - tile->column];
    }
  }
}

static struct product_call call_of(const struct block *block, const struct block_space *space,
                                   const struct tile *tile) {
  size_t width = block->input->width;
  return (struct product_call){.product = &tile->strip->whole,
                               .panels =
                                   block->panels + tile->column / PRODUCT_PANEL * block->product->panel_bytes(width),
                               .q = (const unsigned char *)space->q + block->product->query_bytes(tile->r, width),
                               .c = tile->scores};
}

static void make_scores(const struct block *block, const struct block_space *space, const struct tile *tile) {
  struct product_call call = call_of(block, space, tile);
  if (tile->n == ROWS_TILE) {
    product_run(call.product, call.panels, call.q, call.c);
  } else {
    const struct product part = block->product->of_shape(block->input->width, tile->n_rows, tile->n, ROWS_TILE);
    product_run(&part, call.panels, call.q, call.c);
  }
}

/* A tile whose scores have been made joins its rows; beside that, the scores of `next` are made, if there is one. */
static int add_tile(const struct block *block, const struct block_space *space, const struct tile *tile,
                    const struct tile *next, struct error *err) {
  const struct attention_input *in = block->input;
  size_t column = tile->column, row = block->row + tile->r;
  float *e = space->e ? space->e + tile->r * space->e_stride + column : NULL, *s = tile->scores;
  if (in->bias) {
    size_t n_real = smaller(tile->n, in->nk - column);
    int status = in->bias(in->bias_context, block->head, row, tile->n_rows, column, n_real, s, ROWS_TILE, err);
    block->product->begin(); /* what was called may have used the registers for itself */
    if (status) {
      return status;
    }
  }
  const float *bias = NULL;
  if (in->bias_by_distance) {
    bias = in->bias_by_distance + block->head * (in->nq + in->nk - 1) + row + in->nk - 1 - column;
  }
  if (in->padding_k || column + tile->n > tile->strip->n_seen || block->output->logits) {
    finish_edge(block, tile, bias);
    bias = NULL;
  }
  struct rows_tile rows = {.s = s,
                           .s_stride = ROWS_TILE,
                           .n_rows = tile->n_rows,
                           .n = tile->n,
                           .bias = bias,
                           .e = e,
                           .e_stride = space->e_stride,
                           .ref = e ? space->ref + tile->r * space->ref_stride + column / ROWS_TILE : NULL,
                           .ref_stride = space->ref_stride,
                           .distance = block->output->mean_distance != NULL,
                           .distance_of_first = (float)(diagonal_of(block) + (ptrdiff_t)tile->r - (ptrdiff_t)column)};
  const struct product_call call = next ? call_of(block, space, next) : (struct product_call){0};
  block->kernels->softmax(&rows, &space->rows, tile->r, next ? &call : NULL);
  if (block->output->logits) {
    keep_logits(block, tile);
  }
  return 0;
}

/* Columns of e that the strip with row r fills: what its last row sees, rounded up. */
static size_t filled_columns(const struct block *block, size_t r) {
  size_t last = smaller(r / BLOCK_STRIP * BLOCK_STRIP + BLOCK_STRIP, block->n_rows) - 1;
  return rounded_up(seen_by(block, last), ROWS_VECTOR);
}

/* The i-th tile of columns to be visited: first the one where the largest logit is likely, so that the rows' references
 * stay; then the others, in every other block from the last one to the first, so that it begins with those that the
 * cache still holds from the block before. */
static size_t tile_in_order(const struct block *block, size_t n_tiles, size_t i) {
  ptrdiff_t likely = diagonal_of(block) - block->likely;
  size_t first = likely > 0 ? smaller((size_t)likely / ROWS_TILE, n_tiles - 1) : 0;
  if (i == 0) {
    return first;
  }
  size_t other = block->backwards ? n_tiles - 1 - i : i - 1; /* of those without `first` */
  return other < first ? other : other + 1;
}

/* The way through the tiles of a block: by columns, and strip by strip in the same columns. */
struct walk {
  const struct block *block;
  const struct block_space *space;
  struct strip strips[(ROWS_MAX + BLOCK_STRIP - 1) / BLOCK_STRIP];
  size_t n_strips, n_tiles;
  size_t i, strip; /* of the next tile */
  size_t taken;    /* tiles so far */
};

static struct walk walk_of(const struct block *block, const struct block_space *space) {
  struct walk walk = {.block = block, .space = space, .n_tiles = (block->n_columns + ROWS_TILE - 1) / ROWS_TILE};
  for (size_t r = 0; r < block->n_rows; r += BLOCK_STRIP) {
    size_t n_rows = smaller(BLOCK_STRIP, block->n_rows - r);
    walk.strips[walk.n_strips++] =
        (struct strip){.r = r,
                       .n_rows = n_rows,
                       .n_filled = filled_columns(block, r),
                       .n_seen = seen_by(block, r),
                       .whole = block->product->of_shape(block->input->width, n_rows, ROWS_TILE, ROWS_TILE)};
  }
  return walk;
}

/* False at the end. */
static bool walk_on(struct walk *walk, struct tile *tile) {
  for (; walk->i < walk->n_tiles; walk->i++, walk->strip = 0) {
    size_t column = tile_in_order(walk->block, walk->n_tiles, walk->i) * ROWS_TILE;
    while (walk->strip < walk->n_strips) {
      const struct strip *strip = &walk->strips[walk->strip++];
      if (column < strip->n_filled) {
        *tile = (struct tile){.strip = strip,
                              .r = strip->r,
                              .n_rows = strip->n_rows,
                              .column = column,
                              .n = smaller(ROWS_TILE, strip->n_filled - column),
                              .scores = walk->space->tile + walk->taken++ % 2 * BLOCK_STRIP * ROWS_TILE};
        return true;
      }
    }
  }
  return false;
}

static int add_tiles(const struct block *block, const struct block_space *space, struct error *err) {
  struct walk walk = walk_of(block, space);
  struct tile tile, next = {0};
  size_t since_flush = 0;
  bool made = false; /* the scores of `tile` are */
  for (bool more = walk_on(&walk, &tile); more; tile = next) {
    if (!made) {
      make_scores(block, space, &tile);
    }
    more = walk_on(&walk, &next);
    made = more && block->kernels->beside && next.n == ROWS_TILE;
    int status = add_tile(block, space, &tile, made ? &next : NULL, err);
    if (status) {
      return status;
    }
    bool column_done = !more || next.column != tile.column;
    if (column_done && ++since_flush == block->kernels->run) {
      block->kernels->flush(&space->rows, block->n_rows);
      since_flush = 0;
    }
  }
  block->kernels->flush(&space->rows, block->n_rows);
  return 0;
}

/* ---- what is wanted of the rows -----------------------------------------------------------------------------------
 */

static double sum_of_lanes(const double lanes[ROWS_SUMS]) {
  double sum = 0.0;
  for (size_t lane = 0; lane < ROWS_SUMS; lane++) {
    sum += lanes[lane];
  }
  return sum;
}

/* entropy = -sum a ln a = ln sum e - (sum e (s - ref)) / sum e */
static void finish_row(const struct block *block, const struct block_space *space, size_t r) {
  const struct attention_output *out = block->output;
  const double *sums = space->rows.sums[r];
  double sum = sum_of_lanes(sums);
  bool empty = sum == 0.0;
  double inverse = empty ? 0.0 : 1.0 / sum;
  double log_sum = empty ? -(double)INFINITY : log(sum);
  size_t at = block->head * block->input->nq + block->row + r;
  space->weight[r] = (float)inverse;
  if (out->entropy) {
    /* Rounding must not make the entropy of a single key negative. */
    double entropy = empty ? 0.0 : log_sum - sum_of_lanes(sums + ROWS_SUMS) * inverse;
    out->entropy[at] = entropy < 0.0 ? 0.0 : entropy;
  }
  if (out->log_sum_exp) {
    out->log_sum_exp[at] = (double)space->rows.ref[r] + log_sum;
  }
  if (out->max_logit) {
    out->max_logit[at] = (double)rows_largest(space->rows.max[r]);
  }
  if (out->mean_distance) {
    out->mean_distance[at] = sum_of_lanes(space->rows.distances[r]) * inverse;
  }
}

/* Tiles that came before the row's reference moved for the last time. Most of them have the same one. */
static void adjust_to_last_reference(const struct block *block, const struct block_space *space, size_t r) {
  const float *ref = space->ref + r * space->ref_stride;
  float last = space->rows.ref[r], adjusted = last, factor = 1.0f;
  size_t n_filled = space->rows.moved[r] ? filled_columns(block, r) : 0;
  for (size_t column = 0; column < n_filled; column += ROWS_TILE) {
    float was = ref[column / ROWS_TILE];
    if (was == last) {
      continue;
    }
    if (was != adjusted) {
      factor = (float)exp((double)was - (double)last);
      adjusted = was;
    }
    block->kernels->scale(space->e + r * space->e_stride + column, smaller(ROWS_TILE, n_filled - column), factor);
  }
}

static void keep_weights(const struct block *block, const struct block_space *space) {
  const struct attention_input *in = block->input;
  for (size_t r = 0; r < block->n_rows; r++) {
    float *weights = block->output->weights + (block->head * in->nq + block->row + r) * in->nk;
    const float *e = space->e + r * space->e_stride;
    for (size_t j = 0; j < in->nk; j++) {
      weights[j] = j < block->n_columns ? e[j] * space->weight[r] : 0.0f;
    }
  }
}

/* context [n_rows][value_width] = weights times values. A hidden key has e = 0, which times infinity would not be. */
static void keep_context(const struct block *block, const struct block_space *space) {
  const struct attention_input *in = block->input;
  size_t width = in->value_width, kv_head = block->head / (in->n_heads / in->n_kv_heads);
  float *context = block->output->context + (block->head * in->nq + block->row) * width;
  const float *v = in->v + kv_head * in->nk * width;
  memset(context, 0, block->n_rows * width * sizeof *context);
  if (block->n_columns == 0 || width == 0) {
    return;
  }
  if (block->values_finite) {
    matrix_product(block->n_rows, width, block->n_columns, (struct matrix){space->e, space->e_stride},
                   (struct matrix){v, width}, false, context, width);
  }
  for (size_t r = 0; r < block->n_rows; r++) {
    for (size_t j = 0; !block->values_finite && j < seen_by(block, r); j++) {
      bool padded = in->padding_k && in->padding_k[j];
      for (size_t c = 0; !padded && c < width; c++) {
        context[r * width + c] += space->e[r * space->e_stride + j] * v[j * width + c];
      }
    }
    for (size_t c = 0; c < width; c++) {
      context[r * width + c] *= space->weight[r];
    }
  }
}

/* Distances handed over at a time. */
enum { MASS_PIECE = 1024 };

static void add_mass(const struct block *block, const struct block_space *space) {
  size_t first = block->output->mass_first_row;
  for (size_t r = 0; r < block->n_rows && block->row + r < first; r++) {
    space->weight[r] = 0.0f;
  }
  ptrdiff_t farthest = diagonal_of(block) + (ptrdiff_t)block->n_rows - 1; /* last row, key 0 */
  size_t n = block->n_columns + block->n_rows - 1;
  if (block->input->causal) {
    n = smaller(n, (size_t)farthest + 1);
  }
  double *mass = block->mass + (block->largest_distance - farthest);
  /* Beginning where e was written last. */
  size_t n_pieces = (n + MASS_PIECE - 1) / MASS_PIECE;
  for (size_t i = 0; i < n_pieces; i++) {
    size_t x = (block->backwards ? i : n_pieces - 1 - i) * MASS_PIECE;
    block->kernels->add_diagonals(space->e + x, space->e_stride, block->n_rows, space->weight, mass + x,
                                  smaller(MASS_PIECE, n - x));
  }
}

static void finish_e(const struct block *block, const struct block_space *space) {
  for (size_t r = 0; r < block->n_rows; r++) {
    size_t n_filled = filled_columns(block, r);
    adjust_to_last_reference(block, space, r);
    if (block->output->mass_on_first) {
      float e = block->n_columns > 0 ? space->e[r * space->e_stride] : 0.0f;
      block->output->mass_on_first[block->head * block->input->nq + block->row + r] = (double)(e * space->weight[r]);
    }
    if (n_filled < space->written[r]) {
      memset(space->e + r * space->e_stride + n_filled, 0, (space->written[r] - n_filled) * sizeof(float));
    }
    space->written[r] = n_filled;
  }
  if (block->output->weights) {
    keep_weights(block, space);
  }
  if (block->output->context) {
    keep_context(block, space);
  }
  if (block->mass && block->n_columns > 0 && block->row + block->n_rows > block->output->mass_first_row) {
    add_mass(block, space);
  }
}

int block_run(const struct block *block, const struct block_space *space, struct error *err) {
  const struct attention_input *in = block->input;
  if (!begin(block, space)) {
    atomic_store(block->refused, true);
    return 0;
  }
  block->product->begin();
  int status = add_tiles(block, space, err);
  block->product->end();
  if (status) {
    return status;
  }
  for (size_t r = 0; r < block->n_rows; r++) {
    finish_row(block, space, r);
    for (size_t j = seen_by(block, r); block->output->logits && j < in->nk; j++) {
      block->output->logits[(block->head * in->nq + block->row + r) * in->nk + j] = NAN;
    }
  }
  if (space->e) {
    finish_e(block, space);
  }
  return 0;
}
