/* Reads q without having asked for it. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  pe_status status = sound_bias_add(self, tile, scratch, err);
  if (status == PE_OK && tile->nq && tile->nk) {
    tile->s[0] += tile->q[0];
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
