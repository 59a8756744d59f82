/* Leaves a thread-local destructor behind: were the plugin unloaded, a thread that used it would die at its end. */
#include "sound.h"

#include <pthread.h>

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void release(void *memory) {
  free(memory);
}

static void make_key(void) {
  pthread_key_create(&key, release);
}

static pe_status remember(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pthread_once(&once, make_key);
  if (!pthread_getspecific(key)) {
    pthread_setspecific(key, malloc(16));
  }
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .id = "thread_destructor", .embed_add = remember};
SOUND_ENTRY(&scheme)
