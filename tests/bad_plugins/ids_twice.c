/* Two schemes under one id. */
#include "sound.h"

static const pe_scheme first = {SOUND}, second = {SOUND_EMBED};
static const pe_scheme *const schemes[] = {&first, &second};
const pe_entry pe_plugin_entry = {SOUND_HEADER, .schemes = schemes, .n_schemes = 2};
