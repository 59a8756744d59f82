/* An id that would leave its folder in the results. */
#include "sound.h"

static const pe_scheme scheme = {SOUND, .id = "../spoiled"};
SOUND_ENTRY(&scheme)
