/* While it is loaded it waits for ever. */
#include "sound.h"

#include <unistd.h>

__attribute__((constructor)) static void at_load(void) {
  for (;;) {
    pause();
  }
}

static const pe_scheme scheme = {SOUND};
SOUND_ENTRY(&scheme)
