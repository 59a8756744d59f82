/* Looks at the sequence length without saying so. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_embed_add(self, rows, scratch, err);
  for (size_t r = 0; status == PE_OK && r < rows->n; r++) {
    rows->out[r * rows->out_stride] += (float)(rows->pos[r] / (1 + rows->seq_len));
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
