/* Takes the distance from the place in the tile, not from the positions. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  pe_status status = sound_check_tile(tile, err);
  for (size_t r = 0; status == PE_OK && r < tile->nq; r++) {
    for (size_t c = 0; c < tile->nk; c++) {
      tile->s[r * tile->s_stride + c] -= (float)(self->slope * fabs((double)r - (double)c));
    }
  }
  (void)scratch;
  return status;
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
