/* The tokens of a model, from the section `tokens`: ids, texts, text files, or the seeded corpus. */
#ifndef PE_INPUT_TOKENS_H
#define PE_INPUT_TOKENS_H

#include "input/model.h"
#include "input/vocabulary.h"

/* Read the section (its keys: ids | text | file | corpus: {length}; unknown: error | skip). `n_ids` rows of embeddings
 * bound the ids; -1 is padding. vocabulary NULL: the source has none, and only ids can be given, unless is_bytes: each
 * byte of a text is an id then. The texts are the
 * caller's: tokens_free. 0, ERROR_TOKENS, ERROR_FILE_*, ERROR_CONFIG_MISSING (no section, or nothing in it) or
 * ERROR_MEMORY. */
int tokens_read(const struct section *section, const struct vocabulary *vocabulary, bool is_bytes, size_t n_ids,
                uint64_t seed, struct text_tokens **texts, size_t *n_texts, struct error *err);

void tokens_free(struct text_tokens *texts, size_t n_texts);

#endif
