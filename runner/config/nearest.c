#include "config/plan.h"

#include <stdbool.h>
#include <string.h>

enum { NEAREST_MAX_LENGTH = 64 };

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t smallest(size_t a, size_t b, size_t c) {
  size_t ab = a < b ? a : b;
  return ab < c ? ab : c;
}

/* Insertions, deletions, replacements and swaps of neighbours (optimal string alignment) from a to b; letters of
 * another case are the same. */
static size_t edit_distance(const char *a, size_t length_a, const char *b, size_t length_b) {
  size_t rows[3][NEAREST_MAX_LENGTH + 1];
  for (size_t j = 0; j <= length_b; j++) {
    rows[0][j] = j;
  }
  for (size_t i = 1; i <= length_a; i++) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= length_b; j++) {
      char from = lower(a[i - 1]), to = lower(b[j - 1]);
      row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (from != to));
      if (i > 1 && j > 1 && from == lower(b[j - 2]) && lower(a[i - 2]) == to && two_above[j - 2] + 1 < row[j]) {
        row[j] = two_above[j - 2] + 1;
      }
    }
  }
  return rows[length_a % 3][length_b];
}

/* The only one of `names` that starts with `name`, or NULL. */
static const char *only_with_start(const char *name, size_t length, const char *const *names) {
  const char *found = NULL;
  for (; *names; names++) {
    if (!strncmp(*names, name, length)) {
      if (found) {
        return NULL;
      }
      found = *names;
    }
  }
  return found;
}

const char *config_nearest(const char *name, const char *const *names) {
  size_t length = strnlen(name, NEAREST_MAX_LENGTH + 1);
  if (length == 0 || length > NEAREST_MAX_LENGTH) {
    return NULL;
  }
  size_t best = (length < 3 ? 1 : length / 3) + 1;
  const char *found = NULL;
  for (const char *const *other = names; *other; other++) {
    size_t other_length = strnlen(*other, NEAREST_MAX_LENGTH + 1);
    if (other_length > NEAREST_MAX_LENGTH || other_length + best < length || length + best < other_length) {
      continue;
    }
    size_t distance = edit_distance(name, length, *other, other_length);
    if (distance < best && distance < other_length) {
      best = distance;
      found = *other;
    }
  }
  return !found && length >= 3 ? only_with_start(name, length, names) : found;
}
