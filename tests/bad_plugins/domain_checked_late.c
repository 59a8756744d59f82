/* Writes rows until it meets a position that it does not have. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  for (size_t r = 0; r < rows->n; r++) {
    if (!(fabs(rows->pos[r]) <= 1e6)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r, "position %g", rows->pos[r]);
    }
    pe_rows one = *rows;
    one.n = 1;
    one.pos += r;
    one.out += r * rows->out_stride;
    sound_embed_add(self, &one, scratch, err);
  }
  return PE_OK;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
