/* Reads the last row of a tile that has none. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  volatile double last = tile->pos_q[tile->nq - 1] + ((volatile const double *)tile->pos_k)[tile->nk - 1];
  (void)last;
  return tile->nq && tile->nk ? sound_bias_add(self, tile, scratch, err)
                              : pe_fail(err, PE_ERR_ARGUMENT, -1, "empty tile");
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
