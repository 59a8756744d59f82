#include "host/plugin_names.h"

#include "config/utf8.h"

#include <stddef.h>
#include <stdint.h>
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

/* Bytes of the clean UTF-8 character at `text`; 0 where there is none, or a control character. */
static size_t character_length(const char *text) {
  size_t length = utf8_length(text, strlen(text));
  uint32_t code = length ? utf8_code_point(text, length) : 0;
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : length;
}

bool plugin_text_is_line(const char *text) {
  size_t at = 0;
  while (text[at] && at <= LONGEST_LINE) {
    size_t length = character_length(text + at);
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
    size_t length = character_length(text + at);
    if (length == 0) {
      text[at] = text[at] == '\n' || text[at] == '\t' || text[at] == '\r' ? ' ' : '?';
      length = 1;
    }
    at += length;
  }
}
