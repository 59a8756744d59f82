/* Calls a function that nobody defines; lazy binding would find out in the middle of a run. */
#include "sound.h"

extern double missing_fn(double);

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)self, (void)scratch, (void)err;
  rows->out[0] = (float)missing_fn(rows->pos[0]);
  return PE_OK;
}

static const pe_scheme scheme = {SOUND, .qk_apply = spoiled};
SOUND_ENTRY(&scheme)
