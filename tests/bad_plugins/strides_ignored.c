/* Takes the rows for contiguous. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_rows contiguous = *rows;
  contiguous.in_stride = self->head_dim;
  return sound_qk_apply(self, &contiguous, scratch, err);
}

static const pe_scheme scheme = {SOUND, .qk_apply = spoiled};
SOUND_ENTRY(&scheme)
