#include "base/json_text.h"

#include "base/text.h"

/* What could not be taken is remembered in the text. */
static int append(const char *bytes, size_t count, void *text) {
  text_append_bytes(text, bytes, count);
  return 0;
}

char *json_to_text(const json_t *json, size_t flags, struct error *err) {
  struct text text = {0};
  if (!json || json_dump_callback(json, append, &text, flags)) {
    text_free(&text);
    error_set(err, ERROR_MEMORY, "JSON: memory is not to be had");
    return NULL;
  }
  return text_take(&text, err);
}
