/* While it is loaded it ends the process as if all were well. */
#include "sound.h"

__attribute__((constructor)) static void at_load(void) {
  exit(0);
}

static const pe_scheme scheme = {SOUND};
SOUND_ENTRY(&scheme)
