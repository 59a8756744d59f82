#include "base/rounding.h"

#include <math.h>
#include <stddef.h>

const char *const number_format_names[] = {"float64", "float32", "bfloat16", "float16", NULL};

/* Significant bits, exponent of the smallest normal number, largest number (IEEE 754; bfloat16 as the upper half of a
 * float32). */
static const struct {
  int bits, smallest;
  double largest;
} formats[N_NUMBER_FORMATS] = {[FORMAT_FLOAT64] = {53, -1022, 0x1.fffffffffffffp1023},
                               [FORMAT_FLOAT32] = {24, -126, 0x1.fffffep127},
                               [FORMAT_BFLOAT16] = {8, -126, 0x1.fep127},
                               [FORMAT_FLOAT16] = {11, -14, 65504}};

double round_to_format(double value, enum number_format format) {
  if (format == FORMAT_FLOAT64 || value == 0 || !isfinite(value)) {
    return value;
  }
  int exponent; /* value = m 2^exponent, 0.5 <= |m| < 1 */
  frexp(value, &exponent);
  int lead = exponent - 1 < formats[format].smallest ? formats[format].smallest : exponent - 1;
  int quantum = lead - (formats[format].bits - 1);
  /* Scaling by powers of two is exact; nearbyint rounds ties to even. */
  double rounded = ldexp(nearbyint(ldexp(value, -quantum)), quantum);
  return fabs(rounded) > formats[format].largest ? copysign(INFINITY, value) : rounded;
}

double format_epsilon(enum number_format format) {
  return ldexp(1, 1 - formats[format].bits);
}
