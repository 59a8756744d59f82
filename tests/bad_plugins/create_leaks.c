/* Keeps a copy of the parameters for each instance and never frees it. */
#include "sound.h"

static pe_status spoiled(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                         pe_error *err) {
  double *copy = (double *)malloc(4096);
  if (copy) {
    memset(copy, 1, 4096);
    copy[0] = values[0].r;
    *(double *volatile *)&copy = copy;
  }
  return sound_create(host, shape, values, out, err);
}

static const pe_scheme scheme = {SOUND, .create = spoiled};
SOUND_ENTRY(&scheme)
