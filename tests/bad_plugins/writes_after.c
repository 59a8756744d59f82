/* Writes one element too many. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_embed_add(self, rows, scratch, err);
  if (status == PE_OK && rows->n) {
    rows->out[(rows->n - 1) * rows->out_stride + self->d_model] += 1;
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
