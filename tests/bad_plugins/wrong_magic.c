/* The entry is not one of pe-run's. */
#include "sound.h"

static const pe_scheme scheme = {SOUND};
static const pe_scheme *const schemes[] = {&scheme};
const pe_entry pe_plugin_entry = {SOUND_HEADER, .magic = 0x12345678, .schemes = schemes, .n_schemes = 1};
