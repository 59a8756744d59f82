/* Sleeps for ever and ignores being asked to end. */
#include "sound.h"

#include <signal.h>
#include <unistd.h>

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  signal(SIGTERM, SIG_IGN);
  for (;;) {
    pause();
  }
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
