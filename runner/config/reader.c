#include "config/reader.h"

#include "config/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/utf8.h"

/* Line `line` of a source, in the arena; NULL where it has none. */
static const char *source_line(struct reader *reader, const struct source *source, int line) {
  size_t at = 0;
  for (int i = 1; i < line; i++) {
    while (at < source->length && !utf8_line_break(source->text + at, source->length - at)) {
      at++;
    }
    if (at == source->length) {
      return NULL;
    }
    at += utf8_line_break(source->text + at, source->length - at);
  }
  size_t end = at;
  while (end < source->length && !utf8_line_break(source->text + end, source->length - end)) {
    end++;
  }
  return arena_copy(&reader->arena, source->text + at, end - at);
}

void reader_report_at(struct reader *reader, enum error_code code, const struct source *source, int line, int column,
                      const char *format, ...) {
  if (reader->diagnostics->count >= DIAGNOSTICS_MAX) {
    reader->diagnostics->left_out++; /* without looking for the line: there may be very many */
    return;
  }
  va_list arguments;
  char *text = NULL;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) {
    reader->diagnostics->out_of_memory = true;
    return;
  }
  const char *shown = line > 0 ? source_line(reader, source, line) : NULL;
  diagnostics_add(reader->diagnostics, code, source->place, line, column, shown, "%s", text);
  free(text);
}

void reader_report(struct reader *reader, enum error_code code, const struct node *node, const char *path,
                   const char *format, ...) {
  va_list arguments;
  char *text = NULL;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) {
    reader->diagnostics->out_of_memory = true;
    return;
  }
  bool named = path && path[0];
  reader_report_at(reader, code, node->source, node->line, node->column, "%s%s%s", named ? path : "", named ? ": " : "",
                   text);
  free(text);
}

const char *reader_path(struct reader *reader, const char *path, const char *key) {
  return path[0] ? arena_printf(&reader->arena, "%s.%s", path, key) : key;
}

const char *reader_hint(struct reader *reader, const char *name, const char *const *names) {
  const char *near = config_nearest(name, names);
  return near ? arena_printf(&reader->arena, "; did you mean '%s'?", near) : "";
}
