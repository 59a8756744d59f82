#include "config/yaml_write.h"

#include "config/number.h"
#include "config/utf8.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* What YAML 1.1 or 1.2 readers take for a boolean or for nothing. */
static bool is_reserved_word(const char *value) {
  static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null", "auto"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!strcasecmp(words[i], value)) {
      return true;
    }
  }
  return false;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Letters first, then nothing that YAML gives a meaning to. A path may start with a point or slash. */
static bool is_safe(const char *value) {
  size_t length = strlen(value);
  bool path = value[0] == '/' || !strncmp(value, "./", 2) || !strncmp(value, "../", 3);
  if (!length || value[length - 1] == ' ' || (!is_letter(value[0]) && !path) || is_reserved_word(value)) {
    return false;
  }
  for (const char *c = value; *c; c++) {
    if (!is_letter(*c) && !(*c >= '0' && *c <= '9') && !strchr("_-./+() ", *c)) {
      return false;
    }
  }
  struct number ignored;
  return number_parse(value, &ignored) == NUMBER_NOT;
}

static void write_quoted(struct text *text, const char *value) {
  size_t left = strlen(value);
  text_append(text, "\"");
  while (left) {
    size_t length = utf8_length(value, left);
    uint32_t point = length ? utf8_code_point(value, length) : 0;
    if (*value == '"' || *value == '\\') {
      text_printf(text, "\\%c", *value);
    } else if (*value == '\n') {
      text_append(text, "\\n");
    } else if (*value == '\t') {
      text_append(text, "\\t");
    } else if (point < 0x20 || (point >= 0x7f && point < 0xa0)) {
      text_printf(text, "\\x%02x", (unsigned)point);
    } else if (point == 0x2028 || point == 0x2029 || point == 0xfeff || point == 0xfffe || point == 0xffff) {
      text_printf(text, "\\u%04x", (unsigned)point);
    } else {
      text_append_bytes(text, value, length);
    }
    length = length ? length : 1;
    value += length;
    left -= length;
  }
  text_append(text, "\"");
}

void yaml_write_text(struct text *text, const char *value) {
  if (is_safe(value)) {
    text_append(text, value);
  } else {
    write_quoted(text, value);
  }
}
