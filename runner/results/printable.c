#include "results/printable.h"

#include "base/text.h"

#include <stdbool.h>
#include <string.h>
#include <wchar.h>

size_t printable_decode(const char *text, uint32_t *code) {
  const unsigned char *byte = (const unsigned char *)text;
  if (byte[0] < 0x80) {
    *code = byte[0];
    return byte[0] ? 1 : 0;
  }
  size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
  if (byte[0] < 0xc2 || byte[0] > 0xf4) {
    return 0;
  }
  uint32_t value = byte[0] & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if ((byte[i] & 0xc0) != 0x80) {
      return 0;
    }
    value = value << 6 | (byte[i] & 0x3fu);
  }
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < smallest[length] || value > 0x10ffff || surrogate) {
    return 0;
  }
  *code = value;
  return length;
}

static bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/* Marks that let a text pretend to be another one, and line separators of Unicode. */
static bool turns_or_breaks(uint32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0x2028 || code == 0x2029;
}

static char *clean(const char *text, bool for_people, struct error *err) {
  struct text out = {0};
  while (*text) {
    uint32_t code;
    size_t length = printable_decode(text, &code);
    if (!length) {
      text_append(&out, "\xef\xbf\xbd");
      text++;
      continue;
    }
    if (!for_people || !(is_control(code) || turns_or_breaks(code))) {
      text_append_bytes(&out, text, length);
    } else if (code == '\n' || code == '\t' || code == '\r') {
      text_append(&out, " ");
    } else {
      text_printf(&out, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
    }
    text += length;
  }
  return text_take(&out, err);
}

char *printable_utf8(const char *text, struct error *err) {
  return clean(text, false, err);
}

char *printable_line(const char *text, struct error *err) {
  return clean(text, true, err);
}

/* Length in bytes and columns of the character at `text`; what is not UTF-8 counts as one byte and one column. */
static size_t character(const char *text, size_t *columns) {
  uint32_t code = 0;
  size_t length = printable_decode(text, &code);
  int width = length ? wcwidth((wchar_t)code) : 1;
  *columns = width > 0 ? (size_t)width : 0;
  return length ? length : 1;
}

/* The longest run of columns between characters of `separators`. */
static size_t longest_run(const char *text, const char *separators) {
  size_t longest = 0;
  size_t run = 0;
  while (*text) {
    size_t columns;
    size_t length = character(text, &columns);
    run = strchr(separators, *text) ? 0 : run + columns;
    longest = run > longest ? run : longest;
    text += length;
  }
  return longest;
}

size_t printable_width(const char *text) {
  return longest_run(text, "\n");
}

size_t printable_word_width(const char *text) {
  return longest_run(text, " \n");
}

/* Append a word that starts in column `at`; cut where it does not fit into a line. Returns the column after it. */
static size_t append_word(struct text *out, const char *word, size_t bytes, size_t at, size_t width) {
  for (size_t i = 0; i < bytes;) {
    size_t columns;
    size_t length = character(word + i, &columns);
    if (at && at + columns > width) {
      text_append(out, "\n");
      at = 0;
    }
    text_append_bytes(out, word + i, length);
    at += columns;
    i += length;
  }
  return at;
}

char *printable_fold(const char *text, size_t width, struct error *err) {
  struct text out = {0};
  size_t at = 0;
  while (*text) {
    size_t bytes = strcspn(text, " \n");
    size_t columns = 0;
    for (size_t i = 0; i < bytes;) {
      size_t one;
      i += character(text + i, &one);
      columns += one;
    }
    if (bytes) {
      if (at && at + 1 + columns > width) {
        text_append(&out, "\n");
        at = 0;
      } else if (at) {
        text_append(&out, " ");
        at++;
      }
      at = append_word(&out, text, bytes, at, width);
    }
    text += bytes;
    if (*text == '\n') {
      text_append(&out, "\n");
      at = 0;
    }
    text += *text != '\0';
  }
  return text_take(&out, err);
}
