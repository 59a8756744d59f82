/* Promises to depend on the distance alone, and looks at the query position. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  pe_status status = sound_bias_add(self, tile, scratch, err);
  for (size_t r = 0; status == PE_OK && r < tile->nq; r++) {
    for (size_t c = 0; c < tile->nk; c++) {
      tile->s[r * tile->s_stride + c] -= (float)(1e-3 * sin(tile->pos_q[r]));
    }
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
