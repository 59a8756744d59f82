/* attention_run: each head is cut into chunks of row blocks, which the pool works off. Long heads come in groups whose
 * keys are packed together; of short ones each is a unit of its own. */
#include "attention/attention.h"

#include "attention/block.h"
#include "attention/partition.h"
#include "attention/product.h"
#include "base/blas.h"
#include "base/memory.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Packed keys and partial sums of a group of heads take about this much, or what a single head takes. */
static const size_t group_bytes = (size_t)8 << 20;

/* Up to so many keys a head is one unit, if there are heads for all threads. */
static const size_t short_head = 1024;

/* Up to so many keys, packing for the split product and waking the tiles takes longer than they save. */
static const size_t shorter_for_float32 = 256;

/* Below so many multiplications, waking threads takes longer than the work. */
static const double threads_from = 4e6;

enum { PANELS_PER_UNIT = 8 };

struct run {
  const struct attention_input *input;
  const struct attention_output *output;
  const struct rows_kernels *kernels;
  const struct product_method *product;
  struct partition partition;
  size_t heads_per_kv_head;
  bool values_finite, head_is_unit;
  atomic_bool refused;        /* by the product: a value does not fit */
  struct block_space *spaces; /* [n_spaces], one for each thread, which makes it when it needs it */
  unsigned n_spaces;

  ptrdiff_t *likely; /* [n_heads], signed distance of the largest bias; NULL: no bias by distance */

  /* A slot has the packed keys of one key head and the partial sums of its query heads. In a group, slot i belongs to
   * key head group + i; where a head is a unit, each thread has one. */
  size_t n_slots, group;
  unsigned char *panels; /* [n_slots][n_panels] */
  size_t panel_bytes;
  double *mass;                                 /* [n_slots][heads_per_kv_head][mass_stride] */
  size_t n_panels;                              /* of a head */
  size_t mass_stride;                           /* of all chunks of a head */
  size_t mass_of_chunk[PARTITION_CHUNKS];       /* where they begin */
  ptrdiff_t largest_distance[PARTITION_CHUNKS]; /* of their first element */
};

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

/* ---- the work on a slot -------------------------------------------------------------------------------------------
 */

static void pack_keys(struct run *run, size_t kv_head, size_t slot, size_t first, size_t end) {
  const struct attention_input *in = run->input;
  for (size_t panel = first; panel < smaller(end, run->n_panels); panel++) {
    size_t key = panel * PRODUCT_PANEL;
    bool fits =
        run->product->pack_keys(in->k + (kv_head * in->nk + key) * in->width, smaller(PRODUCT_PANEL, in->nk - key),
                                in->width, run->panels + (slot * run->n_panels + panel) * run->panel_bytes);
    if (!fits) {
      atomic_store(&run->refused, true);
    }
  }
}

/* Partial sums of the i-th query head of a slot. */
static double *mass_of(const struct run *run, size_t slot, size_t i, size_t chunk) {
  return run->mass + (slot * run->heads_per_kv_head + i) * run->mass_stride + run->mass_of_chunk[chunk];
}

static int run_chunk(struct run *run, size_t kv_head, size_t slot, size_t i, size_t chunk, unsigned thread,
                     struct error *err) {
  const struct partition *partition = &run->partition;
  struct block_space *space = &run->spaces[thread];
  int status =
      space->q ? 0 : block_space_init(space, run->input, run->output, run->product, partition->block_rows, err);
  if (status) {
    return status;
  }
  size_t end = partition->first_row[chunk + 1];
  struct block block = {.input = run->input,
                        .output = run->output,
                        .kernels = run->kernels,
                        .product = run->product,
                        .panels = run->panels + slot * run->n_panels * run->panel_bytes,
                        .refused = &run->refused,
                        .values_finite = run->values_finite,
                        .head = kv_head * run->heads_per_kv_head + i,
                        .likely = run->likely ? run->likely[kv_head * run->heads_per_kv_head + i] : 0,
                        .largest_distance = run->largest_distance[chunk]};
  if (run->mass) {
    block.mass = mass_of(run, slot, i, chunk);
    size_t n = partition_distances(partition, chunk, &block.largest_distance) + ROWS_EXCESS;
    memset(block.mass, 0, n * sizeof *block.mass);
  }
  for (block.row = partition->first_row[chunk]; block.row < end; block.row += block.n_rows) {
    block.n_rows = smaller(partition->block_rows, end - block.row);
    block.n_columns = partition_columns(partition, block.row + block.n_rows);
    block.backwards = block.row / partition->block_rows % 2 == 1;
    status = block_run(&block, space, err);
    if (status) {
      return status;
    }
  }
  return 0;
}

/* mass_by_distance of one head: chunks in order, both signs of a distance together, mean over the rows. */
static void add_up_mass(const struct run *run, size_t kv_head, size_t slot, size_t i) {
  const struct partition *partition = &run->partition;
  size_t nk = partition->nk;
  double n_rows = (double)(partition->nq - run->output->mass_first_row);
  double *total = run->output->mass_by_distance + (kv_head * run->heads_per_kv_head + i) * nk;
  memset(total, 0, nk * sizeof *total);
  for (size_t chunk = 0; chunk < partition->n_chunks; chunk++) {
    ptrdiff_t largest;
    size_t n = partition_distances(partition, chunk, &largest);
    const double *mass = mass_of(run, slot, i, chunk);
    for (size_t x = 0; x < n; x++) {
      ptrdiff_t signed_distance = largest - (ptrdiff_t)x;
      size_t distance = (size_t)(signed_distance < 0 ? -signed_distance : signed_distance);
      if (distance < nk) {
        total[distance] += mass[x];
      }
    }
  }
  for (size_t distance = 0; distance < nk; distance++) {
    total[distance] /= n_rows;
  }
}

/* ---- units of the pool --------------------------------------------------------------------------------------------
 */

/* A short key head with its query heads. */
static int head_unit(void *context, size_t unit, unsigned thread, struct error *err) {
  struct run *run = context;
  pack_keys(run, unit, thread, 0, run->n_panels);
  for (size_t i = 0; i < run->heads_per_kv_head; i++) {
    for (size_t chunk = 0; chunk < run->partition.n_chunks; chunk++) {
      int status = run_chunk(run, unit, thread, i, chunk, thread, err);
      if (status) {
        return status;
      }
    }
    if (run->mass) {
      add_up_mass(run, unit, thread, i);
    }
  }
  return 0;
}

static size_t units_of_panels(const struct run *run) {
  return (run->n_panels + PANELS_PER_UNIT - 1) / PANELS_PER_UNIT;
}

static int pack_unit(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  struct run *run = context;
  size_t slot = unit / units_of_panels(run), first = unit % units_of_panels(run) * PANELS_PER_UNIT;
  pack_keys(run, run->group + slot, slot, first, first + PANELS_PER_UNIT);
  return 0;
}

static int chunk_unit(void *context, size_t unit, unsigned thread, struct error *err) {
  struct run *run = context;
  size_t head = unit / run->partition.n_chunks, chunk = unit % run->partition.n_chunks; /* head: of the group */
  size_t slot = head / run->heads_per_kv_head;
  return run_chunk(run, run->group + slot, slot, head % run->heads_per_kv_head, chunk, thread, err);
}

static int mass_unit(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  const struct run *run = context;
  size_t slot = unit / run->heads_per_kv_head;
  add_up_mass(run, run->group + slot, slot, unit % run->heads_per_kv_head);
  return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

/* Scores of a block fill half of the second-level cache, if that leaves enough rows for the product to be fast. */
static size_t rows_of_block(const struct attention_input *input, size_t at_least) {
  long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  size_t bytes = cache > 0 ? (size_t)cache : (size_t)1 << 20;
  size_t rows = bytes / 2 / (larger(input->nk, 1) * sizeof(float)) / at_least * at_least;
  return smaller(larger(rows, at_least), ROWS_MAX);
}

static int make_slots(struct run *run, unsigned threads, struct error *err) {
  const struct attention_input *input = run->input;
  bool by_distance = run->output->mass_by_distance != NULL;
  for (size_t chunk = 0; by_distance && chunk < run->partition.n_chunks; chunk++) {
    run->mass_of_chunk[chunk] = run->mass_stride;
    run->mass_stride += partition_distances(&run->partition, chunk, &run->largest_distance[chunk]) + ROWS_EXCESS;
  }
  run->n_panels = product_panels(input->nk);
  run->panel_bytes = run->product->panel_bytes(input->width);
  size_t bytes = run->n_panels * run->panel_bytes + run->heads_per_kv_head * run->mass_stride * sizeof(double);
  size_t at_once = larger(1, group_bytes / larger(bytes, 1));
  size_t n_groups = (input->n_kv_heads + at_once - 1) / at_once;
  run->n_slots = run->head_is_unit ? threads : (input->n_kv_heads + n_groups - 1) / n_groups;
  run->panels = memory_new_unset(run->n_slots, run->n_panels, run->panel_bytes, 1, "packed keys", err);
  if (by_distance) {
    run->mass = memory_new_3d(run->n_slots, run->heads_per_kv_head, run->mass_stride, sizeof(double),
                              "attention by distance", err);
  }
  return run->panels && (run->mass || !by_distance) ? 0 : ERROR_MEMORY;
}

/* Element x of a head's bias by distance belongs to the signed distance x - (nq - 1); those below 0 are hidden under a
 * causal mask. Of equal ones the nearest, from the query to the past. */
static int find_likely(struct run *run, struct error *err) {
  const struct attention_input *in = run->input;
  if (!in->bias_by_distance || in->nq == 0 || in->nk == 0) {
    return 0;
  }
  run->likely = memory_new(in->n_heads, sizeof *run->likely, "attention", err);
  if (!run->likely) {
    return ERROR_MEMORY;
  }
  size_t n = in->nq + in->nk - 1, here = in->nq - 1;
  for (size_t head = 0; head < in->n_heads; head++) {
    const float *bias = in->bias_by_distance + head * n;
    size_t best = here;
    for (size_t x = here + 1; x < n; x++) {
      best = bias[x] > bias[best] ? x : best;
    }
    for (size_t x = here; !in->causal && x-- > 0;) {
      best = bias[x] > bias[best] ? x : best;
    }
    run->likely[head] = (ptrdiff_t)best - (ptrdiff_t)here;
  }
  return 0;
}

static void free_run(struct run *run) {
  free(run->likely);
  for (unsigned thread = 0; run->spaces && thread < run->n_spaces; thread++) {
    block_space_free(&run->spaces[thread]);
  }
  free(run->spaces);
  free(run->panels);
  free(run->mass);
}

static bool all_finite(const float *x, size_t n) {
  float sum = 0.0f;
  for (size_t i = 0; i < n; i++) {
    sum += x[i] * 0.0f;
  }
  return sum == 0.0f;
}

/* ---- the call -----------------------------------------------------------------------------------------------------
 */

static int run_group(struct run *run, struct pool *pool, struct error *err) {
  size_t heads = smaller(run->n_slots, run->input->n_kv_heads - run->group);
  size_t query_heads = heads * run->heads_per_kv_head;
  int status = pool_run(pool, heads * units_of_panels(run), pack_unit, run, err);
  if (!status) {
    status = pool_run(pool, query_heads * run->partition.n_chunks, chunk_unit, run, err);
  }
  if (!status && run->mass) {
    status = pool_run(pool, query_heads, mass_unit, run, err);
  }
  return status;
}

static int run_heads(struct run *run, struct pool *pool, struct error *err) {
  if (run->head_is_unit) {
    return pool_run(pool, run->input->n_kv_heads, head_unit, run, err);
  }
  int status = 0;
  for (; !status && run->group < run->input->n_kv_heads; run->group += run->n_slots) {
    status = run_group(run, pool, err);
  }
  return status;
}

/* *refused: the product did not take a value, and the output is of no use. */
static int run_with(const struct product_method *product, const struct attention_input *input,
                    const struct attention_output *output, struct pool *pool, bool *refused, struct error *err) {
  struct run run = {.input = input,
                    .output = output,
                    .kernels = product == product_split() ? rows_tiles() : rows_best(),
                    .product = product,
                    .heads_per_kv_head = input->n_heads / input->n_kv_heads,
                    .values_finite = true};
  if (output->context) {
    run.values_finite = all_finite(input->v, input->n_kv_heads * input->nk * input->value_width);
  }
  partition_rows(&run.partition, input->nq, input->nk, input->causal, rows_of_block(input, product->rows));
  unsigned threads = pool_threads(pool);
  run.head_is_unit = input->nk <= short_head && input->n_kv_heads >= threads;
  run.n_spaces = threads;
  run.spaces = memory_new(threads, sizeof *run.spaces, "attention", err);
  int status = run.spaces ? make_slots(&run, threads, err) : ERROR_MEMORY;
  status = status ? status : find_likely(&run, err);
  status = status ? status : run_heads(&run, pool, err);
  free_run(&run);
  *refused = atomic_load(&run.refused);
  return status;
}

int attention_run_by(const struct product_method *product, const struct attention_input *input,
                     const struct attention_output *output, struct pool *pool, struct error *err) {
  assert(input->n_kv_heads > 0 && input->n_heads % input->n_kv_heads == 0 && input->width > 0);
  assert(!output->context || input->v || input->nk == 0);
  assert(!(input->bias && input->bias_by_distance));
  assert(output->mass_first_row <= input->nq);
  if (blas_open(err)) {
    return err->code;
  }
  double work = (double)input->n_heads * (double)input->nq * (double)input->nk * (double)input->width;
  pool = work < threads_from ? NULL : pool;
  bool refused;
  int status = run_with(product, input, output, pool, &refused, err);
  /* The whole call again: one call has one method, however its work was spread. */
  return status || !refused ? status : run_with(product_float32(), input, output, pool, &refused, err);
}

int attention_run(const struct attention_input *input, const struct attention_output *output, struct pool *pool,
                  struct error *err) {
  bool is_short = input->nk <= shorter_for_float32;
  return attention_run_by(is_short ? product_float32() : product_best(), input, output, pool, err);
}

/* One sentence for each pair, so that nothing has to be put together and kept. */
const char *attention_kernel_name(void) {
  static const char *const products[] = {"openblas", "libxsmm", "amx"};
  static const char *const names[3][3] = {{"openblas, portable", "openblas, avx2", "openblas, avx512"},
                                          {"libxsmm, portable", "libxsmm, avx2", "libxsmm, avx512"},
                                          {"amx, portable", "amx, avx2", "amx, avx512"}};
  size_t product = 0;
  while (strcmp(products[product], product_best()->name) != 0) {
    product++;
  }
  const struct rows_kernels *best = rows_best();
  return names[product][best == rows_portable() ? 0 : best == rows_avx2() ? 1 : 2];
}
