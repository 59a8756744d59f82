/* Does not take NULL. */
#include "sound.h"

static void spoiled(pe_instance *self) {
  *(const float *volatile *)&self->gain = NULL;
  free(self);
}

static const pe_scheme scheme = {SOUND, .destroy = spoiled};
SOUND_ENTRY(&scheme)
