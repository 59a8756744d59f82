/* Exports a helper beside its entry. */
#include "sound.h"

__attribute__((visibility("default"))) int helper_for_all(void);
int helper_for_all(void) {
  return 1;
}

static const pe_scheme scheme = {SOUND};
SOUND_ENTRY(&scheme)
