#include "experiments/permutations.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t factorial(size_t n) {
  return n <= 1 ? 1 : n * factorial(n - 1);
}

/* The next permutation in lexicographic order, in place; false after the last. */
static bool advance(uint32_t *p, size_t n) {
  size_t i = n - 1;
  while (i > 0 && p[i - 1] >= p[i]) {
    i--;
  }
  if (n < 2 || i == 0) {
    return false;
  }
  size_t j = n - 1;
  while (p[j] <= p[i - 1]) {
    j--;
  }
  uint32_t swap = p[i - 1];
  p[i - 1] = p[j];
  p[j] = swap;
  for (size_t a = i, b = n - 1; a < b; a++, b--) {
    swap = p[a];
    p[a] = p[b];
    p[b] = swap;
  }
  return true;
}

static void fill_identity(uint32_t *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    p[i] = (uint32_t)i;
  }
}

static void fill_all(struct permutations *out, size_t moved) {
  fill_identity(out->items, out->n);
  for (size_t row = 1; row < out->count; row++) {
    uint32_t *p = out->items + row * out->n;
    memcpy(p, p - out->n, out->n * sizeof *p);
    advance(p, moved);
  }
}

/* Identity, reversal, moved - 1 rotations, moved - 1 swaps of neighbours, then samples. */
static int fill_sample(struct permutations *out, size_t moved, const struct rng *rng, struct error *err) {
  uint32_t *drawn = memory_new(moved, sizeof *drawn, "permutation", err);
  if (!drawn) {
    return err->code;
  }
  for (size_t row = 0; row < out->count; row++) {
    uint32_t *p = out->items + row * out->n;
    fill_identity(p, out->n);
    if (row == 1) {
      for (size_t i = 0; i < moved; i++) {
        p[i] = (uint32_t)(moved - 1 - i);
      }
    } else if (row >= 2 && row < 1 + moved) {
      for (size_t i = 0; i < moved; i++) {
        p[i] = (uint32_t)((i + row - 1) % moved);
      }
    } else if (row >= 1 + moved && row < 2 * moved) {
      size_t i = row - 1 - moved;
      p[i] = (uint32_t)(i + 1);
      p[i + 1] = (uint32_t)i;
    } else if (row >= 2 * moved) {
      struct rng stream = *rng;
      stream.key[1] ^= (uint32_t)(row * 0x9e3779b9u);
      rng_permutation(&stream, (uint32_t)moved, drawn);
      memcpy(p, drawn, moved * sizeof *p);
    }
  }
  free(drawn);
  return 0;
}

int permutations_new(size_t n, size_t samples, bool keep_last, const struct rng *rng, struct permutations *out,
                     struct error *err) {
  size_t moved = keep_last && n > 0 ? n - 1 : n;
  *out = (struct permutations){.n = n, .exhaustive = moved <= PERMUTATIONS_EXHAUSTIVE_UP_TO};
  out->count = out->exhaustive ? factorial(moved) : 2 * moved + samples;
  out->items = memory_new_3d(out->count, n, 1, sizeof *out->items, "permutations", err);
  if (!out->items) {
    return err->code;
  }
  if (out->exhaustive) {
    fill_all(out, moved);
    return 0;
  }
  int status = fill_sample(out, moved, rng, err);
  if (status) {
    permutations_free(out);
  }
  return status;
}

bool permutation_is_identity(const uint32_t *permutation, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (permutation[i] != i) {
      return false;
    }
  }
  return true;
}

bool permutation_is_reversal(const uint32_t *permutation, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (permutation[i] != n - 1 - i) {
      return false;
    }
  }
  return true;
}

void permutations_free(struct permutations *permutations) {
  free(permutations->items);
  permutations->items = NULL;
}
