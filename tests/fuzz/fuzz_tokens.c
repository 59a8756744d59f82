/* Text cut into pieces. The first byte chooses the vocabulary and what becomes of unknown characters; where nothing is
 * left out, the pieces joined are the text with U+2581 ahead of every word. */
#include "fuzz.h"

#include "input/vocabulary.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\xe2\x96\x81"

static const char *const marked_pieces[] = {"<s>",  MARK, MARK "he", MARK "work", "s", "work", "h", "e", MARK "works",
                                            "work", " ",  ".",       "\xc3\xa9",  "a", "r",    "k", "w", "o"};
static const char *const whole_words[] = {"he", "works", ".", ",", "u.s.", "can't", "\xc3\xa9t\xc3\xa9", "1"};

static struct vocabulary make(const char *const *pieces, size_t count, size_t reserved) {
  char **copies = calloc(count, sizeof *copies);
  struct vocabulary vocabulary;
  struct error err;
  for (size_t i = 0; copies && i < count; i++) {
    copies[i] = strdup(pieces[i]);
  }
  if (!copies || vocabulary_init(&vocabulary, copies, count, reserved, &err)) {
    abort();
  }
  return vocabulary;
}

static bool is_space(uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Joined pieces against the text. */
static void check_whole(const struct vocabulary *vocabulary, const struct token_list *list, const uint8_t *text,
                        size_t count) {
  char *joined = calloc(4 * count + 1, 1), *expected = calloc(4 * count + 1, 1);
  if (!joined || !expected) {
    abort();
  }
  char *end = joined, *at = expected;
  for (size_t i = 0; i < list->count; i++) {
    const char *piece = vocabulary->pieces[list->ids[i]];
    memcpy(end, piece, strlen(piece));
    end += strlen(piece);
  }
  for (size_t i = 0; i < count; i++) {
    if (!is_space(text[i])) {
      if (!i || is_space(text[i - 1])) {
        memcpy(at, MARK, 3);
        at += 3;
      }
      *at++ = (char)text[i];
    }
  }
  if (strcmp(joined, expected) != 0) {
    abort();
  }
  free(joined);
  free(expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (!count) {
    return 0;
  }
  bool marked = bytes[0] & 1, skip = bytes[0] & 2;
  struct vocabulary vocabulary = marked ? make(marked_pieces, sizeof marked_pieces / sizeof *marked_pieces, 1)
                                        : make(whole_words, sizeof whole_words / sizeof *whole_words, 0);
  struct token_list list = {0};
  struct error err = {ERROR_NONE, ""};
  int status = vocabulary_cut(&vocabulary, "text", (const char *)bytes + 1, count - 1, skip, &list, &err);
  for (size_t i = 0; i < list.count; i++) {
    if (list.ids[i] < (int32_t)vocabulary.reserved || (size_t)list.ids[i] >= vocabulary.count) {
      abort();
    }
  }
  if (status ? status != ERROR_TOKENS || !err.text[0] : 0) {
    abort();
  }
  if (!status && marked && !skip) {
    check_whole(&vocabulary, &list, bytes + 1, count - 1);
  }
  free(list.ids);
  vocabulary_destroy(&vocabulary);
  return 0;
}
