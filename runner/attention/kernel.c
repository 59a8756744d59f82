/* attention_run: the heads in groups whose keys are packed together; each head cut into chunks of row blocks, which the
 * pool works off. */
#include "attention/attention.h"

#include "attention/block.h"
#include "attention/partition.h"
#include "attention/product.h"
#include "base/memory.h"

#include <assert.h>
#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Packed keys and partial sums of a group of heads take about this much, or what a single head takes. */
static const size_t group_bytes = (size_t)8 << 20;

/* Below so many multiplications, waking threads takes longer than the work. */
static const double threads_from = 2e6;

enum { PANELS_PER_UNIT = 8 };

struct run {
  const struct attention_input *input;
  const struct attention_output *output;
  const struct rows_kernels *kernels;
  struct partition partition;
  size_t heads_per_kv_head;
  bool values_finite;
  struct block_space *spaces; /* [threads] */
  unsigned n_spaces;

  size_t group_size; /* key heads of a group */
  size_t group;      /* first key head of the present one */
  float *panels;     /* [group_size][n_panels] */
  size_t n_panels;
  double *mass;                                 /* partial sums, [query heads of the group][mass_stride] */
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

/* ---- units of the pool --------------------------------------------------------------------------------------------
 */

static size_t units_of_panels(const struct run *run) {
  return (run->n_panels + PANELS_PER_UNIT - 1) / PANELS_PER_UNIT;
}

static int pack_keys(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  const struct run *run = context;
  const struct attention_input *in = run->input;
  size_t head = unit / units_of_panels(run), first = unit % units_of_panels(run) * PANELS_PER_UNIT;
  for (size_t panel = first; panel < smaller(first + PANELS_PER_UNIT, run->n_panels); panel++) {
    size_t key = panel * PRODUCT_PANEL;
    product_pack(in->k + ((run->group + head) * in->nk + key) * in->width, smaller(PRODUCT_PANEL, in->nk - key),
                 in->width, run->panels + (head * run->n_panels + panel) * product_panel_size(in->width));
  }
  return 0;
}

static int run_chunk(void *context, size_t unit, unsigned thread, struct error *err) {
  const struct run *run = context;
  const struct partition *partition = &run->partition;
  size_t head = unit / partition->n_chunks, chunk = unit % partition->n_chunks; /* head: of the group */
  size_t end = partition->first_row[chunk + 1];
  struct block block = {.input = run->input,
                        .output = run->output,
                        .kernels = run->kernels,
                        .panels = run->panels +
                                  head / run->heads_per_kv_head * run->n_panels * product_panel_size(run->input->width),
                        .values_finite = run->values_finite,
                        .head = run->group * run->heads_per_kv_head + head,
                        .largest_distance = run->largest_distance[chunk]};
  if (run->mass) {
    block.mass = run->mass + head * run->mass_stride + run->mass_of_chunk[chunk];
    memset(block.mass, 0,
           (partition_distances(partition, chunk, &block.largest_distance) + ROWS_EXCESS) * sizeof(double));
  }
  for (block.row = partition->first_row[chunk]; block.row < end; block.row += block.n_rows) {
    block.n_rows = smaller(partition->block_rows, end - block.row);
    block.n_columns = partition_columns(partition, block.row + block.n_rows);
    block.backwards = block.row / partition->block_rows % 2 == 1;
    int status = block_run(&block, &run->spaces[thread], err);
    if (status) {
      return status;
    }
  }
  return 0;
}

/* mass_by_distance of one head: chunks in order, both signs of a distance together, mean over the rows. */
static int add_up_mass(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  const struct run *run = context;
  const struct partition *partition = &run->partition;
  size_t nk = partition->nk;
  double n_rows = (double)(partition->nq - run->output->mass_first_row);
  double *total = run->output->mass_by_distance + (run->group * run->heads_per_kv_head + unit) * nk;
  memset(total, 0, nk * sizeof *total);
  for (size_t chunk = 0; chunk < partition->n_chunks; chunk++) {
    ptrdiff_t largest;
    size_t n = partition_distances(partition, chunk, &largest);
    const double *mass = run->mass + unit * run->mass_stride + run->mass_of_chunk[chunk];
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
  return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

/* Scores of a block fill half of the second-level cache, if that leaves enough rows for the product to be fast. */
static size_t rows_of_block(const struct attention_input *input) {
  long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  size_t bytes = cache > 0 ? (size_t)cache : (size_t)1 << 20;
  size_t rows = bytes / 2 / (larger(input->nk, 1) * sizeof(float)) / 16 * 16;
  return smaller(larger(rows, 16), ROWS_MAX);
}

static int make_spaces(struct run *run, unsigned threads, struct error *err) {
  run->spaces = memory_new(threads, sizeof *run->spaces, "attention", err);
  if (!run->spaces) {
    return ERROR_MEMORY;
  }
  for (; run->n_spaces < threads; run->n_spaces++) {
    int status = block_space_init(&run->spaces[run->n_spaces], run->input, run->output, run->partition.block_rows, err);
    if (status) {
      run->n_spaces++;
      return status;
    }
  }
  return 0;
}

static int make_groups(struct run *run, struct error *err) {
  const struct attention_input *input = run->input;
  bool by_distance = run->output->mass_by_distance != NULL;
  for (size_t chunk = 0; by_distance && chunk < run->partition.n_chunks; chunk++) {
    run->mass_of_chunk[chunk] = run->mass_stride;
    run->mass_stride += partition_distances(&run->partition, chunk, &run->largest_distance[chunk]) + ROWS_EXCESS;
  }
  run->n_panels = product_panels(input->nk);
  size_t bytes = run->n_panels * product_panel_size(input->width) * sizeof(float) +
                 run->heads_per_kv_head * run->mass_stride * sizeof(double);
  size_t at_once = larger(1, group_bytes / larger(bytes, 1));
  size_t n_groups = (input->n_kv_heads + at_once - 1) / at_once;
  run->group_size = (input->n_kv_heads + n_groups - 1) / n_groups;
  run->panels = memory_new_3d(run->group_size, run->n_panels, product_panel_size(input->width), sizeof(float),
                              "packed keys", err);
  if (by_distance) {
    run->mass = memory_new_3d(run->group_size, run->heads_per_kv_head, run->mass_stride, sizeof(double),
                              "attention by distance", err);
  }
  return run->panels && (run->mass || !by_distance) ? 0 : ERROR_MEMORY;
}

static void free_run(struct run *run) {
  for (unsigned thread = 0; thread < run->n_spaces; thread++) {
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
  size_t heads = smaller(run->group_size, run->input->n_kv_heads - run->group);
  size_t query_heads = heads * run->heads_per_kv_head;
  int status = pool_run(pool, heads * units_of_panels(run), pack_keys, run, err);
  if (!status) {
    status = pool_run(pool, query_heads * run->partition.n_chunks, run_chunk, run, err);
  }
  if (!status && run->mass) {
    status = pool_run(pool, query_heads, add_up_mass, run, err);
  }
  return status;
}

int attention_run(const struct attention_input *input, const struct attention_output *output, struct pool *pool,
                  struct error *err) {
  assert(input->n_kv_heads > 0 && input->n_heads % input->n_kv_heads == 0 && input->width > 0);
  assert(!output->context || input->v || input->nk == 0);
  assert(!(input->bias && input->bias_by_distance));
  assert(output->mass_first_row <= input->nq);
  /* The pool shares out the work; threads of the library's own would only get into its way. */
  openblas_set_num_threads(1);
  struct run run = {.input = input,
                    .output = output,
                    .kernels = rows_best(),
                    .heads_per_kv_head = input->n_heads / input->n_kv_heads,
                    .values_finite = true};
  if (output->context) {
    run.values_finite = all_finite(input->v, input->n_kv_heads * input->nk * input->value_width);
  }
  partition_rows(&run.partition, input->nq, input->nk, input->causal, rows_of_block(input));
  double work = (double)input->n_heads * (double)input->nq * (double)input->nk * (double)input->width;
  pool = work < threads_from ? NULL : pool;
  int status = make_spaces(&run, pool_threads(pool), err);
  if (!status) {
    status = make_groups(&run, err);
  }
  for (; !status && run.group < input->n_kv_heads; run.group += run.group_size) {
    status = run_group(&run, pool, err);
  }
  free_run(&run);
  return status;
}

/* One sentence for each pair, so that nothing has to be put together and kept. */
const char *attention_kernel_name(void) {
  static const char *const names[2][3] = {{"openblas, portable", "openblas, avx2", "openblas, avx512"},
                                          {"libxsmm, portable", "libxsmm, avx2", "libxsmm, avx512"}};
  size_t library = strcmp(product_library(), "libxsmm") == 0;
  const struct rows_kernels *best = rows_best();
  return names[library][best == rows_portable() ? 0 : best == rows_avx2() ? 1 : 2];
}
