/* Closes every file descriptor. */
#include "sound.h"

#include <unistd.h>

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  for (int i = 0; i < 64; i++) {
    close(i);
  }
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
