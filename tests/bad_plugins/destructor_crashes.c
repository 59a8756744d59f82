/* Crashes when the process ends. */
#include "sound.h"

__attribute__((destructor)) static void at_end(void) {
  *(volatile int *)8 = 1;
}

static const pe_scheme scheme = {SOUND};
SOUND_ENTRY(&scheme)
