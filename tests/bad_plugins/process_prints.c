/* Prints to the standard output. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  puts("here I am");
  fflush(stdout);
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
