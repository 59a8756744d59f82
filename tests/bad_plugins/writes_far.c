/* Writes a megabyte beyond the end. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_qk_apply(self, rows, scratch, err);
  for (size_t i = 0; status == PE_OK && rows->n && i < (1 << 18); i++) {
    rows->out[i] = 1;
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .qk_apply = spoiled};
SOUND_ENTRY(&scheme)
