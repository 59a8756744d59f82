/* Positions as the command line writes them: A:B[:STEP] (B not included), a,b,c, FILE.h5:/dataset or FILE.npy. */
#ifndef PE_COMMANDS_POSITIONS_H
#define PE_COMMANDS_POSITIONS_H

#include "base/error.h"

#include <stddef.h>

struct positions {
  size_t count, axes;
  double *values; /* [count][axes]; free() */
};

/* Read `text` for a scheme with `axes` coordinates per position; more than one stand in a file of shape [T, axes].
 * `option` names the option in messages. 0, ERROR_USAGE, ERROR_FILE_* or ERROR_MEMORY. */
int positions_read(const char *option, const char *text, size_t axes, struct positions *out, struct error *err);

/* The largest coordinate plus one, at least 0. */
double positions_length(const struct positions *positions);

#endif
