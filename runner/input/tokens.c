#include "input/tokens.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/corpus.h"
#include "input/regular_file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT_BYTES = 256 << 20, MOST_SKIPPED_SENTENCES = 10000 };

struct reading {
  const struct vocabulary *vocabulary;
  bool is_bytes; /* ids are bytes, and there is no vocabulary */
  size_t n_ids;
  bool skip_unknown;
  struct text_tokens *texts;
  size_t n_texts, capacity;
};

/* Add one text; takes the ids over, on error too. */
static int add_text(struct reading *reading, const char *name, struct token_list *list, struct error *err) {
  if (!list->count) {
    free(list->ids);
    return error_set(err, ERROR_TOKENS, "%s: holds no token", name);
  }
  struct text_tokens *grown =
      memory_grow(reading->texts, &reading->capacity, reading->n_texts + 1, sizeof *grown, "texts", err);
  if (!grown) {
    free(list->ids);
    return err->code;
  }
  reading->texts = grown;
  struct text_tokens *text = &reading->texts[reading->n_texts++];
  *text = (struct text_tokens){.name = memory_copy_text(name, err), .count = list->count, .ids = list->ids};
  *list = (struct token_list){0};
  return text->name ? 0 : (int)err->code;
}

static int mark_padding(struct text_tokens *text, struct error *err) {
  size_t n_padding = 0;
  for (size_t i = 0; i < text->count; i++) {
    n_padding += text->ids[i] < 0;
  }
  if (n_padding == text->count) {
    return error_set(err, ERROR_TOKENS, "model.tokens.ids: all %zu ids are -1 (padding); at least one must be a token",
                     text->count);
  }
  if (n_padding) {
    text->padding = memory_new(text->count, 1, "padding", err);
    if (!text->padding) {
      return err->code;
    }
    for (size_t i = 0; i < text->count; i++) {
      text->padding[i] = text->ids[i] < 0;
    }
  }
  return 0;
}

static int read_ids(struct reading *reading, const struct key_value *value, struct error *err) {
  struct token_list list = {0};
  list.ids = memory_new(value->count, sizeof *list.ids, "token ids", err);
  if (!list.ids) {
    return err->code;
  }
  for (size_t i = 0; i < value->count; i++) {
    double id = value->list[i];
    if (id < -1 || id >= (double)reading->n_ids) {
      free(list.ids);
      return error_set(err, ERROR_TOKENS, "model.tokens.ids[%zu]: %.0f; the model has ids 0 to %zu, and -1 for padding",
                       i, id, reading->n_ids - 1);
    }
    list.ids[list.count++] = (int32_t)id;
  }
  int status = add_text(reading, "ids", &list, err);
  return status ? status : mark_padding(&reading->texts[reading->n_texts - 1], err);
}

/* Append the ids of a text. */
static int append_text(const struct reading *reading, const char *place, const char *bytes, size_t length,
                       bool skip_unknown, struct token_list *list, struct error *err) {
  if (!reading->is_bytes) {
    return vocabulary_cut(reading->vocabulary, place, bytes, length, skip_unknown, list, err);
  }
  int32_t *ids = memory_grow(list->ids, &list->capacity, list->count + length, sizeof *ids, place, err);
  if (!ids) {
    return err->code;
  }
  list->ids = ids;
  for (size_t i = 0; i < length; i++) {
    ids[list->count++] = (unsigned char)bytes[i];
  }
  return 0;
}

static int cut_text(struct reading *reading, const char *name, const char *place, const char *bytes, size_t length,
                    struct error *err) {
  struct token_list list = {0};
  int status = append_text(reading, place, bytes, length, reading->skip_unknown, &list, err);
  if (status) {
    free(list.ids);
    return status;
  }
  if (!list.count) {
    free(list.ids);
    return error_set(err, ERROR_TOKENS, "%s: holds no token", place);
  }
  return add_text(reading, name, &list, err);
}

static int read_texts(struct reading *reading, const struct key_value *value, struct error *err) {
  int status = 0;
  for (size_t i = 0; !status && i < value->count; i++) {
    struct text name = {0}, place = {0};
    text_append(&name, "text");
    text_append(&place, "model.tokens.text");
    if (value->count > 1) {
      text_printf(&name, " %zu", i + 1);
      text_printf(&place, "[%zu]", i);
    }
    status = name.failed || place.failed
                 ? error_set(err, ERROR_MEMORY, "no memory for the name of a text")
                 : cut_text(reading, name.data, place.data, value->texts[i], strlen(value->texts[i]), err);
    text_free(&name);
    text_free(&place);
  }
  return status;
}

static int read_files(struct reading *reading, const struct key_value *value, struct error *err) {
  int status = 0;
  for (size_t i = 0; !status && i < value->count; i++) {
    const char *path = value->texts[i], *slash = strrchr(path, '/');
    size_t length = 0;
    char *bytes = regular_file_bytes(path, "a text file", MOST_TEXT_BYTES, &length, err);
    if (!bytes) {
      return err->code;
    }
    /* A byte-order mark is no text. */
    size_t skip = length >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
    status = cut_text(reading, slash ? slash + 1 : path, path, bytes + skip, length - skip, err);
    free(bytes);
  }
  return status;
}

/* Sentences until there are enough tokens, cut off at the length. One that the vocabulary lacks a word of is left out
 * (word vectors without "i", for example). */
static int read_corpus(struct reading *reading, const struct key_value *value, uint64_t seed, struct error *err) {
  size_t wanted = (size_t)section_get(value->section, "length")->integer;
  struct token_list list = {0};
  struct text sentence = {0};
  int status = 0;
  uint64_t skipped = 0;
  for (uint64_t index = 0; !status && list.count < wanted; index++) {
    size_t before = list.count;
    sentence.length = 0;
    corpus_sentence(&sentence, seed, index);
    status = sentence.failed ? error_set(err, ERROR_MEMORY, "no memory for a sentence of the corpus")
                             : append_text(reading, "corpus", sentence.data, sentence.length, false, &list, err);
    if (status == ERROR_TOKENS && skipped < MOST_SKIPPED_SENTENCES + index / 2) {
      list.count = before;
      skipped++;
      status = 0;
    }
  }
  text_free(&sentence);
  if (status) {
    free(list.ids);
    return status;
  }
  list.count = wanted;
  return add_text(reading, "corpus", &list, err);
}

static int read_all(struct reading *reading, const struct section *section, uint64_t seed, struct error *err) {
  const struct key_value *ids = section_get(section, "ids");
  if (ids->given) {
    return read_ids(reading, ids, err);
  }
  if (!reading->vocabulary && !reading->is_bytes) {
    return error_set(err, ERROR_TOKENS, "model.tokens: the model's file has no vocabulary, so only `ids` can be given");
  }
  const struct key_value *text = section_get(section, "text"), *file = section_get(section, "file"),
                         *corpus = section_get(section, "corpus");
  if (text->given) {
    return read_texts(reading, text, err);
  }
  if (file->given) {
    return read_files(reading, file, err);
  }
  if (corpus->given) {
    return read_corpus(reading, corpus, seed, err);
  }
  return error_set(err, ERROR_CONFIG_MISSING, "model.tokens: one of ids, text, file or corpus is needed");
}

int tokens_read(const struct section *section, const struct vocabulary *vocabulary, bool is_bytes, size_t n_ids,
                uint64_t seed, struct text_tokens **texts, size_t *n_texts, struct error *err) {
  if (!section) {
    return error_set(err, ERROR_CONFIG_MISSING, "model.tokens: needed with this model: ids, text, file or corpus");
  }
  const struct key_value *unknown = section_get(section, "unknown");
  struct reading reading = {.vocabulary = vocabulary,
                            .is_bytes = is_bytes,
                            .n_ids = n_ids,
                            .skip_unknown = unknown->text && !strcmp(unknown->text, "skip")};
  int status = read_all(&reading, section, seed, err);
  if (status) {
    tokens_free(reading.texts, reading.n_texts);
    return status;
  }
  *texts = reading.texts;
  *n_texts = reading.n_texts;
  return 0;
}

void tokens_free(struct text_tokens *texts, size_t n_texts) {
  for (size_t i = 0; texts && i < n_texts; i++) {
    free(texts[i].name);
    free(texts[i].ids);
    free(texts[i].padding);
  }
  free(texts);
}
