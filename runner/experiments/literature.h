/* What the literature says of a scheme beyond the training length: a word with its source, to be set beside what is
 * measured. */
#ifndef PE_EXPERIMENTS_LITERATURE_H
#define PE_EXPERIMENTS_LITERATURE_H

enum literature_word {
  LITERATURE_NOT_STATED, /* nothing is cited */
  LITERATURE_HOLDS,      /* quality is kept beyond the training length */
  LITERATURE_DEGRADES,   /* quality is lost beyond it */
  LITERATURE_UNDEFINED,  /* there is no value beyond it */
  LITERATURE_MIXED       /* sources or settings differ */
};

struct literature {
  const char *id; /* of the scheme */
  enum literature_word word;
  const char *statement; /* one line, with the source */
};

/* The entry of a scheme; its word is LITERATURE_NOT_STATED where there is none. */
const struct literature *literature_of(const char *id);

/* "holds", "degrades", "undefined", "mixed", "not stated". */
const char *literature_word_name(enum literature_word word);

#endif
