/* Claims one scheme and has none. */
#include "sound.h"

const pe_entry pe_plugin_entry = {SOUND_HEADER, .schemes = NULL, .n_schemes = 1};
