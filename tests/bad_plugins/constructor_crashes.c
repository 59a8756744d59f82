/* While it is loaded it crashes. */
#include "sound.h"

__attribute__((constructor)) static void at_load(void) {
  *(volatile int *)8 = 1;
}

static const pe_scheme scheme = {SOUND};
SOUND_ENTRY(&scheme)
