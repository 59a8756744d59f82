/* Answers with a number that means nothing. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)self, (void)tile, (void)scratch, (void)err;
  return 99;
}

static const pe_scheme scheme = {SOUND, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
