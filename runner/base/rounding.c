#include "base/rounding.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

const char *const number_format_names[] = {"float64", "float32", "bfloat16", "float16", NULL};

/* Significant bits, exponent of the smallest normal number, that number, the largest one (IEEE 754; bfloat16 as the
 * upper half of a float32). */
static const struct {
  int bits, smallest;
  double smallest_normal, largest;
} formats[N_NUMBER_FORMATS] = {[FORMAT_FLOAT64] = {53, -1022, 0x1p-1022, 0x1.fffffffffffffp1023},
                               [FORMAT_FLOAT32] = {24, -126, 0x1p-126, 0x1.fffffep127},
                               [FORMAT_BFLOAT16] = {8, -126, 0x1p-126, 0x1.fep127},
                               [FORMAT_FLOAT16] = {11, -14, 0x1p-14, 65504}};

/* Numbers that leave the format's normal range: subnormal ones have a fixed spacing, too large ones become infinite. */
static double round_at_the_edge(double value, enum number_format format) {
  int exponent; /* value = m 2^exponent, 0.5 <= |m| < 1 */
  frexp(value, &exponent);
  int lead = exponent - 1 < formats[format].smallest ? formats[format].smallest : exponent - 1;
  int quantum = lead - (formats[format].bits - 1);
  /* Scaling by powers of two is exact; nearbyint rounds ties to even. */
  double rounded = ldexp(nearbyint(ldexp(value, -quantum)), quantum);
  return fabs(rounded) > formats[format].largest ? copysign(INFINITY, value) : rounded;
}

/* Inside the normal range the bits that the format does not have are rounded off in place: adding half of the last kept
 * place, less one where that is even, carries into the exponent by itself. */
static double drop_bits(double value, unsigned dropped) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits += ((uint64_t)1 << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
  bits &= ~(((uint64_t)1 << dropped) - 1);
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Nearly always all are in the normal range, and then nothing needs to be asked of each: without signs, doubles are
 * ordered as their bits are, and a difference of these is negative in its highest bit. */
static void round_block(double *values, size_t n, enum number_format format) {
  unsigned dropped = (unsigned)(53 - formats[format].bits);
  double smallest = formats[format].smallest_normal, largest = formats[format].largest;
  uint64_t low = bits_of(smallest), high = bits_of(largest), outside = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t size = bits_of(values[i]) & ~(UINT64_C(1) << 63);
    outside |= (size - low) | (high - size);
  }
  if (!(outside >> 63)) {
    for (size_t i = 0; i < n; i++) {
      values[i] = drop_bits(values[i], dropped);
    }
    return;
  }
  for (size_t i = 0; i < n; i++) {
    double size = fabs(values[i]);
    if (size >= smallest && size <= largest) {
      values[i] = drop_bits(values[i], dropped);
    } else if (size != 0 && isfinite(size)) {
      values[i] = round_at_the_edge(values[i], format);
    }
  }
}

double round_to_format(double value, enum number_format format) {
  round_row(&value, 1, format);
  return value;
}

void round_row(double *values, size_t n, enum number_format format) {
  if (format == FORMAT_FLOAT64) {
    return;
  }
  enum { BLOCK = 16 };
  for (size_t first = 0; first < n; first += BLOCK) {
    round_block(values + first, n - first < BLOCK ? n - first : BLOCK, format);
  }
}

double format_epsilon(enum number_format format) {
  return ldexp(1, 1 - formats[format].bits);
}

double format_smallest(enum number_format format) {
  return ldexp(1, formats[format].smallest - (formats[format].bits - 1));
}
