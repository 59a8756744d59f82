/* The wrapper `positions:` of a scheme entry: which position the scheme is told for a token of the sequence. */
#ifndef PE_BASE_POSITION_MAP_H
#define PE_BASE_POSITION_MAP_H

#include <stdbool.h>

enum position_map_kind {
  POSITION_AS_IS,
  POSITION_OFFSET,  /* p + value */
  POSITION_DIVIDE,  /* p / value; automatic: value = max(1, length / training length) (position interpolation) */
  POSITION_CLAMP,   /* min(p, value - 1); automatic: value = training length */
  POSITION_WRAP,    /* p mod value; automatic: value = training length */
  POSITION_SHUFFLED /* the call's positions in a seeded random order, one order per length */
};

struct position_map {
  enum position_map_kind kind;
  bool automatic;
  double value;
};

#endif
