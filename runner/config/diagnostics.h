/* All that is wrong with a config, reported in one go: file:line:column: section.key: sentence, the line and a caret.
 */
#ifndef PE_CONFIG_DIAGNOSTICS_H
#define PE_CONFIG_DIAGNOSTICS_H

#include "base/error.h"

#include <stdio.h>

struct diagnostic {
  enum error_code code;
  char *place;  /* "configs/a.yaml" or "argument 2 (rope.base=x)" */
  int line;     /* 1-based; 0: the file as a whole, or an argument */
  int column;   /* 1-based, in characters */
  char *text;   /* "schemes.rope.base: 'x' is not a number; ..." */
  char *source; /* the line itself, for the caret; NULL: none */
};

struct diagnostics {
  struct diagnostic *items;
  size_t count, capacity;
};

/* Append one; on lack of memory the last entry becomes an ERROR_MEMORY diagnostic. */
void diagnostics_add(struct diagnostics *diagnostics, enum error_code code, const char *place, int line, int column,
                     const char *source, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Print all, sorted by place, line and column: `place:line:column: error[E0103]: text`, the source line, a caret. */
void diagnostics_print(const struct diagnostics *diagnostics, FILE *stream);

/* Exit code of the whole: that of the first one; 0 where there is none. */
int diagnostics_exit_code(const struct diagnostics *diagnostics);

void diagnostics_free(struct diagnostics *diagnostics);

#endif
