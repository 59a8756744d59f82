/* A text that grows. An allocation that fails is remembered, so that callers append freely and ask once at the end. */
#ifndef PE_BASE_TEXT_H
#define PE_BASE_TEXT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct text {
  char *data; /* NUL-terminated, or NULL while empty; free with text_free */
  size_t length, capacity;
  bool failed; /* an allocation failed: the text is not whole */
};

void text_append(struct text *text, const char *string);
void text_append_bytes(struct text *text, const char *bytes, size_t count);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The shortest decimal that reads back as the same double, whole numbers below 1e15 in plain digits; "inf", "-inf",
 * "nan". Independent of the locale. */
void text_append_double(struct text *text, double value);

/* Hand the string over (to be freed with free()), "" for an empty one; NULL with ERROR_MEMORY if anything failed. */
char *text_take(struct text *text, struct error *err);

void text_free(struct text *text);

#endif
