/* Nothing is wrong with this one: what all others differ from. */
#include "sound.h"

static const pe_scheme scheme = {SOUND, .id = "sound"};
static const pe_scheme embed = {SOUND_EMBED, .id = "sound_embed"};
static const pe_scheme *const schemes[] = {&scheme, &embed};
const pe_entry pe_plugin_entry = {SOUND_HEADER, .schemes = schemes, .n_schemes = 2};
