/* Rows of no width. */
#include "sound.h"

static uint32_t spoiled(const pe_instance *self) {
  (void)self;
  return 0;
}

static const pe_scheme scheme = {SOUND, .qk_width = spoiled};
SOUND_ENTRY(&scheme)
