/* Uses more scratch than it asked for. */
#include "sound.h"

static size_t scratch_bytes(const pe_instance *self, size_t max_q, size_t max_k) {
  (void)self, (void)max_k;
  return max_q * sizeof(float);
}

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_embed_add(self, rows, scratch, err);
  if (status == PE_OK && rows->n) {
    ((volatile float *)scratch)[rows->n] = 1;
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .scratch_bytes = scratch_bytes, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
