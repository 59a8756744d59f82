/* The pieces a model cuts text into, and the cutting: greedily the longest piece that matches. */
#ifndef PE_INPUT_VOCABULARY_H
#define PE_INPUT_VOCABULARY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vocabulary {
  char **pieces; /* [count], "" where an id has none */
  size_t count;
  size_t reserved;  /* ids below stand for no text (<unk>, <s>, ...) and are never matched */
  size_t longest;   /* bytes of the longest piece */
  bool marks_words; /* pieces carry U+2581 where a word starts; else every piece is a whole word or mark */
  bool lower_case;  /* no piece has an ASCII capital: text is read in lower case */
  uint32_t *slots;  /* hash table of ids + 1, 0: free */
  size_t slot_mask;
};

struct token_list {
  int32_t *ids;
  size_t count, capacity;
};

/* Take `pieces` over (each and the array are then the vocabulary's, on error too); ids 0 .. reserved - 1 are never
 * matched. Where a piece stands twice, the lower id is used. 0 or ERROR_MEMORY. */
int vocabulary_init(struct vocabulary *vocabulary, char **pieces, size_t count, size_t reserved, struct error *err);
void vocabulary_destroy(struct vocabulary *vocabulary);

/* The id whose piece is these bytes, or -1. */
int32_t vocabulary_find(const struct vocabulary *vocabulary, const char *bytes, size_t length);

/* Append the ids of a text of `length` bytes to `list`. White space separates words and its amount does not count.
 * What no piece matches is left out with skip_unknown and else ERROR_TOKENS, whose sentence shows each such character
 * (or word) once, and where the first one stands; so is text that is not UTF-8. `name` says which text it is, for
 * messages. ERROR_MEMORY. */
int vocabulary_cut(const struct vocabulary *vocabulary, const char *name, const char *text, size_t length,
                   bool skip_unknown, struct token_list *list, struct error *err);

#endif
