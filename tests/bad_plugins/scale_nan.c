/* A score scale that is not a number. */
#include "sound.h"

static double spoiled(const pe_instance *self, double dflt) {
  (void)self;
  return 0 * dflt / 0;
}

static const pe_scheme scheme = {SOUND, .score_scale = spoiled};
SOUND_ENTRY(&scheme)
