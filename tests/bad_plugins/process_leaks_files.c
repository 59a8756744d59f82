/* Opens a file in each call and leaves it open. */
#include "sound.h"

#include <fcntl.h>

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)!open("/dev/null", O_RDONLY);
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
