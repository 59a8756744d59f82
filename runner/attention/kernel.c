/* attention_run: heads cut into chunks, chunks into row blocks, worked off by the pool. */
#include "attention/attention.h"

#include "attention/block.h"
#include "attention/partition.h"
#include "base/memory.h"

#include <assert.h>
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 32 };

struct run {
  const struct attention_input *input;
  const struct attention_output *output;
  struct partition partition;
  struct block_space *spaces;                   /* [threads] */
  double *mass;                                 /* partial sums, [n_heads][mass_stride] */
  size_t mass_stride;                           /* of all chunks of a head */
  size_t mass_of_chunk[PARTITION_CHUNKS];       /* where they begin */
  ptrdiff_t largest_distance[PARTITION_CHUNKS]; /* of their first element */
};

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static int run_chunk(void *context, size_t unit, unsigned thread, struct error *err) {
  const struct run *run = context;
  const struct partition *partition = &run->partition;
  size_t head = unit / partition->n_chunks, chunk = unit % partition->n_chunks;
  double *mass = run->mass ? run->mass + head * run->mass_stride + run->mass_of_chunk[chunk] : NULL;
  size_t end = partition->first_row[chunk + 1];
  for (size_t row = partition->first_row[chunk]; row < end; row += partition->block_rows) {
    size_t n_rows = smaller(partition->block_rows, end - row);
    struct block block = {
        .head = head, .row = row, .n_rows = n_rows, .n_columns = partition_columns(partition, row + n_rows)};
    int status =
        block_run(run->input, run->output, &block, &run->spaces[thread], mass, run->largest_distance[chunk], err);
    if (status) {
      return status;
    }
  }
  return 0;
}

/* mass_by_distance of one head: chunks in order, both signs of a distance together, mean over the rows. */
static void add_up_mass(const struct run *run, size_t head) {
  const struct partition *partition = &run->partition;
  size_t nk = partition->nk, n_rows = partition->nq - run->output->mass_first_row;
  double *total = run->output->mass_by_distance + head * nk;
  for (size_t chunk = 0; chunk < partition->n_chunks; chunk++) {
    ptrdiff_t largest;
    size_t n = partition_distances(partition, chunk, &largest);
    const double *mass = run->mass + head * run->mass_stride + run->mass_of_chunk[chunk];
    for (size_t x = 0; x < n; x++) {
      ptrdiff_t signed_distance = largest - (ptrdiff_t)x;
      size_t distance = (size_t)(signed_distance < 0 ? -signed_distance : signed_distance);
      if (distance < nk) {
        total[distance] += mass[x] / (double)n_rows;
      }
    }
  }
}

static int make_space(struct run *run, unsigned threads, struct error *err) {
  const struct attention_input *input = run->input;
  run->spaces = memory_new(threads, sizeof *run->spaces, "attention", err);
  for (unsigned thread = 0; run->spaces && thread < threads; thread++) {
    struct block_space *space = &run->spaces[thread];
    space->stride = input->nk;
    space->scores = memory_new_3d(BLOCK_ROWS, space->stride, 1, sizeof(float), "attention scores", err);
    if (!space->scores) {
      return ERROR_MEMORY;
    }
  }
  if (!run->spaces || !run->output->mass_by_distance) {
    return run->spaces ? 0 : ERROR_MEMORY;
  }
  for (size_t chunk = 0; chunk < run->partition.n_chunks; chunk++) {
    run->mass_of_chunk[chunk] = run->mass_stride;
    run->mass_stride += partition_distances(&run->partition, chunk, &run->largest_distance[chunk]);
  }
  run->mass = memory_new_3d(input->n_heads, run->mass_stride, 1, sizeof(double), "attention by distance", err);
  return run->mass ? 0 : ERROR_MEMORY;
}

static void free_space(struct run *run, unsigned threads) {
  for (unsigned thread = 0; run->spaces && thread < threads; thread++) {
    free(run->spaces[thread].scores);
  }
  free(run->spaces);
  free(run->mass);
}

int attention_run(const struct attention_input *input, const struct attention_output *output, struct pool *pool,
                  struct error *err) {
  assert(input->n_kv_heads > 0 && input->n_heads % input->n_kv_heads == 0 && input->width > 0);
  assert(!output->context || input->v || input->nk == 0);
  assert(!(input->bias && input->bias_by_distance));
  /* The pool shares out the work; threads of the library's own would only get into its way. */
  openblas_set_num_threads(1);
  struct run run = {.input = input, .output = output};
  unsigned threads = pool_threads(pool);
  partition_rows(&run.partition, input->nq, input->nk, input->causal, BLOCK_ROWS);
  int status = make_space(&run, threads, err);
  if (!status) {
    status = pool_run(pool, input->n_heads * run.partition.n_chunks, run_chunk, &run, err);
  }
  if (!status && output->mass_by_distance) {
    memset(output->mass_by_distance, 0, input->n_heads * input->nk * sizeof(double));
    for (size_t head = 0; head < input->n_heads; head++) {
      add_up_mass(&run, head);
    }
  }
  free_space(&run, threads);
  return status;
}

const char *attention_kernel_name(void) {
  return openblas_get_corename();
}
