/* A derived value that is not a number. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                         size_t len, size_t *need) {
  pe_status status = sound_derived(self, seq_len, which, out, buf, len, need);
  if (buf) {
    buf[0] = NAN;
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .derived = spoiled};
SOUND_ENTRY(&scheme)
