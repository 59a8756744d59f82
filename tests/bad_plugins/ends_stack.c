/* Uses up the stack. */
#include "sound.h"

__attribute__((noinline)) static double deeper(double x) {
  volatile char room[4096];
  room[0] = (char)x;
  return x > 0 ? deeper(x + 1) + room[0] : 0;
}

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)deeper(1);
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
