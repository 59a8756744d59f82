/* Counts heads from the beginning of the call. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_qk_apply(self, rows, scratch, err);
  for (size_t h = 0; status == PE_OK && h < rows->n_heads; h++) {
    for (size_t r = 0; r < rows->n; r++) {
      rows->out[h * rows->out_head_stride + r * rows->out_stride] *= 1 + (float)h;
    }
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .derived_count = NULL, .derived = NULL, .qk_apply = spoiled};
SOUND_ENTRY(&scheme)
