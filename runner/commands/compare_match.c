/* How far a tensor and what a variant would have written are apart, in units of what float32 leaves. */
#include "commands/compare_dump.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Bounds for one number, as measured on other people's code (tests/golden/data/README.md, "Tolerances"): `exact` where
 * only results are float32, `close` where angles are formed in float32, too, whose error grows with the position. */
static void bounds(const struct dump *dump, double value, double size, double position, double *exact, double *close) {
  switch (dump->kind) {
  case DUMP_INV_FREQ:
    *exact = 3e-7 * fabs(value);
    *close = 2e-6 * fabs(value);
    break;
  case DUMP_BIAS:
    *exact = 1e-6 * fabs(value) + 1e-7;
    *close = 1e-6 * fabs(value) + 1e-5;
    break;
  default:
    *exact = 3e-7 * size;
    *close = (1e-6 + 1.25e-7 * position) * size;
    break;
  }
}

static double largest_coordinate(const struct positions *positions, size_t row) {
  double most = 0;
  for (size_t axis = 0; axis < positions->axes; axis++) {
    most = fmax(most, fabs(positions->values[row * positions->axes + axis]));
  }
  return most;
}

/* The largest number that one element may come from. */
static double size_of(const struct dump *dump, const double *values) {
  double size = 0;
  size_t count = dump->heads * dump->rows * dump->columns;
  for (size_t i = 0; i < count; i++) {
    size = fmax(size, fabs(dump->in ? dump->in[i] : values[i]));
  }
  return size;
}

struct match dump_match(const struct dump *dump, const double *values, bool rounded) {
  struct match match = {.identical = true, .exact = true};
  double size = size_of(dump, values);
  size_t off_close = 0, count = dump->heads * dump->rows * dump->columns;
  bool found = false;
  for (size_t r = 0; r < dump->rows; r++) {
    double position = dump->kind == DUMP_INV_FREQ ? 0 : largest_coordinate(&dump->positions, r);
    for (size_t h = 0; h < dump->heads; h++) {
      for (size_t c = 0; c < dump->columns; c++) {
        size_t at = (h * dump->rows + r) * dump->columns + c;
        double exact, close, off = fabs(dump->data[at] - values[at]);
        bounds(dump, values[at], size, position, &exact, &close);
        match.identical = match.identical && (float)dump->data[at] == (float)values[at];
        match.exact = match.exact && off <= exact;
        match.largest = fmax(match.largest, off);
        off_close += !(off <= close);
        if (!found && !(off <= close)) {
          found = true;
          match.first = at;
          match.allowed = close;
        }
      }
    }
  }
  match.close = rounded ? off_close * 20 <= count : off_close == 0;
  return match;
}

int dump_same_columns(const struct dump *dump, const double *values, bool *same, struct error *err) {
  *same = false;
  if (dump->kind != DUMP_EMBEDDING) {
    return 0;
  }
  size_t d = dump->columns;
  double size = size_of(dump, values);
  bool *used = memory_new(d, sizeof *used, "channels", err);
  if (!used) {
    return err->code;
  }
  *same = true;
  for (size_t c = 0; *same && c < d; c++) {
    size_t found = d;
    for (size_t other = 0; found == d && other < d; other++) {
      bool equal = !used[other];
      for (size_t r = 0; equal && r < dump->rows; r++) {
        double exact, close, value = values[r * d + c];
        bounds(dump, value, size, largest_coordinate(&dump->positions, r), &exact, &close);
        equal = fabs(dump->data[r * d + other] - value) <= close;
      }
      found = equal ? other : found;
    }
    *same = found < d;
    if (*same) {
      used[found] = true;
    }
  }
  free(used);
  return 0;
}
