/* Changes the rounding mode and leaves it so. */
#include "sound.h"

#include <fenv.h>

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_embed_add(self, rows, scratch, err);
  fesetround(FE_TOWARDZERO);
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
