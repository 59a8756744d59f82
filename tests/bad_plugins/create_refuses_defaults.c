/* Refuses its own defaults. */
#include "sound.h"

static pe_status spoiled(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                         pe_error *err) {
  (void)host, (void)shape, (void)out;
  return pe_fail(err, PE_ERR_PARAM, 0, "base must be a power of two, it is %g", values[SOUND_BASE].r);
}

static const pe_scheme scheme = {SOUND, .create = spoiled};
SOUND_ENTRY(&scheme)
