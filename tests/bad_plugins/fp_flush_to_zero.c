/* Switches subnormal numbers off and leaves it so. */
#include "sound.h"

#include <xmmintrin.h>

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  _mm_setcsr(_mm_getcsr() | 0x8040);
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
