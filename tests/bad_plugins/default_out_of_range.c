/* A default that its own bounds forbid. */
#include "sound.h"

static const pe_param params[] = {{.key = "base", .doc = "d", .type = PE_REAL, .min = 1, .max = 10, .dflt = {.r = 11}}};
static const pe_scheme scheme = {SOUND, .params = params, .n_params = 1};
SOUND_ENTRY(&scheme)
