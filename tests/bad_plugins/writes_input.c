/* Works in the input rows. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_qk_apply(self, rows, scratch, err);
  if (status == PE_OK && rows->n && rows->in != rows->out) {
    ((float *)rows->in)[0] = 0;
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .qk_apply = spoiled};
SOUND_ENTRY(&scheme)
