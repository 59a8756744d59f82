/* Divides by a parameter that can be 0. */
#include "sound.h"

static pe_status spoiled(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                         pe_error *err) {
  pe_status status = sound_create(host, shape, values, out, err);
  volatile int zero = (int)values[SOUND_SLOPE].r;
  volatile int quotient = values[SOUND_SLOPE].r == 0 ? 100 / zero : 1;
  (void)quotient;
  return status;
}

static const pe_scheme scheme = {SOUND, .create = spoiled};
SOUND_ENTRY(&scheme)
