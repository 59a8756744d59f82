#include "base/rng.h"

#include <Random123/philox.h>
#include <assert.h>
#include <math.h>

static const double TURN = 6.283185307179586476925;

/* A block is one counter of the stream: 128 bits. Its number is the lower half of the counter, the name's hash the
 * upper half. */
static philox4x32_ctr_t rng_block(const struct rng *rng, uint64_t block) {
  philox4x32_ctr_t counter = {{(uint32_t)block, (uint32_t)(block >> 32), rng->stream[0], rng->stream[1]}};
  philox4x32_key_t key = {{rng->key[0], rng->key[1]}};
  return philox4x32(counter, key);
}

/* 52 random bits and a half: exact in double, never 0 or 1. */
static double rng_open_unit(uint32_t low, uint32_t high) {
  uint64_t bits = ((uint64_t)high << 32 | low) >> 12;
  return ((double)bits + 0.5) * 0x1p-52;
}

struct rng rng_stream(uint64_t seed, const char *name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, 64 bits */
  for (const char *c = name; *c; c++) {
    hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
  }
  return (struct rng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                      .stream = {(uint32_t)hash, (uint32_t)(hash >> 32)}};
}

uint32_t rng_bits(const struct rng *rng, uint64_t index) {
  return rng_block(rng, index / 4).v[index % 4];
}

double rng_uniform(const struct rng *rng, uint64_t index) {
  philox4x32_ctr_t block = rng_block(rng, index / 2);
  size_t first = (size_t)(index % 2) * 2;
  return rng_open_unit(block.v[first], block.v[first + 1]);
}

double rng_normal(const struct rng *rng, uint64_t index) {
  philox4x32_ctr_t block = rng_block(rng, index / 2);
  double radius = sqrt(-2 * log(rng_open_unit(block.v[0], block.v[1])));
  double angle = TURN * rng_open_unit(block.v[2], block.v[3]);
  return radius * (index % 2 ? sin(angle) : cos(angle));
}

void rng_normals(const struct rng *rng, uint64_t index, size_t n, double *out) {
  for (size_t i = 0; i < n;) {
    if ((index + i) % 2 || n - i < 2) {
      out[i] = rng_normal(rng, index + i);
      i++;
      continue;
    }
    philox4x32_ctr_t block = rng_block(rng, (index + i) / 2);
    double radius = sqrt(-2 * log(rng_open_unit(block.v[0], block.v[1])));
    double angle = TURN * rng_open_unit(block.v[2], block.v[3]);
    out[i] = radius * cos(angle);
    out[i + 1] = radius * sin(angle);
    i += 2;
  }
}

uint32_t rng_below(const struct rng *rng, uint64_t index, uint32_t bound) {
  assert(bound >= 1 && index < UINT64_C(1) << 56);
  /* Words below 2^32 mod bound are drawn again: what remains holds every remainder equally often. The top byte of the
   * block number counts the blocks that one element has used up. */
  uint32_t excess = (uint32_t)-bound % bound;
  for (uint64_t attempt = 0; attempt < 256; attempt++) {
    philox4x32_ctr_t block = rng_block(rng, index | attempt << 56);
    for (size_t word = 0; word < 4; word++) {
      if (block.v[word] >= excess) {
        return block.v[word] % bound;
      }
    }
  }
  return 0; /* 1024 words refused, each with a chance below one half: not to be met */
}

void rng_permutation(const struct rng *rng, uint32_t count, uint32_t *out) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t chosen = rng_below(rng, i, i + 1);
    out[i] = out[chosen];
    out[chosen] = i;
  }
}
