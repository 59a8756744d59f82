#include "attention/partition.h"

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

size_t partition_columns(const struct partition *partition, size_t end_row) {
  if (!partition->causal) {
    return partition->nk;
  }
  size_t end = end_row + partition->nk;
  return end > partition->nq ? smaller(end - partition->nq, partition->nk) : 0;
}

/* One more than the columns: a block costs something even where it sees nothing. */
static double block_work(const struct partition *partition, size_t block) {
  size_t end = smaller(partition->nq, (block + 1) * partition->block_rows);
  return 1.0 + (double)partition_columns(partition, end);
}

void partition_rows(struct partition *partition, size_t nq, size_t nk, bool causal, size_t block_rows) {
  *partition = (struct partition){.nq = nq, .nk = nk, .causal = causal, .block_rows = block_rows};
  size_t n_blocks = (nq + block_rows - 1) / block_rows;
  size_t n_chunks = smaller(PARTITION_CHUNKS, n_blocks);
  double total = 0.0, done = 0.0;
  for (size_t block = 0; block < n_blocks; block++) {
    total += block_work(partition, block);
  }
  size_t chunk = 0;
  for (size_t block = 0; block < n_blocks; block++) {
    done += block_work(partition, block);
    size_t blocks_left = n_blocks - block - 1, chunks_left = n_chunks - chunk - 1;
    bool full = done >= total * (double)(chunk + 1) / (double)n_chunks;
    if ((full && chunks_left > 0) || blocks_left == chunks_left) {
      partition->first_row[++chunk] = smaller(nq, (block + 1) * block_rows);
    }
  }
  partition->n_chunks = n_chunks;
}

size_t partition_distances(const struct partition *partition, size_t chunk, ptrdiff_t *largest) {
  ptrdiff_t shift = (ptrdiff_t)partition->nk - (ptrdiff_t)partition->nq;
  ptrdiff_t first = (ptrdiff_t)partition->first_row[chunk], end = (ptrdiff_t)partition->first_row[chunk + 1];
  *largest = end - 1 + shift;
  ptrdiff_t smallest = partition->causal ? 0 : first + shift - ((ptrdiff_t)partition->nk - 1);
  return *largest >= smallest ? (size_t)(*largest - smallest) + 1 : 0;
}
