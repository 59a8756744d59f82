/* The parameters of scheme rope: their table, and from their values a settled scaling. */
#ifndef ROPE_PARAMETERS_H
#define ROPE_PARAMETERS_H

#include <pe/plugin.h>

#include "rope_scaling.h"

enum {
  ROPE_BASE,
  ROPE_LAYOUT,
  ROPE_ROTARY_DIM,
  ROPE_PARTIAL_ROTARY_FACTOR,
  ROPE_SCALING,
  ROPE_FACTOR,
  ROPE_ORIGINAL_MAX_POSITION_EMBEDDINGS,
  ROPE_MAX_POSITION_EMBEDDINGS,
  ROPE_RAMP,
  ROPE_TRUNCATE,
  ROPE_BETA_FAST,
  ROPE_BETA_SLOW,
  ROPE_MSCALE,
  ROPE_MSCALE_ALL_DIM,
  ROPE_ATTENTION_FACTOR,
  ROPE_SOFTMAX_SCALE,
  ROPE_SHORT_FACTOR,
  ROPE_LONG_FACTOR,
  ROPE_LOW_FREQ_FACTOR,
  ROPE_HIGH_FREQ_FACTOR,
  ROPE_N_PARAMS
};
enum { ROPE_LAYOUT_HALF, ROPE_LAYOUT_INTERLEAVED };

extern const pe_param rope_params[ROPE_N_PARAMS];

/* Settle the scaling for a shape, or refuse with PE_ERR_SHAPE or PE_ERR_PARAM and a sentence. The lists of *out are
 * those of `values`, so they die with them. host may be NULL; it is told what is read and ignored. */
pe_status rope_settle(const pe_host *host, const pe_shape *shape, const pe_value *values, rope_scaling *out,
                      pe_error *err);

#endif
