/* Takes all the memory there is. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  for (;;) {
    char *piece = (char *)malloc(64 << 20);
    if (!piece) {
      return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for a table");
    }
    memset(piece, 1, 64 << 20);
  }
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
