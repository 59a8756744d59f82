/* Names the last offending row instead of the first. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  for (size_t r = rows->n; r-- > 0;) {
    if (!(fabs(rows->pos[r]) <= 1e6)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r, "position %g", rows->pos[r]);
    }
  }
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
