#include "config/diagnostics.h"

#include "base/memory.h"
#include "base/text.h"
#include "config/utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Characters of a source line that are shown; the column is kept inside. */
enum { SHOWN_COLUMNS = 100, SHOWN_BEFORE = 60 };

static int compare(const struct diagnostic *a, const struct diagnostic *b) {
  int order = strverscmp(a->place, b->place);
  if (order) {
    return order;
  }
  if (a->line != b->line) {
    return a->line < b->line ? -1 : 1;
  }
  return (a->column > b->column) - (a->column < b->column);
}

static void diagnostic_free(struct diagnostic *item) {
  free(item->place);
  free(item->text);
  free(item->source);
}

static bool is_known(const struct diagnostics *diagnostics, const struct diagnostic *item) {
  for (size_t i = 0; i < diagnostics->count; i++) {
    const struct diagnostic *other = &diagnostics->items[i];
    if (other->code == item->code && !compare(other, item) && !strcmp(other->text, item->text)) {
      return true;
    }
  }
  return false;
}

/* Takes over what `item` owns; false where there is no memory. */
static bool insert(struct diagnostics *diagnostics, struct diagnostic *item) {
  struct error err;
  struct diagnostic *grown = memory_grow(diagnostics->items, &diagnostics->capacity, diagnostics->count + 1,
                                         sizeof *grown, "diagnostics", &err);
  if (!grown) {
    return false;
  }
  diagnostics->items = grown;
  size_t at = diagnostics->count;
  while (at > 0 && compare(item, &grown[at - 1]) < 0) {
    grown[at] = grown[at - 1];
    at--;
  }
  grown[at] = *item;
  diagnostics->count++;
  return true;
}

void diagnostics_add(struct diagnostics *diagnostics, enum error_code code, const char *place, int line, int column,
                     const char *source, const char *format, ...) {
  struct error err;
  struct diagnostic item = {.code = code, .line = line, .column = column};
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&item.text, format, arguments) < 0) {
    item.text = NULL;
  }
  va_end(arguments);
  item.place = memory_copy_text(place, &err);
  item.source = source ? memory_copy_text(source, &err) : NULL;
  if (!item.text || !item.place || (source && !item.source)) {
    diagnostics->out_of_memory = true;
    diagnostic_free(&item);
    return;
  }
  if (is_known(diagnostics, &item)) {
    diagnostic_free(&item);
    return;
  }
  if (diagnostics->count >= DIAGNOSTICS_MAX) {
    diagnostics->left_out++;
    diagnostic_free(&item);
    return;
  }
  if (!insert(diagnostics, &item)) {
    diagnostics->out_of_memory = true;
    diagnostic_free(&item);
  }
}

/* One character of `text` for the terminal: a tab becomes a blank, so that the caret stands below its column. */
static size_t append_shown(struct text *out, const char *text) {
  size_t width = utf8_length(text, strnlen(text, 4));
  unsigned char first = (unsigned char)text[0];
  if (!width || first == 0x7f || (first < 0x20 && first != '\t')) {
    text_append(out, "?");
  } else if (first == '\t') {
    text_append(out, " ");
  } else {
    text_append_bytes(out, text, width);
  }
  return width ? width : 1;
}

static void append_source(struct text *out, const struct diagnostic *item) {
  int skipped = item->column > SHOWN_BEFORE + 1 && item->column > SHOWN_COLUMNS ? item->column - 1 - SHOWN_BEFORE : 0;
  const char *at = item->source;
  struct text dropped = {0};
  for (int i = 0; i < skipped && *at; i++) {
    at += append_shown(&dropped, at);
  }
  text_free(&dropped);
  text_printf(out, "%5d | %s", item->line, skipped ? "..." : "");
  for (int shown = 0; *at; shown++) {
    if (shown == SHOWN_COLUMNS) {
      text_append(out, "...");
      break;
    }
    at += append_shown(out, at);
  }
  text_append(out, "\n      | ");
  for (int i = 1; i < item->column - skipped + (skipped ? 3 : 0); i++) {
    text_append(out, " ");
  }
  text_append(out, "^\n");
}

static void append_clean(struct text *out, const char *text) {
  while (*text) {
    text += append_shown(out, text);
  }
}

static void append_diagnostic(struct text *out, const struct diagnostic *item) {
  append_clean(out, item->place);
  if (item->line > 0) {
    text_printf(out, ":%d:%d", item->line, item->column);
  }
  text_printf(out, ": error[%s]: ", error_id(item->code));
  append_clean(out, item->text);
  text_append(out, "\n");
  if (item->source && item->source[0] && item->line > 0) {
    append_source(out, item);
  }
}

void diagnostics_print(const struct diagnostics *diagnostics, FILE *stream) {
  for (size_t i = 0; i < diagnostics->count; i++) {
    struct error err;
    struct text text = {0};
    append_diagnostic(&text, &diagnostics->items[i]);
    char *shown = text_take(&text, &err);
    if (shown) {
      fputs(shown, stream);
    } else {
      fprintf(stream, "%s: %s\n", diagnostics->items[i].place, diagnostics->items[i].text);
    }
    free(shown);
  }
  if (diagnostics->left_out) {
    fprintf(stream, "%zu more are not shown\n", diagnostics->left_out);
  }
  if (diagnostics->out_of_memory) {
    fprintf(stream, "error[%s]: %s\n", error_id(ERROR_MEMORY), error_title(ERROR_MEMORY));
  }
}

bool diagnostics_any(const struct diagnostics *diagnostics) {
  return diagnostics->count || diagnostics->out_of_memory;
}

int diagnostics_exit_code(const struct diagnostics *diagnostics) {
  if (diagnostics->out_of_memory) {
    return error_exit_code(ERROR_MEMORY);
  }
  return diagnostics->count ? error_exit_code(diagnostics->items[0].code) : 0;
}

void diagnostics_free(struct diagnostics *diagnostics) {
  for (size_t i = 0; i < diagnostics->count; i++) {
    diagnostic_free(&diagnostics->items[i]);
  }
  free(diagnostics->items);
  *diagnostics = (struct diagnostics){0};
}
