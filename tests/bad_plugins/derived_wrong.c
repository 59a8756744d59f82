/* Reports frequencies that it does not run. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                         size_t len, size_t *need) {
  pe_status status = sound_derived(self, seq_len, which, out, buf, len, need);
  for (size_t i = 0; buf && which == 0 && i < *need; i++) {
    buf[i] /= 8;
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .derived = spoiled};
SOUND_ENTRY(&scheme)
