/* Fails without a sentence. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)self, (void)tile, (void)scratch, (void)err;
  return PE_ERR_INTERNAL;
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
