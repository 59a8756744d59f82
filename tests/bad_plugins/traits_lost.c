/* An instance that lacks what the scheme promises. */
#include "sound.h"

static uint32_t spoiled(const pe_instance *self) {
  (void)self;
  return 0;
}

static const pe_scheme scheme = {SOUND, .instance_traits = spoiled};
SOUND_ENTRY(&scheme)
