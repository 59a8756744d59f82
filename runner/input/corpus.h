/* Sentences of a small English verb grammar, made from a seed: 20 verbs x 5 tenses x 3 persons, with agreement. */
#ifndef PE_INPUT_CORPUS_H
#define PE_INPUT_CORPUS_H

#include "base/text.h"

#include <stdint.h>

enum { CORPUS_VERBS = 20, CORPUS_TENSES = 5, CORPUS_SUBJECTS = 7 };

/* "he has worked": verb, tense (present, past, progressive, perfect, future) and subject (I, we, you, he, she, it,
 * they) by index. Appends the clause without its complement. */
void corpus_clause(struct text *text, unsigned verb, unsigned tense, unsigned subject);

/* Append sentence `index` of a seed, with a full stop and a space behind it: one or two clauses with complements, such
 * as "he has worked with them, because she is coming back." A pure function of seed and index. */
void corpus_sentence(struct text *text, uint64_t seed, uint64_t index);

#endif
