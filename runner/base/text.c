#include "base/text.h"

#include "base/memory.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool text_reserve(struct text *text, size_t more) {
  if (text->failed) {
    return false;
  }
  struct error ignored;
  char *data = memory_grow(text->data, &text->capacity, text->length + more + 1, 1, "text", &ignored);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  return true;
}

void text_append_bytes(struct text *text, const char *bytes, size_t count) {
  if (text_reserve(text, count)) {
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
  }
}

void text_append(struct text *text, const char *string) {
  text_append_bytes(text, string, strlen(string));
}

void text_printf(struct text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int needed = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (needed < 0) {
    text->failed = true;
    return;
  }
  if (text_reserve(text, (size_t)needed)) {
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)needed + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)needed;
  }
}

static bool reads_back(double value, int precision, char *digits, size_t size) {
  snprintf(digits, size, "%.*g", precision, value);
  return strtod(digits, NULL) == value;
}

/* The fewest digits that read back as the value. More digits are never worse, so that their number can be searched for
 * (most have 15 or more); only below a power of two, where the next double is half as far as above, they may be. */
static void fewest_digits(double value, char *digits, size_t size) {
  int exponent, low = 1, high = 17;
  bool is_power = fabs(frexp(value, &exponent)) == 0.5;
  while (is_power && low < high && !reads_back(value, low, digits, size)) {
    low++;
  }
  for (int probe = 15; !is_power && low < high; probe = (low + high) / 2) {
    if (reads_back(value, probe, digits, size)) {
      high = probe;
    } else {
      low = probe + 1;
    }
  }
  snprintf(digits, size, "%.*g", low, value);
}

void text_append_double(struct text *text, double value) {
  if (isnan(value)) {
    text_append(text, "nan");
    return;
  }
  if (isinf(value)) {
    text_append(text, value > 0 ? "inf" : "-inf");
    return;
  }
  char digits[320]; /* 25 are needed, but a compiler that knows nothing of %g warns */
  /* A base of 10000 or a length of 512000 is not 1e+04 or 5.12e+05 to anybody. */
  if (fabs(value) < 1e15 && value == trunc(value)) {
    snprintf(digits, sizeof digits, "%.0f", value);
    text_append(text, digits);
    return;
  }
  fewest_digits(value, digits, sizeof digits);
  /* printf and strtod follow LC_NUMERIC; files do not. */
  const char *point = localeconv()->decimal_point;
  char *found = strcmp(point, ".") ? strstr(digits, point) : NULL;
  if (found) {
    size_t width = strlen(point);
    *found = '.';
    memmove(found + 1, found + width, strlen(found + width) + 1);
  }
  text_append(text, digits);
}

char *text_take(struct text *text, struct error *err) {
  text_append_bytes(text, "", 0);
  if (text->failed) {
    text_free(text);
    error_set(err, ERROR_MEMORY, "text: memory is not to be had");
    return NULL;
  }
  char *data = text->data;
  *text = (struct text){0};
  return data;
}

void text_free(struct text *text) {
  free(text->data);
  *text = (struct text){0};
}
