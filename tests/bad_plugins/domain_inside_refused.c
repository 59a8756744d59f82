/* Refuses the last position of its own domain. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  for (size_t r = 0; r < rows->n; r++) {
    if (!(rows->pos[r] >= -1e6 && rows->pos[r] < 1e6)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r, "position %g", rows->pos[r]);
    }
  }
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
