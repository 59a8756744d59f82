#include "input/vocabulary.h"

#include "base/memory.h"
#include "base/text.h"
#include "config/utf8.h"

#include <stdlib.h>
#include <string.h>

static const char word_mark[] = "\xe2\x96\x81"; /* U+2581 */

enum { WORD_MARK_BYTES = 3, MOST_SHOWN = 8, LONGEST_SHOWN = 48 };

static uint64_t hash_of(const char *bytes, size_t length) {
  uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) {
    hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
  }
  return hash ^ hash >> 32;
}

static void add_piece(struct vocabulary *vocabulary, size_t id) {
  const char *piece = vocabulary->pieces[id];
  size_t length = strlen(piece);
  for (size_t i = 0; i < length; i++) {
    vocabulary->lower_case = vocabulary->lower_case && !(piece[i] >= 'A' && piece[i] <= 'Z');
  }
  vocabulary->marks_words = vocabulary->marks_words || !strncmp(piece, word_mark, WORD_MARK_BYTES);
  vocabulary->longest = length > vocabulary->longest ? length : vocabulary->longest;
  if (!length || vocabulary_find(vocabulary, piece, length) >= 0) {
    return;
  }
  size_t slot = hash_of(piece, length) & vocabulary->slot_mask;
  while (vocabulary->slots[slot]) {
    slot = (slot + 1) & vocabulary->slot_mask;
  }
  vocabulary->slots[slot] = (uint32_t)id + 1;
}

int vocabulary_init(struct vocabulary *vocabulary, char **pieces, size_t count, size_t reserved, struct error *err) {
  *vocabulary = (struct vocabulary){.pieces = pieces, .count = count, .reserved = reserved, .lower_case = true};
  size_t slots = 16;
  while (slots < 2 * count) {
    slots *= 2;
  }
  vocabulary->slots = memory_new(slots, sizeof *vocabulary->slots, "vocabulary", err);
  if (!vocabulary->slots) {
    return err->code;
  }
  vocabulary->slot_mask = slots - 1;
  for (size_t id = reserved; id < count; id++) {
    add_piece(vocabulary, id);
  }
  return 0;
}

void vocabulary_destroy(struct vocabulary *vocabulary) {
  for (size_t i = 0; vocabulary->pieces && i < vocabulary->count; i++) {
    free(vocabulary->pieces[i]);
  }
  free(vocabulary->pieces);
  free(vocabulary->slots);
  *vocabulary = (struct vocabulary){0};
}

int32_t vocabulary_find(const struct vocabulary *vocabulary, const char *bytes, size_t length) {
  size_t slot = hash_of(bytes, length) & vocabulary->slot_mask;
  for (; vocabulary->slots[slot]; slot = (slot + 1) & vocabulary->slot_mask) {
    uint32_t id = vocabulary->slots[slot] - 1;
    const char *piece = vocabulary->pieces[id];
    if (!strncmp(piece, bytes, length) && !piece[length]) {
      return (int32_t)id;
    }
  }
  return -1;
}

/* Bytes of the UTF-8 character at text[at]; 0 where there is none. NUL is no text. */
static size_t character_bytes(const char *text, size_t at, size_t length) {
  return text[at] ? utf8_length(text + at, length - at) : 0;
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* Line and column, from 1 and in characters, of byte `at`. */
static void place_of(const char *text, size_t at, size_t *line, size_t *column) {
  *line = *column = 1;
  for (size_t i = 0; i < at; i++) {
    if (text[i] == '\n') {
      ++*line;
      *column = 1;
    } else if ((text[i] & 0xc0) != 0x80) {
      ++*column;
    }
  }
}

/* What no piece matched, each once. */
struct unknowns {
  size_t first_at; /* byte of the first one in the text */
  size_t places;
  struct {
    const char *bytes;
    size_t length;
  } shown[MOST_SHOWN];
  size_t n_shown;
  bool more;
};

static void add_unknown(struct unknowns *unknowns, const char *text, size_t at, size_t length) {
  if (!unknowns->places++) {
    unknowns->first_at = at;
  }
  for (size_t i = 0; i < unknowns->n_shown; i++) {
    if (unknowns->shown[i].length == length && !memcmp(unknowns->shown[i].bytes, text + at, length)) {
      return;
    }
  }
  if (unknowns->n_shown == MOST_SHOWN) {
    unknowns->more = true;
    return;
  }
  unknowns->shown[unknowns->n_shown].bytes = text + at;
  unknowns->shown[unknowns->n_shown++].length = length;
}

static int report_unknowns(const struct unknowns *unknowns, const char *name, const char *text, struct error *err) {
  size_t line, column;
  place_of(text, unknowns->first_at, &line, &column);
  struct text list = {0};
  for (size_t i = 0; i < unknowns->n_shown; i++) {
    size_t length = unknowns->shown[i].length;
    text_append(&list, i ? ", '" : "'");
    text_append_bytes(&list, unknowns->shown[i].bytes, length < LONGEST_SHOWN ? length : LONGEST_SHOWN);
    text_append(&list, "'");
  }
  if (unknowns->more) {
    text_append(&list, ", ...");
  }
  int status = list.failed ? error_set(err, ERROR_MEMORY, "no memory for a message")
                           : error_set(err, ERROR_TOKENS,
                                       "%s:%zu:%zu: no piece of the vocabulary matches %s (%zu %s in the text); "
                                       "`unknown: skip` leaves such places out",
                                       name, line, column, list.data, unknowns->places,
                                       unknowns->places == 1 ? "place" : "places");
  text_free(&list);
  return status;
}

static int add_token(struct token_list *list, int32_t id, struct error *err) {
  int32_t *grown = memory_grow(list->ids, &list->capacity, list->count + 1, sizeof *list->ids, "tokens", err);
  if (!grown) {
    return err->code;
  }
  list->ids = grown;
  list->ids[list->count++] = id;
  return 0;
}

static int32_t longest_match(const struct vocabulary *vocabulary, const char *bytes, size_t length, size_t *taken) {
  for (size_t n = length < vocabulary->longest ? length : vocabulary->longest; n; n--) {
    int32_t id = vocabulary_find(vocabulary, bytes, n);
    if (id >= 0) {
      *taken = n;
      return id;
    }
  }
  return -1;
}

/* One word, text[at .. at + length), cut into pieces; `buffer` has room for it and the mark ahead of it. The mark may
 * stand alone where no piece begins with it and what follows. */
static int cut_marked_word(const struct vocabulary *vocabulary, const char *text, size_t at, size_t length,
                           char *buffer, struct unknowns *unknowns, struct token_list *list, struct error *err) {
  memcpy(buffer, word_mark, WORD_MARK_BYTES);
  memcpy(buffer + WORD_MARK_BYTES, text + at, length);
  size_t total = length + WORD_MARK_BYTES;
  for (size_t i = 0; i < total;) {
    size_t taken = 0;
    int32_t id = longest_match(vocabulary, buffer + i, total - i, &taken);
    if (id >= 0) {
      int status = add_token(list, id, err);
      if (status) {
        return status;
      }
      i += taken;
    } else if (i == 0) {
      i = WORD_MARK_BYTES; /* a vocabulary without the bare mark: the word starts without it */
    } else {
      size_t bytes = character_bytes(buffer, i, total);
      add_unknown(unknowns, text, at + i - WORD_MARK_BYTES, bytes);
      i += bytes;
    }
  }
  return 0;
}

static bool is_word_byte(char c) {
  unsigned char u = (unsigned char)c;
  return u >= 0x80 || (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z');
}

/* Whole words: the longest piece that ends where a word ends ("can't", "U.S."), else the run of letters or the mark is
 * unknown. */
static int cut_whole_words(const struct vocabulary *vocabulary, const char *text, size_t at, size_t length,
                           char *buffer, struct unknowns *unknowns, struct token_list *list, struct error *err) {
  for (size_t i = 0; i < length; i++) {
    char c = text[at + i];
    buffer[i] = (char)(vocabulary->lower_case && c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  for (size_t i = 0; i < length;) {
    size_t most = length - i < vocabulary->longest ? length - i : vocabulary->longest;
    int32_t id = -1;
    size_t n = most;
    for (; n; n--) {
      bool ends_word = i + n == length || !is_word_byte(buffer[i + n - 1]) || !is_word_byte(buffer[i + n]);
      id = ends_word ? vocabulary_find(vocabulary, buffer + i, n) : -1;
      if (id >= 0) {
        break;
      }
    }
    if (id >= 0) {
      int status = add_token(list, id, err);
      if (status) {
        return status;
      }
    } else {
      for (n = 1; is_word_byte(buffer[i]) && i + n < length && is_word_byte(buffer[i + n]); n++) {
      }
      add_unknown(unknowns, text, at + i, n);
    }
    i += n;
  }
  return 0;
}

static int check_utf8(const char *name, const char *text, size_t length, size_t *longest_word, struct error *err) {
  size_t word = 0;
  *longest_word = 0;
  for (size_t i = 0; i < length;) {
    size_t n = character_bytes(text, i, length);
    if (!n) {
      size_t line, column;
      place_of(text, i, &line, &column);
      return error_set(err, ERROR_TOKENS, "%s:%zu:%zu: byte 0x%02x is not text in UTF-8", name, line, column,
                       (unsigned)(unsigned char)text[i]);
    }
    word = is_space(text[i]) ? 0 : word + n;
    *longest_word = word > *longest_word ? word : *longest_word;
    i += n;
  }
  return 0;
}

int vocabulary_cut(const struct vocabulary *vocabulary, const char *name, const char *text, size_t length,
                   bool skip_unknown, struct token_list *list, struct error *err) {
  size_t longest_word = 0;
  int status = check_utf8(name, text, length, &longest_word, err);
  if (status) {
    return status;
  }
  char *buffer = memory_new(longest_word + WORD_MARK_BYTES, 1, "a word", err);
  if (!buffer) {
    return err->code;
  }
  struct unknowns unknowns = {0};
  for (size_t at = 0; !status && at < length;) {
    size_t word = 0;
    while (at + word < length && !is_space(text[at + word])) {
      word++;
    }
    if (word) {
      status = (vocabulary->marks_words ? cut_marked_word : cut_whole_words)(vocabulary, text, at, word, buffer,
                                                                             &unknowns, list, err);
    }
    at += word + 1;
  }
  free(buffer);
  if (!status && unknowns.places && !skip_unknown) {
    status = report_unknowns(&unknowns, name, text, err);
  }
  return status;
}
