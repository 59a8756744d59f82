/* Word vectors as text: whatever the bytes, either words with finite vectors, or a sentence. */
#include "fuzz.h"
#include "memory_file.h"

#include "input/word_vectors.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char path[MEMORY_FILE_PATH];
  memory_file(bytes, count, path);
  struct word_vectors vectors = {0};
  struct error err = {ERROR_NONE, ""};
  if (word_vectors_read(path, &vectors, &err)) {
    if (!err.text[0] || vectors.words) {
      abort();
    }
  } else {
    for (size_t i = 0; i < vectors.count * vectors.width; i++) {
      if (!isfinite(vectors.vectors[i])) {
        abort();
      }
    }
    for (size_t i = 0; i < vectors.count; i++) {
      if (!vectors.words[i][0]) {
        abort();
      }
      free(vectors.words[i]);
    }
    free(vectors.words);
    free(vectors.vectors);
  }
  memory_file_drop(path);
  return 0;
}
