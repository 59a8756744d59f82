/* No way to make an instance. */
#include "sound.h"

static const pe_scheme scheme = {SOUND, .create = NULL};
SOUND_ENTRY(&scheme)
