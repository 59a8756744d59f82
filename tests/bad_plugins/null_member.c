/* A site is named, its function is not there. */
#include "sound.h"

static const pe_scheme scheme = {SOUND, .bias_add = NULL};
SOUND_ENTRY(&scheme)
