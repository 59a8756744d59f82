/* Text of any origin made fit for people and for formats that insist on UTF-8.
 */
#ifndef PE_RESULTS_PRINTABLE_H
#define PE_RESULTS_PRINTABLE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The code point at `text` and its length in bytes; 0 at the end and where the bytes are not UTF-8. */
size_t printable_decode(const char *text, uint32_t *code);

/* A copy that is valid UTF-8: bytes that are not become U+FFFD. To be freed; NULL with ERROR_MEMORY. */
char *printable_utf8(const char *text, struct error *err);

/* The same, safe to print: line ends and tabs become a space, other control characters and those that turn the
 * direction of writing show as \x1b or \u202e. To be freed; NULL with ERROR_MEMORY. */
char *printable_line(const char *text, struct error *err);

/* Columns that valid UTF-8 takes on a terminal; line ends split it, the longest line counts. LC_CTYPE must be UTF-8. */
size_t printable_width(const char *text);

/* Columns of its longest word. */
size_t printable_word_width(const char *text);

/* A copy folded at spaces into lines of at most `width` (>= 1) columns, separated by '\n'; a longer word is cut. To be
 * freed; NULL with ERROR_MEMORY. */
char *printable_fold(const char *text, size_t width, struct error *err);

#endif
