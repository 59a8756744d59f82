/* UTF-8, one character at a time. */
#ifndef PE_CONFIG_UTF8_H
#define PE_CONFIG_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that starts at `text`, 1 to 4; 0 where the `count` bytes there do not start with a valid one
 * (overlong forms and surrogates are not valid). */
size_t utf8_length(const char *text, size_t count);

/* Code point of the valid character of `length` bytes at `text`. */
uint32_t utf8_code_point(const char *text, size_t length);

/* Bytes of the line break at `text` as YAML 1.1 counts lines (CR LF, LF, CR, NEL, LS, PS); 0: there is none. */
size_t utf8_line_break(const char *text, size_t count);

#endif
