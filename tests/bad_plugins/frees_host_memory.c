/* Frees the tile. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  pe_status status = sound_bias_add(self, tile, scratch, err);
  if (tile->nq) {
    free(tile->s);
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
