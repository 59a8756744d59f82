/* Positions of tokens as the section `positions` gives them: private to the model. */
#ifndef PE_INPUT_POSITIONS_H
#define PE_INPUT_POSITIONS_H

#include "input/model.h"

enum positions_kind { POSITIONS_LINE, POSITIONS_GRID, POSITIONS_LIST };

struct token_positions {
  enum positions_kind kind;
  size_t axes;
  double start, step; /* a line: start + step * rank of the token */
  size_t columns;     /* a grid: (token / columns, token % columns) */
  size_t count;       /* positions that a grid or a list has */
  double *list;       /* [count][axes] */
  char *from;         /* where the list comes from, for messages */
};

/* `section` NULL: 0, 1, 2, ... On error what was made is left for positions_destroy. 0, ERROR_FILE_* or ERROR_MEMORY.
 */
int positions_open(struct token_positions *positions, const struct section *section, struct error *err);
void positions_destroy(struct token_positions *positions);

/* As model_positions. */
int positions_of(const struct token_positions *positions, const struct text_tokens *text, const size_t *index, size_t n,
                 double *out, struct error *err);

#endif
