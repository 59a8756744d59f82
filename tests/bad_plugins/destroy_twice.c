/* Frees its instance twice. */
#include "sound.h"

static void spoiled(pe_instance *self) {
  free(self);
  if (self) {
    free(self);
  }
}

static const pe_scheme scheme = {SOUND, .destroy = spoiled};
SOUND_ENTRY(&scheme)
