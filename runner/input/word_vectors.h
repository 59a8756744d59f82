/* Word vectors in GloVe's text format: one line per word, `word v1 v2 ... vd`, single spaces, no header. */
#ifndef PE_INPUT_WORD_VECTORS_H
#define PE_INPUT_WORD_VECTORS_H

#include "base/error.h"

#include <stddef.h>

struct word_vectors {
  size_t count, width;
  float *vectors; /* [count][width]; to be freed */
  char **words;   /* [count], or NULL; the array and each word are to be freed */
};

/* Read a regular text file. Numbers are decimals, with or without exponent, read the same under every locale; every
 * line must have as many as the first, each finite in float32. 0, ERROR_FILE_READ, ERROR_FILE_REFUSED,
 * ERROR_FILE_CONTENT (naming the line) or ERROR_MEMORY; on error nothing is left to free. */
int word_vectors_read(const char *path, struct word_vectors *vectors, struct error *err);

#endif
