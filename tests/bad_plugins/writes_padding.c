/* Takes the tile for contiguous and clears what lies between its rows. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  pe_status status = sound_bias_add(self, tile, scratch, err);
  for (size_t r = 0; status == PE_OK && r + 1 < tile->nq; r++) {
    for (size_t c = tile->nk; c < tile->s_stride; c++) {
      tile->s[r * tile->s_stride + c] = 0;
    }
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
