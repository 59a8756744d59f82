/* Adds numbers so small that many machines slow down. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_check_rows(rows, err);
  for (size_t r = 0; status == PE_OK && r < rows->n; r++) {
    rows->out[r * rows->out_stride] += (float)(1e-40 * rows->pos[r]);
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
