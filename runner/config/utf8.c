#include "config/utf8.h"

#include <string.h>

size_t utf8_length(const char *text, size_t count) {
  if (!count) {
    return 0;
  }
  unsigned char first = (unsigned char)text[0];
  if (first < 0x80) {
    return 1;
  }
  size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                  : (first & 0xf0) == 0xe0         ? 3
                  : first >= 0xf0 && first <= 0xf4 ? 4
                                                   : 0;
  if (!length || length > count) {
    return 0;
  }
  for (size_t i = 1; i < length; i++) {
    if (((unsigned char)text[i] & 0xc0) != 0x80) {
      return 0;
    }
  }
  uint32_t point = utf8_code_point(text, length);
  if ((length == 3 && (point < 0x800 || (point >= 0xd800 && point <= 0xdfff))) ||
      (length == 4 && (point < 0x10000 || point > 0x10ffff))) {
    return 0;
  }
  return length;
}

uint32_t utf8_code_point(const char *text, size_t length) {
  static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t point = (unsigned char)text[0] & lead[length];
  for (size_t i = 1; i < length; i++) {
    point = point << 6 | ((unsigned char)text[i] & 0x3fu);
  }
  return point;
}

size_t utf8_line_break(const char *text, size_t count) {
  if (count >= 2 && !memcmp(text, "\r\n", 2)) {
    return 2;
  }
  if (count >= 1 && (text[0] == '\n' || text[0] == '\r')) {
    return 1;
  }
  if (count >= 2 && !memcmp(text, "\xc2\x85", 2)) {
    return 2;
  }
  if (count >= 3 && (!memcmp(text, "\xe2\x80\xa8", 3) || !memcmp(text, "\xe2\x80\xa9", 3))) {
    return 3;
  }
  return 0;
}
