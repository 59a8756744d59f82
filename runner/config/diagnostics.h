/* All that is wrong with a config, reported in one go: file:line:column: section.key: sentence, the line and a caret.
 */
#ifndef PE_CONFIG_DIAGNOSTICS_H
#define PE_CONFIG_DIAGNOSTICS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

/* A file with more faults than this is not a config with slips: what follows is counted, not kept. */
enum { DIAGNOSTICS_MAX = 100 };

struct diagnostic {
  enum error_code code;
  char *place;  /* "configs/a.yaml" or "argument 2 (rope.base=x)" */
  int line;     /* 1-based; 0: the file as a whole, or an argument */
  int column;   /* 1-based, in characters */
  char *text;   /* "schemes.rope.base: 'x' is not a number; ..." */
  char *source; /* the line itself, for the caret; NULL: none */
};

/* Zero-initialised by the caller. */
struct diagnostics {
  struct diagnostic *items; /* sorted by place (numbers in it by value), line and column; equals as they came */
  size_t count, capacity;
  size_t left_out;    /* reported beyond DIAGNOSTICS_MAX */
  bool out_of_memory; /* one could not be kept */
};

/* Add one; the strings are copied. One that is there already, word by word, is not added again. Where memory runs out,
 * out_of_memory is set: printed as an entry of its own, and it decides the exit code. */
void diagnostics_add(struct diagnostics *diagnostics, enum error_code code, const char *place, int line, int column,
                     const char *source, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Print all, sorted by place, line and column: `place:line:column: error[E0103]: text`, the source line, a caret. Long
 * source lines are shown around the column; control characters and broken UTF-8 are shown as '?'. */
void diagnostics_print(const struct diagnostics *diagnostics, FILE *stream);

/* Whether anything was reported. */
bool diagnostics_any(const struct diagnostics *diagnostics);

/* Exit code of the whole: that of the first one; 0 where there is none. */
int diagnostics_exit_code(const struct diagnostics *diagnostics);

void diagnostics_free(struct diagnostics *diagnostics);

#endif
