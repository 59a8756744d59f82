#include "host/plugin_names.h"

#include <stddef.h>
#include <string.h>

enum { LONGEST_NAME = 64, LONGEST_LINE = 1000 };

static bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

static bool is_letter(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool plugin_name_is_key(const char *name, bool lower) {
  if (!(lower ? is_lower(name[0]) : is_letter(name[0]))) {
    return false;
  }
  size_t length = 1;
  for (; name[length] && length <= LONGEST_NAME; length++) {
    char c = name[length];
    if (!(c == '_' || is_digit(c) || (lower ? is_lower(c) : is_letter(c)))) {
      return false;
    }
  }
  return length <= LONGEST_NAME;
}

bool plugin_name_is_scheme_id(const char *name) {
  return plugin_name_is_key(name, false);
}

static bool is_one_of(const char *name, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!strcmp(name, words[i])) {
      return true;
    }
  }
  return false;
}

bool plugin_name_is_reserved_key(const char *name) {
  static const char *const WORDS[] = {"label", "positions", "plugin", "weights"};
  return is_one_of(name, WORDS, sizeof WORDS / sizeof WORDS[0]);
}

bool plugin_name_is_reserved_id(const char *name) {
  static const char *const WORDS[] = {"none", "comparison"};
  return is_one_of(name, WORDS, sizeof WORDS / sizeof WORDS[0]) || !strncmp(name, "comparison_", 11);
}

/* Bytes of the clean UTF-8 character at `text`; 0 where there is none (control characters included). */
static size_t character_length(const unsigned char *text) {
  if (text[0] < 0x80) {
    return text[0] >= 0x20 && text[0] != 0x7f ? 1 : 0;
  }
  size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
  if (text[0] < 0xc2 || text[0] > 0xf4) {
    return 0;
  }
  for (size_t i = 1; i < length; i++) {
    if ((text[i] & 0xc0) != 0x80) {
      return 0;
    }
  }
  bool too_long = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
  bool surrogate = text[0] == 0xed && text[1] >= 0xa0;
  bool too_large = text[0] == 0xf4 && text[1] >= 0x90;
  bool c1_control = text[0] == 0xc2 && text[1] < 0xa0;
  return too_long || surrogate || too_large || c1_control ? 0 : length;
}

bool plugin_text_is_line(const char *text) {
  size_t at = 0;
  while (text[at] && at <= LONGEST_LINE) {
    size_t length = character_length((const unsigned char *)text + at);
    if (length == 0) {
      return false;
    }
    at += length;
  }
  return at <= LONGEST_LINE;
}

void plugin_text_clean(char *text) {
  size_t at = 0;
  while (text[at]) {
    size_t length = character_length((const unsigned char *)text + at);
    if (length == 0) {
      text[at] = text[at] == '\n' || text[at] == '\t' || text[at] == '\r' ? ' ' : '?';
      length = 1;
    }
    at += length;
  }
}
