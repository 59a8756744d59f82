/* Says where it ends and does not check it. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch, (void)err;
  for (size_t r = 0; r < rows->n; r++) {
    rows->out[r * rows->out_stride] += (float)sin(rows->pos[r]);
  }
  return PE_OK;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
