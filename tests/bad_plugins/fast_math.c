/* Linked with -ffast-math: loading it switches subnormal numbers off for the whole process (gcc 12, clang 14). */
#include "sound.h"

static const pe_scheme scheme = {SOUND, .id = "fast_math"};
SOUND_ENTRY(&scheme)
