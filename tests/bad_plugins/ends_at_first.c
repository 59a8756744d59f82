/* Aborts as often as the file PE_TEST_ABORTS has bytes, of which each time one goes. */
#include "sound.h"

#include <unistd.h>

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  const char *path = getenv("PE_TEST_ABORTS");
  FILE *file = path ? fopen(path, "r+") : NULL;
  if (file) {
    fseek(file, 0, SEEK_END);
    long left = ftell(file);
    if (left > 0 && ftruncate(fileno(file), left - 1) == 0) {
      abort();
    }
    fclose(file);
  }
  return sound_embed_add(self, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
