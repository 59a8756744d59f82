/* Leaves a thread running. */
#include "sound.h"

#include <pthread.h>
#include <unistd.h>

static void *forever(void *unused) {
  for (;;) {
    pause();
  }
  return unused;
}

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  static int started;
  if (!started++) {
    pthread_t thread;
    pthread_create(&thread, NULL, forever, NULL);
    pthread_detach(thread);
  }
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
