/* Divides by the position, which can be 0. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_qk_apply(self, rows, scratch, err);
  for (size_t r = 0; status == PE_OK && r < rows->n; r++) {
    rows->out[r * rows->out_stride] *= (float)(rows->pos[r] / rows->pos[r]);
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .qk_apply = spoiled};
SOUND_ENTRY(&scheme)
