/* Lets an address show in its result. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_embed_add(self, rows, scratch, err);
  if (status == PE_OK && rows->n) {
    rows->out[0] += (float)((uintptr_t)self >> 4 & 0xfff) * 1e-3f;
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
