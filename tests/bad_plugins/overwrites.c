/* Sets the tile instead of adding to it. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  pe_status status = sound_check_tile(tile, err);
  for (size_t r = 0; status == PE_OK && r < tile->nq; r++) {
    memset(tile->s + r * tile->s_stride, 0, tile->nk * sizeof *tile->s);
  }
  return status == PE_OK ? sound_bias_add(self, tile, scratch, err) : status;
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
