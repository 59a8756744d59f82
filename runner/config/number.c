#include "config/number.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Longer than any double needs; a longer text is not taken for a number. */
enum { MAX_DIGITS = 400, MAX_EXPONENT = 100000 };

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_not_finite(const char *text) {
  static const char *const words[] = {".inf", "inf", "infinity", ".nan", "nan", NULL};
  text += *text == '+' || *text == '-';
  for (const char *const *word = words; *word; word++) {
    if (!strcasecmp(text, *word)) {
      return true;
    }
  }
  return false;
}

/* 0x1F or 0o17, without a sign, as YAML 1.2 core has them. */
static enum number_status parse_other_base(const char *text, struct number *out) {
  unsigned base = text[1] == 'x' ? 16 : 8;
  uint64_t value = 0;
  if (!text[2]) {
    return NUMBER_NOT;
  }
  for (const char *c = text + 2; *c; c++) {
    static const char digits[] = "0123456789abcdef";
    const char *found = strchr(digits, *c >= 'A' && *c <= 'F' ? *c - 'A' + 'a' : *c);
    if (!found || (unsigned)(found - digits) >= base) {
      return NUMBER_NOT;
    }
    if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
        __builtin_add_overflow(value, (uint64_t)(found - digits), &value) || value > INT64_MAX) {
      return NUMBER_TOO_LARGE;
    }
  }
  *out = (struct number){.real = (double)value, .whole = true, .whole_form = true, .integer = (int64_t)value};
  return NUMBER_OK;
}

/* The digits before and after the point, without it, and the power of ten that they are multiplied with. */
struct decimal {
  char digits[MAX_DIGITS + 1];
  size_t count;
  size_t before_point;
  bool has_point, has_exponent;
  long exponent;
};

/* False where the text has another form. */
static bool split(const char *text, struct decimal *out) {
  const char *c = text;
  for (; is_digit(*c) || (*c == '.' && !out->has_point); c++) {
    if (*c == '.') {
      out->has_point = true;
      out->before_point = out->count;
    } else if (out->count < MAX_DIGITS) {
      out->digits[out->count++] = *c;
    } else {
      return false;
    }
  }
  if (!out->has_point) {
    out->before_point = out->count;
  }
  if (out->count == 0) {
    return false;
  }
  if (*c == 'e' || *c == 'E') {
    out->has_exponent = true;
    bool negative = c[1] == '-';
    c += c[1] == '-' || c[1] == '+' ? 2 : 1;
    if (!is_digit(*c)) {
      return false;
    }
    for (; is_digit(*c); c++) {
      out->exponent = out->exponent > MAX_EXPONENT ? out->exponent : out->exponent * 10 + (*c - '0');
    }
    out->exponent = negative ? -out->exponent : out->exponent;
  }
  out->exponent -= (long)(out->count - out->before_point);
  return *c == '\0';
}

static bool all_zero(const struct decimal *decimal) {
  return strspn(decimal->digits, "0") == decimal->count;
}

/* Whole numbers up to 64 bits are exact, also where they are written 1e3 or 2.0. */
static void set_whole(struct number *out, const struct decimal *decimal, bool negative) {
  if (out->whole_form) {
    int64_t value = 0;
    for (size_t i = 0; i < decimal->count; i++) {
      int digit = decimal->digits[i] - '0';
      if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
          (negative ? __builtin_sub_overflow(value, (int64_t)digit, &value)
                    : __builtin_add_overflow(value, (int64_t)digit, &value))) {
        return;
      }
    }
    out->integer = value;
    out->whole = true;
  } else if (out->real == floor(out->real) && fabs(out->real) <= 0x1p53) {
    out->integer = (int64_t)out->real;
    out->whole = true;
  }
}

enum number_status number_parse(const char *text, struct number *out) {
  if (text[0] == '0' && (text[1] == 'x' || text[1] == 'o')) {
    return parse_other_base(text, out);
  }
  if (is_not_finite(text)) {
    return NUMBER_NOT_FINITE;
  }
  bool negative = text[0] == '-';
  struct decimal decimal = {0};
  if (!split(text + (negative || text[0] == '+'), &decimal)) {
    return NUMBER_NOT;
  }
  if (decimal.before_point > 1 && decimal.digits[0] == '0') {
    return NUMBER_LEADING_ZERO;
  }
  /* Without a point, strtod reads the same under every locale. */
  char plain[MAX_DIGITS + 32];
  snprintf(plain, sizeof plain, "%s%se%ld", negative ? "-" : "", decimal.digits, decimal.exponent);
  double value = strtod(plain, NULL);
  if (isinf(value)) {
    return NUMBER_TOO_LARGE;
  }
  if (value == 0.0 && !all_zero(&decimal)) {
    return NUMBER_TOO_SMALL;
  }
  *out = (struct number){.real = value, .whole_form = !decimal.has_point && !decimal.has_exponent};
  set_whole(out, &decimal, negative);
  return NUMBER_OK;
}
