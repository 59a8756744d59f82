/* Refuses a position without a sentence. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  for (size_t r = 0; r < rows->n; r++) {
    if (!(fabs(rows->pos[r]) <= 1e6)) {
      if (err) {
        err->where = (int64_t)r;
      }
      return PE_ERR_POS_RANGE;
    }
  }
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
