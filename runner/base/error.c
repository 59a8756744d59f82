#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
  const char *id;
  int exit_code;
  const char *title;
} error_table[ERROR_COUNT] = {[ERROR_NONE] = {"", 0, ""},
#define X(name, id, exit_code, title) [name] = {id, exit_code, title},
                              ERROR_LIST(X)
#undef X
};

int error_set(struct error *err, enum error_code code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  err->code = code;
  vsnprintf(err->text, sizeof err->text, format, arguments);
  va_end(arguments);
  return code;
}

const char *error_id(enum error_code code) {
  return error_table[code].id;
}

const char *error_title(enum error_code code) {
  return error_table[code].title;
}

int error_exit_code(enum error_code code) {
  return error_table[code].exit_code;
}
