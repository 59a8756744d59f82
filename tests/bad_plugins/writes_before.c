/* Writes one element before the first. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_embed_add(self, rows, scratch, err);
  if (status == PE_OK && rows->n) {
    rows->out[-1] += 1;
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
