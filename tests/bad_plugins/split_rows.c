/* Steps from the first row of the call on instead of taking each position. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_check_rows(rows, err);
  float position = rows->n ? (float)rows->pos[0] * 0.1f : 0;
  for (size_t r = 0; status == PE_OK && r < rows->n; r++) {
    rows->out[r * rows->out_stride] += sinf(position);
    position += 0.1f;
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
