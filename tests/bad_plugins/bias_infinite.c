/* Masks by itself, with minus infinity. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  pe_status status = sound_bias_add(self, tile, scratch, err);
  for (size_t r = 0; status == PE_OK && r < tile->nq; r++) {
    for (size_t c = 0; c < tile->nk; c++) {
      if (fabs(tile->pos_q[r] - tile->pos_k[c]) > 4) {
        tile->s[r * tile->s_stride + c] = -INFINITY;
      }
    }
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
