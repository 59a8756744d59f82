/* Has an answer for every extension. */
#include "sound.h"

static const void *spoiled(const char *id) {
  return id;
}

static const pe_scheme scheme = {SOUND, .extension = spoiled};
SOUND_ENTRY(&scheme)
